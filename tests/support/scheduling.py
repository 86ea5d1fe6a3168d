"""Random clusters and changes of stacks for comparison of the capacity verdict with the real scheduler."""

import copy
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from judging.report import capacity, growth, running
from judging.report.capacity import Capacity
from judging.report.growth import Change
from judging.report.packing import Tightness
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.inventory import LiveNode, Nodes, Quotas, Requested, Taint
from planning.hardware import accelerators
from tests.support.stacks import exactly, plan, rendered, tree

GPU, PRODUCT = "nvidia.com/gpu", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
OTHER = {"nvidia.com/gpu.product": "NVIDIA-L40S"}
NAMESPACE, SEED = "scheduling", "scheduling.test/seed"
LONGEST = 120
"""Seconds within which the scheduler has looked at every pod."""


@dataclass(frozen=True)
class Scene:
    """Nodes of one seed, and the change of a stack whose pods run on these nodes alone."""

    seed: int
    nodes: tuple[LiveNode, ...]
    before: dict[str, Any]
    after: dict[str, Any]

    def old_pods(self) -> list[dict[str, Any]]:
        """Return the pods that run before the change."""
        changes = (each for each in growth.changes(plan(self.before), {}, {}) if each.has_devices)
        return [pod for each in changes for pod in self._pods(each, self.before, "old")]

    @cached_property
    def changes(self) -> list[Change]:
        """Return the changes of the workloads. Every one that runs restarts."""
        planned = growth.changes(plan(self.after), {}, {})
        names = {each.place[3] for each in growth.changes(plan(self.before), {}, {})}
        old = rendered(self.before)
        found = {
            each.place: running.of_object(each.place[1], exactly(old, *each.place[1::2]), accelerators.classes({}))
            for each in planned
            if each.place[3] in names
        }
        return growth.changes(plan(self.after), found, dict.fromkeys(found, True))

    def new_pods(self) -> list[dict[str, Any]]:
        """Return the pods that need a place beside those that run."""
        return [pod for each in self.changes for pod in self._pods(each, self.after, "new")]

    def _pods(self, change: Change, stack: dict[str, Any], age: str) -> Iterator[dict[str, Any]]:
        template = exactly(rendered(stack), *change.place[1::2])["spec"]["template"]
        for number in range(change.additional.low):
            spec = copy.deepcopy(template["spec"])
            name = f"s{self.seed}-{change.place[3]}-{age}-{number}"
            labels = {SEED: str(self.seed), "age": age}
            metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def capacity(self, bound: Iterable[dict[str, Any]], *, is_open: bool = False) -> Capacity:
        """Return the capacity for the change, with the old pods where the scheduler has put them.

        `is_open` supposes that no node has taints or is cordoned.
        """
        nodes = tuple(replace(node, taints=(), cordoned=False) if is_open else node for node in self.nodes)
        return capacity.of_changes(self.changes, (), facts(nodes, bound))


def facts(nodes: tuple[LiveNode, ...], bound: Iterable[dict[str, Any]]) -> ClusterFacts:
    """Return the facts of a cluster with some nodes and pods on them."""
    requested = dict[str, dict[str, int]]()
    for pod in bound:
        devices = sum(int(each["resources"]["limits"].get(GPU, 0)) for each in pod["spec"]["containers"])
        found = requested.setdefault(pod["spec"]["nodeName"], {GPU: 0})
        found[GPU] += devices
    return replace(NOTHING_READ, nodes=Nodes(nodes), requested=Requested(requested), quotas=Quotas(()))


def scene(seed: int) -> Scene:
    """Return nodes with 4 or 8 devices, some of which take no pods, and a change of up to three services on them."""
    draw = Random(seed)
    nodes = tuple(_node(draw, seed, number) for number in range(draw.randint(1, 4)))
    services = {f"m{number}": _service(draw, seed) for number in range(draw.randint(1, 2))}
    before = {key: service for key, service in services.items() if draw.random() < 0.7}
    after = {key: _changed(draw, service) for key, service in services.items()}
    stacks = [
        tree(**(each or {"other": {"accelerator": "cpu"}})) | {"namespace": NAMESPACE} for each in (before, after)
    ]
    return Scene(seed, nodes, *stacks)


def _node(draw: Random, seed: int, number: int) -> LiveNode:
    labels = {**(PRODUCT if draw.random() < 0.85 else OTHER), SEED: str(seed)}
    taints = (Taint("team", "search", "NoSchedule"),) if draw.random() < 0.15 else ()
    name, devices = f"scheduling-{seed}-{number}", draw.choice([4, 8])
    return LiveNode(name, labels, ready=True, cordoned=draw.random() < 0.1, taints=taints, devices={GPU: devices})


def _service(draw: Random, seed: int) -> dict[str, Any]:
    return {
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": draw.choice([1, 2, 4, 4, 8])},
        "replicas": draw.randint(1, 2),
        "pod": {"nodeSelector": {SEED: str(seed)}},
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    }


def _changed(draw: Random, service: dict[str, Any]) -> dict[str, Any]:
    found = {**service, "rollout": {"type": "RollingUpdate", "maxSurge": draw.randint(0, 2)}}
    if draw.random() < 0.5:
        found["replicas"] = service["replicas"] + draw.randint(0, 2)
    return found


def node_objects(found: Scene) -> list[dict[str, Any]]:
    """Return the nodes as objects."""
    return [node_object(node) for node in found.nodes]


def node_object(node: LiveNode) -> dict[str, Any]:
    """Return a node, played by kwok, as an object."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {
            "unschedulable": node.cordoned,
            "taints": [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.taints],
        },
        "status": {key: _resources(node) for key in ("capacity", "allocatable")},
    }


def _resources(node: LiveNode) -> dict[str, str]:
    plenty = {"cpu": "512", "memory": "8Ti", "ephemeral-storage": "100Ti", "pods": "110"}
    return plenty | {name: str(number) for name, number in node.devices.items()}


def verdicts(found: Capacity) -> set[Tightness]:
    """Return what is said of the devices of a change."""
    return {each.low for each in found.devices}


def is_looked_at(pod: dict[str, Any]) -> bool:
    """Tell whether the scheduler has found a node, or none."""
    conditions = pod.get("status", {}).get("conditions", ())
    is_refused = any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)
    return bool(pod["spec"].get("nodeName")) or is_refused


def settled(read: Any, selector: str, count: int) -> list[dict[str, Any]]:
    """Return the pods with a label once the scheduler has looked at every one of them."""
    end = time.monotonic() + LONGEST
    while True:
        found = read(selector)
        if len(found) == count and all(map(is_looked_at, found)):
            return found
        assert time.monotonic() < end, f"{sum(map(is_looked_at, found))} of {count} pods were looked at"
        time.sleep(0.5)
