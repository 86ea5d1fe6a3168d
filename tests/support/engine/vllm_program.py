"""Program that has imported vLLM and lets it judge commands. The Python of an engine's environment runs it.

Requests come as lines of JSON from stdin, and each has an answer as a line of JSON on stdout:

- `{"parse": [ARGUMENT...], "environment": {NAME: VALUE}}`: `{"refusals": [TEXT...], "ports": [NUMBER...]}`
- `{"configure": [ARGUMENT...], "environment": {...}}`: `{"refusals": [TEXT...]}`, with the model at hand
- `{"start": [ARGUMENT...], "environment": {...}, "directory": DIRECTORY, "log": FILE}`: `{"pid": PID}`
- `{"poll": PID}`: `{"code": EXIT CODE, or null while the process runs}`

An engine is a fork of this process. Its own processes are forks, too, as they are with GPUs: for CPUs, vLLM would start
them anew and import everything three times. It would also start a process to look at the class of the model.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false
# ruff: noqa: E402

import contextlib
import ctypes
import io
import json
import multiprocessing
import os
import signal
import sys
import traceback
from typing import Any

CHANNEL = os.fdopen(os.dup(1), "w", encoding="utf-8")
"""The answers. What vLLM prints goes to stderr."""
PR_SET_PDEATHSIG = 1
os.dup2(2, 1)

import vllm.entrypoints.cli.main
import vllm.entrypoints.cli.serve
import vllm.model_executor.models.registry
import vllm.utils.system_utils
import vllm.v1.engine.core
import vllm.v1.executor.multiproc_executor
import vllm.v1.worker.cpu_worker
from vllm import envs
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
from vllm.utils.argparse_utils import FlexibleArgumentParser

os.register_at_fork(after_in_child=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
serve = vllm.entrypoints.cli.serve.ServeSubcommand()
vllm.model_executor.models.registry._run_in_subprocess = lambda function: function()


def parse(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Return why vLLM does not take a command, and the ports that it would listen on."""
    texts = list(variable_refusals(environment))
    options = None
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(errors):
            options = parsed(arguments)
            look_up_names(options)
    except SystemExit:
        texts.append(argument_error(errors.getvalue()))
    except Exception as error:  # noqa: BLE001 - whatever vLLM raises is its refusal
        texts.append(f"{type(error).__name__}: {error}")
    return {"refusals": texts, "ports": ports(options) if options else []}


def parsed(arguments: list[str]) -> Any:
    """Return the options of a command as vLLM parses them."""
    parser = FlexibleArgumentParser()
    serve.subparser_init(parser.add_subparsers())
    options = parser.parse_args(["serve", *arguments])
    options.model = options.model_tag or options.model
    serve.validate(options)
    AsyncEngineArgs.from_cli_args(options)
    return options


def ports(options: Any) -> list[int]:
    """Return the ports of the HTTP servers: one, or those of each copy of the model and of their supervisor."""
    if not options.data_parallel_multi_port_external_lb:
        return [options.port]
    copies = options.data_parallel_size_local or options.data_parallel_size
    return [*range(options.port, options.port + copies), options.data_parallel_supervisor_port]


def argument_error(text: str) -> str:
    """Return the error of the parser, without usage and advertisement."""
    lines = text.partition(" error: ")[2].splitlines()
    return " ".join(line.strip() for line in lines if "errors.pydantic.dev" not in line)


def configure(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Return why vLLM makes no configuration of a command. A fork does it, because vLLM changes its process."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        texts = []
        os.environ.clear()
        os.environ.update(environment)
        try:
            AsyncEngineArgs.from_cli_args(parsed(arguments)).create_engine_config()
        except BaseException as error:  # noqa: BLE001 - as above
            texts.append(f"{type(error).__name__}: {error}")
        os.write(writer, json.dumps({"refusals": texts}).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def variable_refusals(environment: dict[str, str]):
    """Yield the variables that vLLM does not know, or whose value it does not take."""
    with replaced_environment(environment):
        for name, value in environment.items():
            if not name.startswith("VLLM_"):
                continue
            if name not in envs.environment_variables:
                yield f"unknown variable {name}"
                continue
            try:
                envs.environment_variables[name]()
            except Exception as error:  # noqa: BLE001 - as above
                yield f"{name}={value}: {type(error).__name__}: {error}"


def look_up_names(options: Any) -> None:
    """Look up the classes that vLLM would look for only when it starts. Raises what vLLM raises for unknown names."""
    transfer = options.kv_transfer_config
    if transfer is not None:
        KVConnectorFactory.get_connector_class_by_name(transfer.kv_connector)
    if options.tool_call_parser:
        ToolParserManager.get_tool_parser(options.tool_call_parser)
    reasoning = getattr(options, "reasoning_parser", None)
    if reasoning:
        ReasoningParserManager.get_reasoning_parser(reasoning)


@contextlib.contextmanager
def replaced_environment(environment: dict[str, str]):
    former = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(former)


def start(arguments: list[str], environment: dict[str, str], directory: str, log: str) -> int:
    """Start an engine as a fork of this process, and return its pid, which is that of its process group."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    os.chdir(directory)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    CHANNEL.close()
    os.environ.clear()
    os.environ.update(environment)
    fork_processes()
    sys.argv = ["vllm", "serve", *arguments]
    code = 1
    try:
        vllm.entrypoints.cli.main.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - the log is all that the judge reads
        traceback.print_exc()
    os._exit(code)


def fork_processes() -> None:
    """Let vLLM fork its processes, although its platform of CPUs asks for new ones."""
    asked = vllm.utils.system_utils.get_mp_context
    context = multiprocessing.get_context("fork")
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("get_mp_context") is asked:
            module.get_mp_context = lambda: context


def poll(pid: int) -> int | None:
    """Return the exit code of an engine; None while it runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if "parse" in request:
        return parse(request["parse"], request["environment"])
    if "configure" in request:
        return configure(request["configure"], request["environment"])
    if "start" in request:
        names = ("start", "environment", "directory", "log")
        return {"pid": start(*(request[name] for name in names))}
    return {"code": poll(request["poll"])}


if __name__ == "__main__":
    for line in sys.stdin:
        CHANNEL.write(json.dumps(answer(json.loads(line))) + "\n")
        CHANNEL.flush()
