"""Where pods may run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.role import Placed
from planning.hardware.accelerators import AcceleratorClass


@dataclass(frozen=True, slots=True)
class Placement:
    """What the scheduler is told."""

    node_labels: Mapping[str, tuple[str, ...]]
    """Labels that nodes must carry, each with the values that qualify."""
    node_selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, Any], ...]
    affinity: Mapping[str, Any]
    """The user's, to which the node labels are added."""
    topology_spread: tuple[Mapping[str, Any], ...]
    priority_class: str | None
    scheduler: str | None
    runtime_class: str | None


def plan(pod: Placed, accelerator: AcceleratorClass | None, selector: Mapping[str, str]) -> Placement:
    """Decide where pods may run, on nodes of a class where they need devices; `selector` finds them."""
    own = tuple(toleration.model_dump(by_alias=True, exclude_none=True) for toleration in pod.tolerations)
    return Placement(
        node_labels={} if accelerator is None else accelerator.node_labels,
        node_selector=pod.node_selector,
        tolerations=own if accelerator is None else (*accelerator.tolerations, *own),
        affinity=pod.affinity,
        topology_spread=tuple(_spread(constraint, selector) for constraint in pod.topology_spread_constraints),
        priority_class=pod.priority_class_name,
        scheduler=pod.scheduler_name,
        runtime_class=pod.runtime_class_name,
    )


def _spread(constraint: Mapping[str, Any], selector: Mapping[str, str]) -> dict[str, Any]:
    """Without a selector Kubernetes counts no pods at all; the pods of the role are what is meant."""
    return {"labelSelector": {"matchLabels": dict(selector)}, **constraint}
