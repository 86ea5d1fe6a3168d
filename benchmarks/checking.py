"""Cost of the checks of a cluster in `pulumi preview`: preflight and capacity.

Run from the root of the repository: `.venv/bin/python -m benchmarks.checking [SERVICES ...]` (100 if absent). The same
stack is previewed in three variants. `checked` has `checks.capacity: strict`. `skipped` has `skip` for the checks
`preflight` and `capacity`, and still reads the cluster. `unread` has `cluster.facts` of type none in addition, and
reads nothing. Each variant has its own engine. All use one control plane, on which nothing is deployed. They alternate
for five rounds. The table shows medians: of wall-clock times, and of the differences within a round.
"""

import statistics
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks import stacks
from benchmarks.clusters import Cluster, cluster
from benchmarks.tables import show
from benchmarks.timing import wall_seconds
from local.engine import Engine

_SIZES = (100,)
_ROUNDS = 5
_SKIPPED = {"checks": {"preflight": "skip", "capacity": "skip"}}
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "checked": {"checks": {"capacity": "strict"}},
    "skipped": _SKIPPED,
    "unread": {**_SKIPPED, "cluster": {"facts": {"type": "none"}}},
}


def main(sizes: tuple[int, ...]) -> None:
    """Print the costs for stacks of some sizes."""
    with cluster() as shared:
        rows = [_row(shared, size) for size in sizes]
    columns = ("n", "checked, s", "skipped, s", "unread, s", "checked - skipped, s", "checked - unread, s")
    show("`pulumi preview` of n services with and without the checks of the cluster", columns, rows)


def _row(shared: Cluster, services: int) -> tuple[object, ...]:
    tree = stacks.tree(services, create_namespace=True)
    engines = {name: shared.program_engine(f"{name}-{services}", {**tree, **more}) for name, more in _VARIANTS.items()}
    with shared.report.step(f"first previews of {services} services"):
        for engine in engines.values():
            _seconds(engine)
    with shared.report.step(f"{_ROUNDS} rounds of previews of {services} services"):
        rounds = [{name: _seconds(engine) for name, engine in engines.items()} for _ in range(_ROUNDS)]
    medians = (statistics.median(each[name] for each in rounds) for name in _VARIANTS)
    differences = (statistics.median(each["checked"] - each[name] for each in rounds) for name in ("skipped", "unread"))
    return services, *(f"{value:.2f}" for value in (*medians, *differences))


def _seconds(engine: Engine) -> float:
    """Return the wall-clock seconds of a preview."""
    return wall_seconds(lambda: engine.run("preview", "--suppress-progress", "--suppress-outputs"))[0]


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
