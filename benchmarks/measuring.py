"""Clocks for the benchmarks, and their results as Markdown tables for `docs/measurements.md`."""

import gc
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Result = TypeVar("Result")


def processor_seconds(work: Callable[[], object], runs: int) -> float:
    """Return the lowest processor time of several runs. Other work on the machine hardly changes the lowest time."""
    return min(_processor_seconds(work) for _ in range(runs))


def wall_seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the wall-clock time of a run, and its result."""
    start = time.monotonic()
    result = work()
    return time.monotonic() - start, result


def _processor_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def show(sentence: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a sentence with the number of cores of this machine, and a table below it."""
    lines = [columns, ["---"] * len(columns), *rows]
    print(f"{sentence} ({len(os.sched_getaffinity(0))} cores):\n")
    for line in lines:
        print(f"| {' | '.join(map(str, line))} |")
    print(flush=True)
