"""Benchmark of the check that the routes of two stacks on one gateway do not collide.

Run from the root of the repository: `.venv/bin/python -m benchmarks.collisions [SERVICES]` (200 if absent). Two stacks
of that many services share a gateway; one is deployed, the other is checked. The output is the time of the check, also
as a share of planning and rendering the whole stack, and its growth from half the services to twice as many: doubling
the services takes 2.0 times as long for a linear check, 4.0 times for a check of every pair. Times are processor time,
so that other programs do not count.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import planning
from facts import gateways
from manifests.assembly import objects, render
from models.load import load
from planning.ground.cluster_facts import Routes
from planning.plans import StackPlan
from planning.routes import collisions

_RUNS = 10
_GATEWAY = {"name": "inference-gateway", "namespace": "gateways", "provider": "istio"}


def main(services: int) -> None:
    """Print the times for stacks of half, once and twice as many services."""
    seconds = {count: _check_seconds(count) for count in (services // 2, services, services * 2)}
    total = _shortest_run(lambda: list(objects(render(planning.plan(load(_tree("new", services)))))), runs=1)
    check, share = seconds[services], seconds[services] / total
    print(f"plan and render {services} services: {total:.2f} s")
    print(f"check them within and beside {services} deployed ones: {check * 1000:.1f} ms, {share:.1%} of that")
    for fewer, more in ((services // 2, services), (services, services * 2)):
        print(f"from {fewer} to {more}: {seconds[more] / seconds[fewer]:.1f} times as long")


def _check_seconds(services: int) -> float:
    """Return the seconds that the whole check takes for two stacks without collisions."""
    plan, live = _plan("new", services), _live_routes(_plan("old", services))

    def check() -> None:
        found = (
            list(collisions.problems(plan.routes)),
            collisions.cluster_problems(plan.routes, {"new"}, live, "strict"),
        )
        if found != ([], []):
            raise AssertionError(found)

    return _shortest_run(check, _RUNS)


def _shortest_run(work: Callable[[], object], runs: int) -> float:
    """Return the processor time of the shortest of several runs, in seconds."""
    seconds = list[float]()
    for _ in range(runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _plan(namespace: str, services: int) -> StackPlan:
    return planning.plan(load(_tree(namespace, services)))


def _tree(namespace: str, services: int) -> dict[str, Any]:
    """Return the tree of a stack whose services are distinct by path, by host or by header, in turn."""

    def route(number: int) -> dict[str, Any]:
        routes: tuple[dict[str, Any], ...] = (
            {},
            {"hostnames": [f"s{number}.{namespace}.example.com"], "matches": [{"path": "/v1"}]},
            {"matches": [{"path": "/v1", "headers": {"x-service": f"{namespace}-s{number}"}}]},
        )
        return routes[number % len(routes)]

    return {
        "namespace": namespace,
        "gateway": _GATEWAY,
        "defaults": {"model": {"source": "hf://org/model"}, "accelerator": "nvidia"},
        "services": {f"s{number}": {"route": route(number)} for number in range(services)},
    }


def _live_routes(plan: StackPlan) -> Routes:
    """Return the routes of a stack as facts of a cluster that it is deployed to."""
    manifests = (rendered.manifest for rendered in objects(render(plan)))
    return Routes(tuple(gateways.route(manifest) for manifest in manifests if manifest["kind"] == "HTTPRoute"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200)
