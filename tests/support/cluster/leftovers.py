"""Program that ends the engines which an interrupted test run leaves: `python -m …leftovers DIRECTORY`.

The engine starts its plugins in process groups of their own, so that no signal to the test run reaches them. This
program waits until its standard input is closed, which the kernel does however the test run ends.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from local import processes
from local.engine import PulumiEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAUSE = 0.5
"""Seconds in which an engine that is being killed may still start a plugin."""


def find(directory: Path) -> set[processes.Process]:
    """Return the processes of all engines whose directories are below `directory`."""
    marks = processes.find_marked(PulumiEngine.MARK)
    return {process for process, mark in marks.items() if mark.startswith(f"{directory.resolve()}/")}


@contextmanager
def ended_afterwards(directory: Path) -> Iterator[None]:
    """End the processes of engines below `directory` after the block, also where this process is killed within it."""
    command = [sys.executable, "-m", __name__, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ROOT, start_new_session=True):
        yield


if __name__ == "__main__":
    sys.stdin.read()
    while found := find(Path(sys.argv[1])):
        processes.end(found)
        time.sleep(PAUSE)
