"""Cost of `pulumi preview` for this program, and for a bare program that registers the same resources.

Run from the root of the repository: `.venv/bin/python -m benchmarks.preview [SERVICES ...]` (1, 10 and 100 if absent).
The bare program (`benchmarks/bare.py`) reads every resource with its arguments and options from a file. The ratio
therefore shows the cost of validating, planning, rendering and checking. Each program has its own engine. Both engines
use one control plane, on which nothing is deployed. The first previews of the two programs must be equal. Then the two
programs alternate for three pairs of previews, and the table shows the medians. Wall-clock time is measured for the
command, processor time for the program that the engine runs.
"""

import json
import re
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import stacks
from benchmarks.clusters import ROOT, BenchmarkCluster, cluster, planned_resources
from benchmarks.measuring import show, wall_seconds
from components import provider
from components.registration import with_force
from composition import Live, Refusal, compose
from facts.cluster import name as cluster_name
from local.engine import PulumiEngine
from manifests.assembly import Component
from planning.ground import instances
from planning.ground.instances import MAIN
from planning.plans import ServicePlan, StackPlan, VariantPlan

_SIZES = (1, 10, 100)
_PAIRS = 3


@dataclass(frozen=True, slots=True)
class _Program:
    """A program in a project, and the engine that previews it."""

    engine: PulumiEngine
    times: Path
    """File into which each run of the program writes its processor time."""

    def preview(self) -> tuple[float, float]:
        """Return the wall-clock seconds of a preview, and the processor seconds of the program."""
        seconds, _ = wall_seconds(lambda: self.engine.run("preview", "--suppress-progress", "--suppress-outputs"))
        minutes = re.findall(r"(\d+)m([\d.]+)s", self.times.read_text(encoding="ascii"))
        return seconds, sum(60 * float(whole) + float(rest) for whole, rest in minutes)


def main(sizes: tuple[int, ...]) -> None:
    """Print the costs for each number of services in `sizes`."""
    with cluster() as shared:
        rows = [_row(shared, size) for size in sizes]
    columns = ("n", "resources", "ours, s", "bare, s", "ratio", "ours, processor", "bare, processor", "difference")
    show("`pulumi preview` of n services beside a bare program with the same resources", columns, rows)


def _row(shared: BenchmarkCluster, services: int) -> tuple[object, ...]:
    tree = stacks.tree(services, create_namespace=True)
    ours = _program(shared, f"ours-{services}", tree, None)
    bare = _program(shared, f"bare-{services}", tree, _registrations(shared, tree))
    with shared.report.step(f"first previews of {services} services"):
        resources = planned_resources(ours.engine)
        others = planned_resources(bare.engine)
        different = sorted(urn for urn in {*resources, *others} if resources.get(urn) != others.get(urn))
        if different:
            raise AssertionError(f"the two programs register different resources: {', '.join(different)}")
    with shared.report.step(f"{_PAIRS} pairs of previews of {services} services"):
        pairs = [(*ours.preview(), *bare.preview()) for _ in range(_PAIRS)]
    ours_wall, ours_cpu, bare_wall, bare_cpu = map(statistics.median, zip(*pairs, strict=True))
    walls = (f"{ours_wall:.1f}", f"{bare_wall:.1f}", f"{ours_wall / bare_wall:.2f}")
    return services, len(resources), *walls, f"{ours_cpu:.2f}", f"{bare_cpu:.2f}", f"{ours_cpu - bare_cpu:.2f}"


def _program(
    shared: BenchmarkCluster, name: str, tree: Mapping[str, Any], registrations: Mapping[str, Any] | None
) -> _Program:
    """Return the program of this project if `registrations` is None, else the bare program with these registrations."""
    directory = shared.directory / name
    directory.mkdir()
    times = directory / "times"
    python = directory / "python"
    # The language host also runs `python -m pip` to list packages. Only a run of the program writes its time.
    python.write_text(f"""#!/bin/sh
"{sys.executable}" "$@"
code=$?
[ "$1" = -m ] || times > "{times}"
exit $code
""")
    python.chmod(0o755)
    environment = {"PULUMI_PYTHON_CMD": str(python)}
    if registrations is None:
        return _Program(shared.program_engine(name, tree, environment), times)
    file = directory / "registrations.json"
    file.write_text(json.dumps(registrations), encoding="utf-8")
    files = {"__main__.py": ROOT / "benchmarks" / "bare.py", file.name: file}
    return _Program(shared.engine(name, files, {}, environment), times)


def _registrations(shared: BenchmarkCluster, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of the bare program."""
    target = Live(shared.plane.kubeconfig.read_text(encoding="utf-8"), ROOT)
    composition = compose(tree, target, stacks.NAME)
    if isinstance(composition, Refusal):
        raise composition.error
    access = target.access(composition.stack.cluster)
    names = {
        rendered.id: f"{component.name}-{rendered.suffix}"
        for component in composition.components
        for rendered in component.objects
    }
    return {
        "type": instances.TYPE,
        "name": MAIN.name,
        "inputs": {"release": composition.plan.release},
        "version": provider.sdk_version(),
        "provider": provider.plain_inputs(access.context, cluster_name(access) or ""),
        "components": [_component(component, names) for component in composition.components],
        "outputs": composition.contract,
        "awaited": {
            service.key: [names[awaited] for awaited in composition.awaited_objects(service)]
            for service in composition.plan.services
        },
    }


def _component(component: Component, names: Mapping[Any, str]) -> dict[str, Any]:
    match component.of:
        case ServicePlan() as service:
            inputs = service.preview_inputs()
        case VariantPlan() as variant:
            inputs = {"image": variant.picker.image}
        case StackPlan() as plan:
            routed = [service for service in plan.services if service.route is not None]
            inputs = {"paths": {service.key: service.route.paths for service in routed if service.route is not None}}
        case None:
            inputs = {}
    return {
        "type": component.resource and component.resource[0],
        "name": component.name,
        "inputs": inputs,
        "resources": [
            {
                "name": names[rendered.id],
                "manifest": with_force(rendered.manifest),
                "after": [names[earlier] for earlier in rendered.after],
                "seconds": rendered.wait.seconds,
                "replace_on_changes": ["spec"] if rendered.replace else None,
                "delete_before_replace": rendered.replace or None,
                "ignore_changes": list(rendered.ignore) or None,
                "retain_on_delete": rendered.retain or None,
                "protect": rendered.protect or None,
            }
            for rendered in component.objects
        ],
    }


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
