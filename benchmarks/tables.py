"""Results of the benchmarks as Markdown tables, ready for `docs/measurements.md`."""

import os
from collections.abc import Iterable, Sequence


def show(sentence: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a sentence with the number of cores of this machine, and a table below it."""
    lines = [columns, ["---"] * len(columns), *rows]
    print(f"{sentence} ({len(os.sched_getaffinity(0))} cores):\n")
    for line in lines:
        print(f"| {' | '.join(map(str, line))} |")
    print(flush=True)
