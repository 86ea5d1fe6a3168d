"""The commands of `python -m local`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from local import host, processes, trial, up, venv
from local.errors import LocalError
from local.report import Report
from local.tools import ensure, listing
from local.vllm import installation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


def main(arguments: Sequence[str]) -> int:
    """Run a command, print its error if any, and return the exit code: 1 after an error, 130 after Ctrl-C, else 0."""
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in COMMANDS:
        commands.add_parser(name, help=text).set_defaults(command=command)
    engine = commands.add_parser("engine", help=ENGINE)
    engine.add_argument(
        "versions", nargs="*", metavar="VERSION", help=f"{', '.join(installation.versions())}; absent: all"
    )
    options = parser.parse_args(arguments)
    command: Callable[[Report], None] = getattr(options, "command", None) or partial(_engine, options.versions)
    processes.heed_interrupts()
    try:
        command(Report())
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


def _engine(names: Sequence[str], report: Report) -> None:
    rows = [installation.version(name) for name in names or installation.versions()]
    for row in rows:
        installation.install(row.name, report)
        report.say(f"vLLM {row.name}: {row.program}")


def _tools(report: Report) -> None:
    host.check(up.PROJECT)
    report.say("\n".join(listing(ensure(None, report).values())))


ENGINE = "install vLLM for CPUs, which judges what engines get"
COMMANDS: tuple[tuple[str, Callable[[Report], None], str], ...] = (
    ("up", up.up, "set up what is missing, start the control plane and deploy"),
    ("try", trial.run, "deploy behind a real Istio, and send a request through it"),
    ("down", up.down, "end every process and remove the state"),
    ("setup", _setup, "make or update the virtual environment"),
    ("tools", _tools, "find or build the tools, and list them with their checksums"),
    ("status", up.status, "list the processes that run"),
    ("env", up.environment, "print shell variables for using pulumi and kubectl by hand"),
)
