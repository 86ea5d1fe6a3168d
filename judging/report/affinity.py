"""Demands of pods on nodes, besides the accelerator class: node affinity, and demands left to the scheduler."""

from collections.abc import Iterator, Mapping
from typing import Any

from models.trees import EMPTY
from planning.ground.inventory import Requirement
from planning.hardware.placement import REQUIRED, Placement


def admits(affinity: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Tell whether a node's labels meet a required node affinity: all conditions of at least one of its terms.

    Source: Kubernetes API, NodeSelector. A term without conditions matches no node. Conditions in `matchFields`
    count as met.
    """
    required = (affinity.get("nodeAffinity") or EMPTY).get(REQUIRED)
    if not required:
        return True
    return any(_meets(term, labels) for term in required.get("nodeSelectorTerms", ()))


def _meets(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchExpressions") or ()
    return bool(expressions or term.get("matchFields")) and all(
        _holds(expression, labels) for expression in expressions
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key = expression["key"]
    operator = expression["operator"]
    values = tuple(expression.get("values") or ())
    if operator not in {"Gt", "Lt"}:
        return Requirement(key, operator, values).admits(labels)
    value = labels.get(key, "")
    if not value.lstrip("-").isdigit() or len(values) != 1 or not str(values[0]).lstrip("-").isdigit():
        return False
    if operator == "Gt":
        return int(value) > int(values[0])
    return int(value) < int(values[0])


def further_demands(placement: Placement) -> tuple[str, ...]:
    """Return the names of a placement's demands that only the scheduler evaluates, such as `podAffinity`."""
    return tuple(_further_demands(placement))


def _further_demands(placement: Placement) -> Iterator[str]:
    for name in ("podAffinity", "podAntiAffinity"):
        if (placement.affinity.get(name) or EMPTY).get(REQUIRED):
            yield name
    if any(
        constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        for constraint in placement.topology_spread
    ):
        yield "topologySpreadConstraints"
    if placement.scheduler is not None:
        yield f"scheduler {placement.scheduler}"
