"""Cost of the policy pack in `pulumi preview` of this program.

Run from the root of the repository: `.venv/bin/python -m benchmarks.policy [SERVICES ...]` (1, 10 and 100 if absent).
Two engines preview the same stack on one control plane, on which nothing is deployed: one with the pack, one without.
They alternate for three pairs of previews, and the table shows the medians of the wall-clock time. All rules are
advisory, so that previews with violations succeed.
"""

import json
import os
import statistics
import sys
from pathlib import Path

from benchmarks import stacks
from benchmarks.clusters import ROOT, BenchmarkCluster, cluster, planned_resources
from benchmarks.measuring import show, wall_seconds
from local import policy
from local.engine import PulumiEngine

_SIZES = (1, 10, 100)
_PAIRS = 3
_CONFIG = {"all": "advisory"}


def main(sizes: tuple[int, ...]) -> None:
    """Print the costs for each number of services in `sizes`."""
    with cluster() as shared:
        python = policy.install(ROOT, shared.report)
        rows = [_row(shared, python, size) for size in sizes]
    columns = ("n", "resources", "with, s", "without, s", "ratio")
    show("`pulumi preview` of n services with and without the policy pack", columns, rows)


def _row(shared: BenchmarkCluster, python: Path, services: int) -> tuple[object, ...]:
    tree = stacks.tree(services, create_namespace=True)
    config = shared.directory / "policies.json"
    config.write_text(json.dumps(_CONFIG), encoding="utf-8")
    without = shared.program_engine(f"without-{services}", tree)
    name = f"with-{services}"
    # The engine looks for its own programs in the folder beside those of Python.
    folders = (ROOT / ".venv" / "bin", shared.directory / name / "engine" / "bin", os.defpath)
    judged = shared.program_engine(name, tree, policy.environment(ROOT, python, os.pathsep.join(map(str, folders))))
    with shared.report.step(f"first previews of {services} services"):
        resources = planned_resources(without)
        _preview(judged, policy.arguments(ROOT, str(config)))
    with shared.report.step(f"{_PAIRS} pairs of previews of {services} services"):
        pairs = [(_preview(judged, policy.arguments(ROOT, str(config))), _preview(without, [])) for _ in range(_PAIRS)]
    with_pack, alone = map(statistics.median, zip(*pairs, strict=True))
    return services, len(resources), f"{with_pack:.1f}", f"{alone:.1f}", f"{with_pack / alone:.2f}"


def _preview(engine: PulumiEngine, arguments: list[str]) -> float:
    """Return the wall-clock seconds of a preview."""
    seconds, _ = wall_seconds(lambda: engine.run("preview", "--suppress-progress", "--suppress-outputs", *arguments))
    return seconds


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
