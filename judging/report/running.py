"""Pods that run before a change, read from objects in the cluster or in Pulumi's state."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from models.accelerators import ExtendedResource
from models.trees import EMPTY
from planning.ground.api_groups import DEPLOYMENT_API, LEADER_WORKER_SET_API
from planning.hardware.accelerators import AcceleratorClass

WORKLOADS: Mapping[str, str] = {
    "Deployment": DEPLOYMENT_API.partition("/")[0],
    "LeaderWorkerSet": LEADER_WORKER_SET_API.partition("/")[0],
}
"""API groups of the kinds of workloads."""
_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"),
    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "workerTemplate"),
}
"""Path of the pod template by kind of workload; for a LeaderWorkerSet, the template of the workers."""
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class RunningPods:
    """The pods of a workload before a change."""

    replicas: int | None
    """Number of replicas; None if the object states none, because an autoscaler decides."""
    pods_per_replica: int
    devices_per_pod: int
    """Devices that a pod requests as an extended resource; 0 if the pod uses device claims."""
    accelerator: str | None
    """Accelerator class of these devices; None if no class has them."""
    is_of_any_product: bool
    """Whether the class demands no labels of nodes, or is unknown."""
    content: Mapping[str, Any]
    """The workload object."""


def of_object(
    kind: str, content: Mapping[str, Any], classes: Mapping[str, AcceleratorClass], planned: str | None = None
) -> RunningPods | None:
    """Return the pods of an object; None if the object is no workload, or has no content.

    `planned` is the class of the pods after the change. It is preferred to other classes with the same devices.
    """
    if kind not in WORKLOADS or not content:
        return None
    spec = content.get("spec", EMPTY)
    pod = template(kind, content).get("spec", EMPTY)
    limits = [container.get("resources", EMPTY).get("limits", EMPTY) for container in pod.get("containers", ())]
    devices = {name: int(number) for amounts in limits for name, number in amounts.items() if _is_device(name, number)}
    size = 1
    if kind == "LeaderWorkerSet":
        size = spec.get("leaderWorkerTemplate", EMPTY).get("size", 1)
    replicas = spec.get("replicas")
    accelerator = _class(devices.keys(), pod, classes, planned)
    return RunningPods(
        replicas=None if replicas is None else int(replicas),
        pods_per_replica=int(size),
        devices_per_pod=sum(devices.values()),
        accelerator=accelerator,
        is_of_any_product=accelerator is None or not classes[accelerator].node_labels,
        content=content,
    )


def template(kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the pod template of a workload; for a LeaderWorkerSet, the template of the workers."""
    return reduce(lambda tree, key: tree.get(key, EMPTY), _TEMPLATES.get(kind, ("spec", "template")), content)


def template_fields(kind: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the subtree of the pod template from a workload's tree of fields (FieldsV1)."""
    return reduce(lambda tree, key: tree.get(f"f:{key}", EMPTY), _TEMPLATES[kind], fields)


def leader_labels(kind: str, content: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the labels of a workload's pods; for a LeaderWorkerSet, the labels of the leaders."""
    groups = content.get("spec", EMPTY).get("leaderWorkerTemplate", EMPTY)
    if kind == "LeaderWorkerSet":
        leader = groups.get("leaderTemplate", groups.get("workerTemplate", EMPTY))
    else:
        leader = template(kind, content)
    return leader.get("metadata", EMPTY).get("labels", EMPTY)


def _is_device(name: str, number: object) -> bool:
    return "/" in name and _NUMBER.fullmatch(str(number)) is not None


def _class(
    resources: Iterable[str], pod: Mapping[str, Any], classes: Mapping[str, AcceleratorClass], planned: str | None
) -> str | None:
    """Return the class whose resource a pod requests and whose node labels it requires; None if there is no such class.

    Of several such classes, the class with the most labels is chosen; of classes with equally many labels, `planned`.
    """
    labels = _required_labels(pod)
    names = frozenset(resources)
    fitting = (
        (len(cls.node_labels), name == planned, name)
        for name, cls in classes.items()
        if isinstance(cls.allocation, ExtendedResource)
        and cls.allocation.resource_name in names
        and all(labels.get(key) == frozenset(values) for key, values in cls.node_labels.items())
    )
    return max(fitting, default=(0, False, None))[2]


def _required_labels(pod: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return the labels that the nodes of a pod must have, each with its possible values."""
    required = (
        pod.get("affinity", EMPTY)
        .get("nodeAffinity", EMPTY)
        .get("requiredDuringSchedulingIgnoredDuringExecution", EMPTY)
    )
    labels = dict[str, frozenset[str]]()
    for term in required.get("nodeSelectorTerms", ()):
        for expression in term.get("matchExpressions", ()):
            if expression.get("operator") == "In":
                labels[expression.get("key", "")] = frozenset(expression.get("values", ()))
    return {**labels, **{key: frozenset((value,)) for key, value in pod.get("nodeSelector", EMPTY).items()}}
