"""Command `diagram`: prints a stack as a Mermaid flowchart."""

import sys
from argparse import ArgumentParser, Namespace

from cli import named_stack
from judging.report import diagram

HELP = "print a stack as a Mermaid flowchart"


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the command."""
    named_stack.add_stack(parser)
    named_stack.add_surroundings(parser)


def run(options: Namespace) -> int:
    """Print the flowchart of a stack, and return the exit code. Raises `ConfigError` with all mistakes of the user."""
    sys.stdout.write(diagram.mermaid(named_stack.of(options).compose().plan))
    return 0
