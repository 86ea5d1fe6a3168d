"""Commands of `python -m cli` in this process, with mistakes as exceptions."""

import argparse
import os
from types import ModuleType
from typing import NamedTuple
from unittest import mock

import pytest

from cli import commands, named_stack, render


def run(module: ModuleType, *arguments: str) -> int:
    """Run the command of a module with arguments, and return its exit code."""
    return module.run(parse(module, *arguments))


class Ended(NamedTuple):
    """The end of a command: its exit code, what it printed, and its errors."""

    code: int
    output: str
    errors: str


def ended(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ended:
    """Run a command line as `python -m cli` does, and return its end. Variables that it sets end with it."""
    try:
        with mock.patch.dict(os.environ):
            code = commands.main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    return Ended(code, *capsys.readouterr())


def parse(module: ModuleType, *arguments: str) -> argparse.Namespace:
    return commands.parse(module.__name__.rpartition(".")[2], *arguments)


def rendering(stack: object, *arguments: str) -> str:
    """Return the output of `render`."""
    options = parse(render, str(stack), *arguments)
    text = render.json_text if options.json else render.text
    return text(named_stack.of(options))
