"""Times of `pulumi up` and of `kubectl apply --server-side` with the same objects.

Run from the root of the repository: `.venv/bin/python -m benchmarks.deploying [SERVICES ...]` (10 and 50 if absent).
Both commands use one control plane, one after the other. After `pulumi up`, the namespace of the stack is deleted. Then
kubectl applies the rendered YAML of the same services to another namespace. `pulumi up` orders the objects, and ends
when weights, pods, pickers and routes are ready. `kubectl apply` sends the objects, and ends before they are ready. The
column `Available` therefore gives the time from the start of `kubectl apply` until `kubectl wait` finds all Deployments
Available. `state` is what Pulumi keeps of one service, without indentation.
"""

import json
import sys

from benchmarks import stacks
from benchmarks.clusters import BenchmarkCluster, cluster
from benchmarks.measuring import show, wall_seconds
from composition import Given, Refusal, compose
from planning.ground import yaml_text
from planning.ground.cluster_facts import NOTHING_READ

_SIZES = (10, 50)
_AVAILABLE = ("wait", "deployments", "--all", "--for=condition=Available", "--timeout=900s")


def main(sizes: tuple[int, ...]) -> None:
    """Print the times for each number of services in `sizes`."""
    with cluster() as shared:
        rows = [_row(shared, size) for size in sizes]
    columns = ("n", "objects", "up, s", "apply, s", "Available, s", "up / apply", "up / Available", "state, KiB")
    show("`pulumi up` of n services beside `kubectl apply --server-side` of the same objects", columns, rows)


def _row(shared: BenchmarkCluster, services: int) -> tuple[object, ...]:
    with shared.report.step(f"pulumi up of {services} services"):
        up, state = _up_seconds(shared, services)
    with shared.report.step(f"kubectl apply of {services} services"):
        objects, apply, available = _apply_seconds(shared, services)
    return (
        services,
        objects,
        f"{up:.1f}",
        f"{apply:.1f}",
        f"{available:.1f}",
        f"{up / apply:.2f}",
        f"{up / available:.2f}",
        f"{state / services / 1024:.1f}",
    )


def _up_seconds(shared: BenchmarkCluster, services: int) -> tuple[float, int]:
    """Deploy a stack, delete its namespace, and return the seconds of the deployment and the bytes of the state.

    kubectl deletes the namespace, because `pulumi destroy` would take as long as the deployment: the engine writes its
    whole state before and after every object.
    """
    name = f"pulumi-{services}"
    engine = shared.program_engine(name, stacks.tree(services, name, create_namespace=True))
    engine.ensure_stack()
    seconds, _ = wall_seconds(lambda: engine.run("up", "--yes", "--skip-preview", "--suppress-progress"))
    state = json.dumps(engine.export(), separators=(",", ":"))
    shared.plane.kubectl("delete", "namespace", name)
    return seconds, len(state)


def _apply_seconds(shared: BenchmarkCluster, services: int) -> tuple[int, float, float]:
    """Apply a stack, delete its objects, and return three numbers.

    These are the number of objects, the seconds until they are applied, and the seconds until all Deployments are
    Available.
    """
    namespace = f"kubectl-{services}"
    composition = compose(stacks.tree(services, namespace, create_namespace=True), Given(NOTHING_READ), stacks.NAME)
    if isinstance(composition, Refusal):
        raise composition.error
    file = shared.directory / f"{namespace}.yaml"
    documents = [yaml_text.with_blocks(rendered.manifest) for rendered in composition.objects]
    file.write_text("---\n".join(documents), encoding="utf-8")
    kubectl = shared.plane.kubectl
    apply, _ = wall_seconds(lambda: kubectl("apply", "--server-side", f"--filename={file}"))
    rest, _ = wall_seconds(lambda: kubectl(*_AVAILABLE, f"--namespace={namespace}"))
    kubectl("delete", f"--filename={file}", "--ignore-not-found")
    return len(documents), apply, apply + rest


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or _SIZES)
