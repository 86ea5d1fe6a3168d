"""Cost of the checks of a cluster in `pulumi preview`: preflight and capacity.

Run from the root of the repository: `.venv/bin/python -m benchmarks.checking [SERVICES ...]` (100 if absent). The same
stack is previewed in four variants. `checked` has `checks.capacity: strict`. `skipped` has `skip` for the checks
`preflight` and `capacity`, and still reads the cluster. `unread` has `cluster.facts` of type none in addition, and
reads nothing. `again` is `checked` once more. Each variant has its own engine. All use one control plane, on which
nothing is deployed.

All variants must plan the same resources. The checks then cost time only while the program composes the stack, before
it registers the first resource. The variants alternate for five rounds, each in another order. The
first table shows how long the program composed, the second one how long the whole previews took. Both show medians of
wall-clock times, and medians of the differences within a round. A preview takes half a minute, and its
time varies by more than the checks take; `checked - again` shows the variation.
"""

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import stacks
from benchmarks.clusters import PROGRAM, ROOT, Cluster, cluster, planned_resources
from benchmarks.tables import show
from benchmarks.timed import TIMES
from benchmarks.timing import wall_seconds
from local.engine import Engine

_SIZES = (100,)
_ROUNDS = 5
_CHECKED = {"checks": {"capacity": "strict"}}
_SKIPPED = {"checks": {"preflight": "skip", "capacity": "skip"}}
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "checked": _CHECKED,
    "skipped": _SKIPPED,
    "unread": {**_SKIPPED, "cluster": {"facts": {"type": "none"}}},
    "again": _CHECKED,
}
_Seconds = Mapping[str, float]
"""Seconds of one round, by variant."""


@dataclass(frozen=True, slots=True)
class _Program:
    """A variant of the stack in a project of its own."""

    engine: Engine
    times: Path
    """File into which each run of the program writes how long it composed."""

    def preview(self) -> tuple[float, float]:
        """Return the seconds that the program composed, and those of the whole preview."""
        whole, _ = wall_seconds(lambda: self.engine.run("preview", "--suppress-progress", "--suppress-outputs"))
        return float(self.times.read_text(encoding="ascii")), whole


def main(sizes: tuple[int, ...]) -> None:
    """Print the costs for stacks of some sizes."""
    with cluster() as shared:
        rounds = {size: _rounds(shared, size) for size in sizes}
    others = [name for name in _VARIANTS if name != "checked"]
    columns = ("n", *(f"{name}, s" for name in _VARIANTS), *(f"checked - {name}, s" for name in others))
    for part, sentence in enumerate(
        (
            "Composing a stack of n services in `pulumi preview`, with and without the checks of the cluster",
            "`pulumi preview` of n services with and without the checks of the cluster",
        )
    ):
        show(sentence, columns, [_row(size, [each[part] for each in found], others) for size, found in rounds.items()])


def _row(services: int, rounds: Sequence[_Seconds], others: Sequence[str]) -> tuple[object, ...]:
    medians = (statistics.median(each[name] for each in rounds) for name in _VARIANTS)
    differences = (statistics.median(each["checked"] - each[name] for each in rounds) for name in others)
    return services, *(f"{value:.2f}" for value in (*medians, *differences))


def _rounds(shared: Cluster, services: int) -> list[tuple[_Seconds, _Seconds]]:
    """Return the seconds of composing and of whole previews, of each round."""
    tree = stacks.tree(services, create_namespace=True)
    programs = {name: _program(shared, f"{name}-{services}", {**tree, **more}) for name, more in _VARIANTS.items()}
    with shared.report.step(f"first previews of {services} services"):
        planned = [planned_resources(program.engine) for program in programs.values()]
        if any(resources != planned[0] for resources in planned):
            raise AssertionError("the variants register different resources")
    order, found = list(programs), list[tuple[_Seconds, _Seconds]]()
    with shared.report.step(f"{_ROUNDS} rounds of previews of {services} services"):
        for _ in range(_ROUNDS):
            seconds = {name: programs[name].preview() for name in order}
            composed = {name: each for name, (each, _) in seconds.items()}
            found.append((composed, {name: each for name, (_, each) in seconds.items()}))
            order = [*order[1:], order[0]]
    return found


def _program(shared: Cluster, name: str, tree: Mapping[str, Any]) -> _Program:
    times = shared.directory / f"{name}.seconds"
    files = {file: ROOT / file for file in PROGRAM} | {"__main__.py": ROOT / "benchmarks" / "timed.py"}
    return _Program(shared.engine(name, files, tree, {TIMES: str(times)}), times)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
