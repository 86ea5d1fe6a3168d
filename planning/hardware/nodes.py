"""The nodes of a cluster on which the pods of a role may run: their devices, and reasons that keep pods away."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.accelerators import ExtendedResource
from planning.ground.cluster_facts import ClusterFacts, Unknown
from planning.ground.inventory import LiveNode, Taint
from planning.hardware import device_claims
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.placement import Placement

_REPELLING = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods away."""
_NONE: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class ClassNode:
    """A node that has devices of an accelerator class."""

    name: str
    allocatable: int
    """Number of devices that pods can get; 0 for a class without devices."""
    requested: int | None
    """Number of allocatable devices that running pods have requested; None if this number is unknown."""
    obstacles: tuple[str, ...]
    """Reasons why no pod is placed on the node, such as `cordoned`; empty if pods may be placed there."""


def of_class(
    accelerator: AcceleratorClass, placement: Placement, facts: ClusterFacts
) -> tuple[ClassNode, ...] | Unknown:
    """Return the nodes that have the labels and devices that pods need. `Unknown` if nodes or devices are unknown.

    For device claims, the devices of the driver that has the name of the DeviceClass count. If no driver has that name,
    the devices of all drivers on a node count. The expressions of the DeviceClass, which are not evaluated here,
    determine which of these devices a claim can get.
    """
    if isinstance(facts.nodes, Unknown):
        return facts.nodes
    devices = _devices(accelerator, facts)
    if isinstance(devices, Unknown):
        return devices
    return tuple(
        ClassNode(
            node.name,
            devices.get(node.name, 0),
            _requested_devices(accelerator, node, facts),
            tuple(_obstacles(node, placement.tolerations)),
        )
        for node in facts.nodes.nodes
        if _has_labels(node.labels, placement) and (accelerator.allocation is None or devices.get(node.name))
    )


def _devices(accelerator: AcceleratorClass, facts: ClusterFacts) -> Mapping[str, int] | Unknown:
    """Return the number of devices of each node."""
    allocation = accelerator.allocation
    if allocation is None:
        return {}
    if isinstance(allocation, ExtendedResource):
        if isinstance(facts.nodes, Unknown):
            return facts.nodes
        return {node.name: node.devices.get(allocation.resource_name, 0) for node in facts.nodes.nodes}
    if isinstance(facts.slices, Unknown):
        return facts.slices
    numbers = Counter[str]()
    driver = device_claims.device_class(allocation)
    of_driver = [published for published in facts.slices.slices if published.driver == driver]
    for published in of_driver or facts.slices.slices:
        if published.node is not None:
            numbers[published.node] += published.devices
    return numbers


def _requested_devices(accelerator: AcceleratorClass, node: LiveNode, facts: ClusterFacts) -> int | None:
    """Return the number of requested devices of a node; None if this number is unknown.

    The number is always unknown for device claims, because pods do not say which devices their claims got.
    """
    if isinstance(facts.requested, Unknown) or not isinstance(accelerator.allocation, ExtendedResource):
        return None
    return facts.requested.requested.get(node.name, _NONE).get(accelerator.allocation.resource_name, 0)


def _has_labels(labels: Mapping[str, str], placement: Placement) -> bool:
    return placement.node_selector.items() <= labels.items() and all(
        labels.get(key) in values for key, values in placement.node_labels.items()
    )


def _obstacles(node: LiveNode, tolerations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    if not node.ready:
        yield "not ready"
    if node.cordoned:
        yield "cordoned"
    tolerated = tuple(tolerations)
    for taint in node.taints:
        if taint.effect in _REPELLING and not any(_tolerates(toleration, taint) for toleration in tolerated):
            yield f"taint {taint.key}"


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Tell whether a toleration matches a taint (Kubernetes API, Toleration).

    A toleration without a key matches every taint if its operator is `Exists`.
    """
    if toleration.get("effect") not in {None, "", taint.effect}:
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    same_value = toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.value
    return toleration["key"] == taint.key and same_value
