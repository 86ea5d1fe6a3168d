"""Cost of the checks of a cluster in `pulumi preview`: preflight and capacity.

Run from the root of the repository: `.venv/bin/python -m benchmarks.checking [SERVICES ...]` (100 if absent). Four
stacks are composed and previewed, which differ only in their checks. `checked` has `checks.capacity: strict`. `skipped`
has `skip` for the checks `preflight` and `capacity`, and still reads the cluster. `unread` also has
`cluster.facts.type: none`, and reads nothing from the cluster. `again` equals `checked`. All stacks use one control
plane, on which nothing is deployed. The stacks alternate, each round in another order. Both tables show medians: of
wall-clock times, and of the differences within a round.

All stacks must plan the same resources, so that registering takes equally long in all stacks, and checks lengthen only
composing. The first table shows how long composing took, in twenty rounds in this process. The second table shows how
long whole previews took, in five rounds; each stack has its own engine. A preview takes half a minute, and its time
varies by more than the time of the checks; `checked - again` shows the variation.
"""

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks import stacks
from benchmarks.clusters import ROOT, BenchmarkCluster, cluster, planned_resources
from benchmarks.measuring import show, wall_seconds
from composition import Live, Refusal, compose

_SIZES = (100,)
_COMPOSITIONS = 20
_PREVIEWS = 5
"""Numbers of rounds of composing, and of previews."""
_CHECKED = {"checks": {"capacity": "strict"}}
_SKIPPED = {"checks": {"preflight": "skip", "capacity": "skip"}}
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "checked": _CHECKED,
    "skipped": _SKIPPED,
    "unread": {**_SKIPPED, "cluster": {"facts": {"type": "none"}}},
    "again": _CHECKED,
}
_Rounds = Sequence[Mapping[str, float]]
"""Seconds of each round, by name of the stack in `_VARIANTS`."""


def main(sizes: tuple[int, ...]) -> None:
    """Print the costs for each number of services in `sizes`."""
    with cluster() as shared:
        composed = {size: _compositions(shared, size) for size in sizes}
        previewed = {size: _previews(shared, size) for size in sizes}
    _show("Composing a stack of n services, with and without the checks of the cluster", composed)
    _show("`pulumi preview` of n services, with and without the checks of the cluster", previewed)


def _show(sentence: str, rounds: Mapping[int, _Rounds]) -> None:
    others = [name for name in _VARIANTS if name != "checked"]
    columns = ("n", *(f"{name}, s" for name in _VARIANTS), *(f"checked - {name}, s" for name in others))
    show(sentence, columns, [_row(size, of_size, others) for size, of_size in rounds.items()])


def _row(services: int, rounds: _Rounds, others: Sequence[str]) -> tuple[object, ...]:
    medians = (statistics.median(seconds[name] for seconds in rounds) for name in _VARIANTS)
    differences = (statistics.median(seconds["checked"] - seconds[name] for seconds in rounds) for name in others)
    return services, *(f"{value:.2f}" for value in (*medians, *differences))


def _compositions(shared: BenchmarkCluster, services: int) -> _Rounds:
    """Return the seconds of composing each stack, for each round.

    The first composition is not measured, because only that composition reads tables and schemas.
    """
    target = Live(shared.plane.kubeconfig.read_text(encoding="utf-8"), ROOT)
    works = {name: partial(_compose, tree, target) for name, tree in _trees(services).items()}
    _compose(_trees(services)["checked"], target)
    return _alternating(works, _COMPOSITIONS)


def _previews(shared: BenchmarkCluster, services: int) -> _Rounds:
    """Return the seconds of a whole preview of each stack, for each round.

    The first preview of each stack is not measured. All first previews must plan the same resources.
    """
    engines = {name: shared.program_engine(f"{name}-{services}", tree) for name, tree in _trees(services).items()}
    with shared.report.step(f"first previews of {services} services"):
        first, *further = (planned_resources(engine) for engine in engines.values())
        if any(resources != first for resources in further):
            raise AssertionError("the stacks register different resources")
    works = {
        name: partial(engine.run, "preview", "--suppress-progress", "--suppress-outputs")
        for name, engine in engines.items()
    }
    with shared.report.step(f"{_PREVIEWS} rounds of previews of {services} services"):
        return _alternating(works, _PREVIEWS)


def _trees(services: int) -> dict[str, dict[str, Any]]:
    tree = stacks.tree(services, create_namespace=True)
    return {name: {**tree, **more} for name, more in _VARIANTS.items()}


def _compose(tree: Mapping[str, Any], target: Live) -> None:
    composition = compose(tree, target, stacks.NAME)
    if isinstance(composition, Refusal):
        raise composition.error


def _alternating(works: Mapping[str, Callable[[], object]], rounds: int) -> _Rounds:
    """Return the seconds of each function in `works`, by name, for each round.

    Each round begins with another function than the round before.
    """
    order = list(works)
    measured = list[Mapping[str, float]]()
    for _ in range(rounds):
        measured.append({name: wall_seconds(works[name])[0] for name in order})
        order = [*order[1:], order[0]]
    return measured


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
