"""Clocks for the benchmarks: they measure the processor time or the wall-clock time of a function."""

import gc
import time
from collections.abc import Callable
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
