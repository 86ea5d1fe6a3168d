"""Cost of the check that the routes of two stacks on one gateway do not collide.

Run from the root of the repository: `.venv/bin/python -m benchmarks.collisions [SERVICES]` (200 if absent). Two stacks
share a gateway, and each stack has SERVICES services. The first stack counts as deployed, the second stack is checked.
The column `share` divides the time of the check by the time for planning and rendering the whole stack. The column
`growth from …` divides the time of the check by the time for half the services. The column `growth to …` divides the
time for twice as many services by the time of the check. A growth of 2.0 is linear, 4.0 is quadratic. All times are
processor times, so that other work on the machine does not count.
"""

import sys

import planning
from benchmarks import stacks
from benchmarks.tables import show
from benchmarks.timing import processor_seconds
from facts import gateways
from judging import routes
from manifests.assembly import objects, render
from models.load import load
from planning.ground.cluster_facts import Routes
from planning.ground.marks import Identity
from planning.plans import StackPlan
from planning.routes import collisions

_RUNS = 10


def main(services: int) -> None:
    """Print the costs."""
    counts = (services // 2, services, services * 2)
    seconds = {count: _check_seconds(count) for count in counts}
    whole = processor_seconds(lambda: list(objects(render(_plan("new", services)))), runs=3)
    show(
        "Check for requests that two stacks claim, with n services each on one gateway: milliseconds of processor time",
        ("n", "check", "plan and render", "share", f"growth from {services // 2}", f"growth to {services * 2}"),
        [
            (
                services,
                f"{seconds[services] * 1000:.1f}",
                f"{whole * 1000:.0f}",
                f"{seconds[services] / whole:.1%}",
                f"{seconds[services] / seconds[services // 2]:.1f}",
                f"{seconds[services * 2] / seconds[services]:.1f}",
            )
        ],
    )


def _check_seconds(services: int) -> float:
    """Return the seconds of the whole check, which must find nothing: the two stacks claim different requests."""
    plan, live = _plan("new", services), _live_routes(_plan("old", services))

    def check() -> None:
        found = (
            list(collisions.judge(plan.routes)),
            list(routes.judge(plan.routes, Identity(stacks.NAME), live, "strict")),
        )
        if found != ([], []):
            raise AssertionError(found)

    return processor_seconds(check, _RUNS)


def _plan(namespace: str, services: int) -> StackPlan:
    return planning.plan(load(stacks.tree(services, namespace)), stacks.NAME)


def _live_routes(plan: StackPlan) -> Routes:
    """Return the routes of a planned stack as facts of a cluster in which the stack is deployed."""
    manifests = (item.manifest for item in objects(render(plan)) if item.manifest["kind"] == "HTTPRoute")
    return Routes(tuple(map(gateways.route, manifests)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200)
