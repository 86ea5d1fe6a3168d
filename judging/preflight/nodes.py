"""Check whether a cluster has nodes on which the pods of each role may run."""

from collections.abc import Iterator

from models.problems import Mode, Problem, warning
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.hardware import nodes as fleet
from planning.plans import StackPlan
from planning.serving.workload import Workload

_MOST_NAMES = 6
"""Maximum number of nodes that a message lists."""


def judge(plan: StackPlan, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a warning for every role that has no node for its pods.

    A lack of nodes is never an error, because nodes may join while pods wait.
    """
    if mode == "skip":
        return
    for service in plan.services:
        for workload in service.workloads:
            yield from _verdict(workload, facts)


def _verdict(workload: Workload, facts: ClusterFacts) -> Iterator[Problem]:
    takers = fleet.of_class(workload.accelerator, workload.placement, facts)
    if isinstance(takers, Unknown):
        return
    at = workload.path / "accelerator"
    devices = workload.layout.chips_per_pod
    large = [node for node in takers if node.allocatable >= devices]
    if not takers:
        yield warning(at, "no node has the labels and devices of this class, and pods wait until such a node joins")
    elif not large:
        largest = max(node.allocatable for node in takers)
        yield warning(at, f"a pod takes {devices} devices, and no node of this class has more than {largest}")
    elif all(node.obstacles for node in large):
        listed = ", ".join(f"{node.name}: {', '.join(node.obstacles)}" for node in large[:_MOST_NAMES])
        yield warning(at, f"no node of this class takes pods ({listed})")
