"""What it costs to find out that the routes of two stacks on one gateway collide nowhere.

Run from the root of the repository: `.venv/bin/python -m benchmarks.collisions [SERVICES]` (200 if absent). Two stacks
of that many services share a gateway; one is deployed, the other is checked. Printed are the share of the check in
planning and rendering the whole stack, in one run on one machine, and how the check grows from half the services to
twice as many: 2.0 is linear, 4.0 is every pair. Time is the processor's, so that other work does not count.
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
    """Print the costs."""
    took = {count: _checked(count) for count in (services // 2, services, services * 2)}
    whole = _best(lambda: list(objects(render(planning.plan(load(_tree("new", services)))))), runs=1)
    share = took[services] / whole
    print(f"plan and render {services} services: {whole:.2f} s")
    print(f"check them within and beside {services} deployed ones: {took[services] * 1000:.1f} ms, {share:.1%} of that")
    for fewer, more in ((services // 2, services), (services, services * 2)):
        print(f"from {fewer} to {more}: {took[more] / took[fewer]:.1f} times as long")


def _checked(services: int) -> float:
    """Return the seconds that the whole check takes; no route is in another's way."""
    plan, live = _plan("new", services), _deployed(_plan("old", services))

    def check() -> None:
        found = (
            list(collisions.problems(plan.routes)),
            collisions.cluster_problems(plan.routes, {"new"}, live, "strict"),
        )
        if found != ([], []):
            raise AssertionError(found)

    return _best(check, _RUNS)


def _best(work: Callable[[], object], runs: int) -> float:
    """Return the least seconds of the processor of several runs."""
    took = list[float]()
    for _ in range(runs):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def _plan(namespace: str, services: int) -> StackPlan:
    return planning.plan(load(_tree(namespace, services)))


def _tree(namespace: str, services: int) -> dict[str, Any]:
    """Return a stack whose services differ by path, by host, or by header, so that all ways of telling are in use."""

    def route(number: int) -> dict[str, Any]:
        ways: tuple[dict[str, Any], ...] = (
            {},
            {"hostnames": [f"s{number}.{namespace}.example.com"], "matches": [{"path": "/v1"}]},
            {"matches": [{"path": "/v1", "headers": {"x-service": f"{namespace}-s{number}"}}]},
        )
        return ways[number % len(ways)]

    return {
        "namespace": namespace,
        "gateway": _GATEWAY,
        "defaults": {"model": {"source": "hf://org/model"}, "accelerator": "nvidia"},
        "services": {f"s{number}": {"route": route(number)} for number in range(services)},
    }


def _deployed(plan: StackPlan) -> Routes:
    """Return the routes of a stack as a cluster has them."""
    routes = (one.manifest for one in objects(render(plan)) if one.manifest["kind"] == "HTTPRoute")
    return Routes(tuple(map(gateways.route, routes)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200)
