"""Commands of `python -m cli` in this process, with mistakes as exceptions."""

import argparse
from types import ModuleType

from cli import commands, named_stack, render


def run(module: ModuleType, *arguments: str) -> int:
    """Run the command of a module with arguments, and return its exit code."""
    return module.run(parse(module, *arguments))


def parse(module: ModuleType, *arguments: str) -> argparse.Namespace:
    return commands.parse(module.__name__.rpartition(".")[2], *arguments)


def rendering(stack: object, *arguments: str) -> str:
    """Return the output of `render`."""
    options = parse(render, str(stack), *arguments)
    text = render.json_text if options.json else render.text
    return text(named_stack.of(options))
