"""The commands of `python -m local`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from local import host, policy, processes, trial, up, venv
from local.errors import LocalError
from local.report import Report
from local.tools import ensure, listing
from local.vllm import installation
from local.vllm.deployments import select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def main(arguments: Sequence[str]) -> int:
    """Run a command, print its error if any, and return the exit code: 1 after an error, 130 after Ctrl-C, else 0."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in COMMANDS:
        subparser = commands.add_parser(name, help=text)
        subparser.set_defaults(command=command)
        if name in OPTIONS:
            OPTIONS[name](subparser)
    options = vars(parser.parse_args(arguments))
    command: Callable[..., None] = options.pop("command")
    processes.heed_interrupts()
    try:
        command(Report(), **options)
    except LocalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return INTERRUPTED
    return 0


def _setup(report: Report) -> None:
    host.check(up.PROJECT)
    venv.setup(up.PROJECT, report, development=True)


def _engine(report: Report, versions: Sequence[str], *, remove: bool) -> None:
    """Install versions of vLLM, or remove them.

    Without a version, that of the embedded stack's model servers is installed, or all that are installed are removed.
    """
    rows = [installation.version(name) for name in versions]
    if remove:
        installed = [row for row in installation.versions().values() if row.environment.exists()]
        for row in rows or installed:
            installation.remove(row.name, report)
        if not rows and not installed:
            report.say("no version of vLLM is installed")
        return
    if not rows:
        host.check(up.PROJECT)
        venv.setup(up.PROJECT, report, development=False)
        rows = select(up.render(up.PROJECT)).versions
    for row in rows:
        installation.install(row.name, report)
        report.say(f"vLLM {row.name}: {row.program}")


def _tools(report: Report) -> None:
    host.check(up.PROJECT)
    report.say("\n".join(listing(ensure(None, report).values())))


def _add_try_options(parser: argparse.ArgumentParser) -> None:
    text = "run model servers with small models of random numbers on vLLM for CPUs; absent: simulate them"
    parser.add_argument("--engine", choices=[trial.VLLM], help=text)


def _add_policy_options(parser: argparse.ArgumentParser) -> None:
    text = "levels and parameters of rules in JSON; absent: those of the rules themselves"
    parser.add_argument("--config", metavar="FILE", help=text)


def _add_engine_options(parser: argparse.ArgumentParser) -> None:
    text = f"{', '.join(installation.versions())}; absent: the version that Pulumi.{up.STACK}.yaml runs"
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=text)
    parser.add_argument("--remove", action="store_true", help="remove the versions instead; absent: all")


OPTIONS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "try": _add_try_options,
    "engine": _add_engine_options,
    "policy": _add_policy_options,
}
COMMANDS: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("up", up.up, "set up what is missing, start the control plane and deploy"),
    ("try", trial.run, "deploy behind a real Istio, and send a request through it"),
    ("down", up.down, "end every process and remove the state"),
    ("setup", _setup, "make or update the virtual environment"),
    ("tools", _tools, "find or build the tools, and list them with their checksums"),
    ("engine", _engine, "install vLLM for CPUs, which judges what engines get"),
    ("policy", policy.run, "judge the stack by the policy pack, in a preview and on its state"),
    ("status", up.status, "list the processes that run"),
    ("env", up.environment, "print shell variables for using pulumi and kubectl by hand"),
)
