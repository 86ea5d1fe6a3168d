"""Placement of pods: node labels, tolerations and the other fields of a PodSpec that the scheduler reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from models.role import Placed
from planning.hardware.accelerators import AcceleratorClass
from planning.refusals import scheduling

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""Key below `nodeAffinity`. A pod runs only on nodes that match one of the terms below this key."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The fields of a PodSpec that the scheduler reads."""

    node_labels: Mapping[str, tuple[str, ...]]
    """Labels that nodes must have, each with its possible values."""
    node_selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, Any], ...]
    affinity: Mapping[str, Any]
    """The user's affinity. Rendering adds the required node labels to this affinity."""
    topology_spread: tuple[Mapping[str, Any], ...]
    priority_class: str | None
    scheduler: str | None
    runtime_class: str | None


def plan(pod: Placed, accelerator: AcceleratorClass | None, selector: Mapping[str, str]) -> Placement:
    """Return the placement of the pods that `selector` selects.

    If `accelerator` is given, the pods run only on nodes of that class.
    """
    node_labels: Mapping[str, tuple[str, ...]] = {}
    tolerations = tuple(toleration.model_dump(by_alias=True, exclude_none=True) for toleration in pod.tolerations)
    if accelerator is not None:
        node_labels = accelerator.node_labels
        tolerations = (*accelerator.tolerations, *tolerations)
    return Placement(
        node_labels=node_labels,
        node_selector=dict(sorted(pod.node_selector.items())),
        tolerations=tolerations,
        affinity=pod.affinity,
        topology_spread=tuple(_topology_spread(constraint, selector) for constraint in pod.topology_spread_constraints),
        priority_class=pod.priority_class_name,
        scheduler=pod.scheduler_name,
        runtime_class=pod.runtime_class_name,
    )


def problems(path: Path, pod: Placed) -> Iterator[Problem]:
    """Check affinity and spread by the rules of Kubernetes, and the shape of a required node affinity.

    A required node affinity needs terms, because rendering adds the accelerator class's labels to them.
    """
    yield from scheduling.affinity(path / "affinity", pod.affinity)
    constraints = [_topology_spread(constraint, {}) for constraint in pod.topology_spread_constraints]
    yield from scheduling.topology_spread(path / "topologySpreadConstraints", constraints)
    if "nodeAffinity" not in pod.affinity:
        return
    at = path / "affinity" / "nodeAffinity"
    node_affinity = pod.affinity["nodeAffinity"]
    if not isinstance(node_affinity, dict):
        yield Problem(at, "is not a mapping", f"write {REQUIRED} with nodeSelectorTerms below it")
    elif REQUIRED in node_affinity:
        yield from _check_required(at / REQUIRED, node_affinity[REQUIRED])


def _check_required(at: Path, required: object) -> Iterator[Problem]:
    if not isinstance(required, dict):
        yield Problem(at, "is not a mapping", "write nodeSelectorTerms below it")
        return
    at = at / "nodeSelectorTerms"
    terms = cast("dict[str, object]", required).get("nodeSelectorTerms")
    if terms is None:
        yield Problem(at, "is missing", f"add a term, or remove {REQUIRED}")
    elif not isinstance(terms, list):
        yield Problem(at, "is not a list", "write terms: [{matchExpressions: [...]}]")
    elif not terms:
        yield Problem(at, "is empty, so no node matches", f"add a term, or remove {REQUIRED}")
    else:
        for index, term in enumerate(cast("list[object]", terms)):
            yield from _check_term(at / index, term)


def _check_term(at: Path, term: object) -> Iterator[Problem]:
    if not isinstance(term, dict):
        yield Problem(at, "is not a mapping", "write matchExpressions below it")
    elif not isinstance(cast("dict[str, object]", term).get("matchExpressions", []), list):
        yield Problem(at / "matchExpressions", "is not a list", "write a list of expressions")


def _topology_spread(constraint: Mapping[str, Any], selector: Mapping[str, str]) -> dict[str, Any]:
    """Return a constraint with `selector` as the default label selector.

    If a constraint has no label selector, Kubernetes counts no pods for it.
    """
    return {"labelSelector": {"matchLabels": dict(selector)}, **constraint}
