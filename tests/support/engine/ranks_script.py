"""Program that tells which ranks engines would have. The Python of an engine's environment runs it.

Command lines of `vllm serve`, without the program, come as JSON from stdin. An answer to each goes as JSON to stdout:
port, rank, number of local copies and address of the first pod, of each engine that the command line starts.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

import json
import sys

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers import dp_supervisor
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser


def ranks(command_line: list[str]) -> list[tuple[int, int, int, str]]:
    """Return the ranks of the engines of a pod; raises the error with which an engine would end."""
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(command_line)
    arguments.model = arguments.model_tag
    validate_parsed_serve_args(arguments)
    engines = [arguments]
    if arguments.data_parallel_multi_port_external_lb:
        dp_supervisor.validate_multi_port_external_lb_args(arguments)
        numbers = range(arguments.data_parallel_size_local)
        engines = [dp_supervisor._build_vllm_dp_server_args(arguments, number) for number in numbers]
    return [_rank(engine) for engine in engines]


def _rank(arguments) -> tuple[int, int, int, str]:
    config = AsyncEngineArgs.from_cli_args(arguments).create_engine_config().parallel_config
    return arguments.port, config.data_parallel_rank, config.data_parallel_size_local, config.data_parallel_master_ip


def answer(command_line: list[str]) -> object:
    """Return the ranks, or the name of the error."""
    try:
        return ranks(command_line)
    except (ValueError, ArithmeticError, AssertionError) as error:
        return type(error).__name__


if __name__ == "__main__":
    print(json.dumps([answer(command_line) for command_line in json.load(sys.stdin)]))
