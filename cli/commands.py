"""Commands of `python -m cli`.

Exit codes: 0 for success, 2 for a mistake in the configuration or the command, 3 for a mistake of this program. The
exit code is 1 if a cluster or a Prometheus cannot be read, if a forge refuses a comment, if `lint` has findings, if
`lock` finds sources that have moved or do not answer, if `convert` loses something, if `fit` finds roles that do not
fit their devices, and if `policy` finds violations of mandatory rules. The exit code is 7 if `summarize --drift` finds
changed objects, 8 if a report has a finding that `summarize --fail-on` names, and 130 after Ctrl-C. `status` and `gate`
have exit codes of their own.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol

from cli import (
    affected,
    comment,
    convert,
    costs,
    diagram,
    explain,
    facts,
    fit,
    gate,
    lint,
    lock,
    policy,
    reference,
    render,
    rights,
    schema,
    status,
    summarize,
    upgrade,
)
from composition import defects
from facts import hosts
from models import version
from models.problems import ConfigError


class Command(Protocol):
    """The module of a command."""

    @property
    def HELP(self) -> str:  # noqa: N802, a constant of the module
        """The text about the command in the list of commands."""
        ...

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        ...

    def run(self, options: argparse.Namespace) -> int:
        """Run the command, and return its exit code. Raises `ConfigError` with all mistakes of the user."""
        ...


_COMMANDS: Mapping[str, Command] = {
    "render": render,
    "facts": facts,
    "lock": lock,
    "fit": fit,
    "explain": explain,
    "status": status,
    "gate": gate,
    "costs": costs,
    "rights": rights,
    "upgrade": upgrade,
    "convert": convert,
    "lint": lint,
    "policy": policy,
    "schema": schema,
    "affected": affected,
    "summarize": summarize,
    "comment": comment,
    "diagram": diagram,
    "reference": reference,
}


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    options = parse(*arguments)
    if getattr(options, "offline", False):
        os.environ[hosts.OFFLINE] = "true"
    try:
        return _COMMANDS[options.command].run(options)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001, no user should see a traceback
        print(f"{defects.HEADLINE}:", *defects.lines(error), sep="\n  ", file=sys.stderr)
        return 3


def parse(*arguments: str) -> argparse.Namespace:
    """Return the options of a command. Ends the program if there is a mistake in them.

    The command `lint` gets the arguments after `--` as `picker_arguments`. No other command takes such arguments.
    """
    at = [*arguments, "--"].index("--")
    options = parser().parse_args(arguments[:at])
    options.picker_arguments = arguments[at + 1 :]
    if at < len(arguments) and options.command != "lint":
        return parser().parse_args(arguments)
    return options


@cache
def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = argparse.ArgumentParser(prog="python -m cli", description="The plan of a stack, without the engine.")
    whole.add_argument("--version", action="version", version=f"inference-stacks {version.read()}")
    commands = whole.add_subparsers(dest="command", required=True)
    for name, command in _COMMANDS.items():
        command.add_options(commands.add_parser(name, help=command.HELP))
    return whole
