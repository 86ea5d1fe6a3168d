"""Placement of pods: the node labels, tolerations and further PodSpec fields that the scheduler reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.role import Placed
from planning.hardware.accelerators import AcceleratorClass


@dataclass(frozen=True, slots=True)
class Placement:
    """The fields of a PodSpec that the scheduler reads."""

    node_labels: Mapping[str, tuple[str, ...]]
    """Labels that nodes must have, each with its possible values."""
    node_selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, Any], ...]
    affinity: Mapping[str, Any]
    """The user's affinity. Rendering adds the node labels to it."""
    topology_spread: tuple[Mapping[str, Any], ...]
    priority_class: str | None
    scheduler: str | None
    runtime_class: str | None


def plan(pod: Placed, accelerator: AcceleratorClass | None, selector: Mapping[str, str]) -> Placement:
    """Return the placement of the pods that `selector` selects.

    If `accelerator` is given, the pods run only on nodes of that class.
    """
    tolerations = tuple(toleration.model_dump(by_alias=True, exclude_none=True) for toleration in pod.tolerations)
    return Placement(
        node_labels={} if accelerator is None else accelerator.node_labels,
        node_selector=dict(sorted(pod.node_selector.items())),
        tolerations=tolerations if accelerator is None else (*accelerator.tolerations, *tolerations),
        affinity=pod.affinity,
        topology_spread=tuple(_topology_spread(constraint, selector) for constraint in pod.topology_spread_constraints),
        priority_class=pod.priority_class_name,
        scheduler=pod.scheduler_name,
        runtime_class=pod.runtime_class_name,
    )


def _topology_spread(constraint: Mapping[str, Any], selector: Mapping[str, str]) -> dict[str, Any]:
    """Return a constraint with `selector` as the default label selector.

    Without a label selector, Kubernetes would count no pods.
    """
    return {"labelSelector": {"matchLabels": dict(selector)}, **constraint}
