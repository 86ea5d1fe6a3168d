"""Drift: changes in the cluster since the last run, as a refresh finds them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.report.events import Events, Step

_REPLICAS = "spec.replicas"
_MOST_FIELDS = 6


@dataclass(frozen=True, slots=True)
class Drift:
    """An object that somebody changed or deleted after its deployment."""

    object: str
    """Kind, namespace and name, such as `Deployment models/qwen-decode`."""
    is_gone: bool
    fields: tuple[str, ...]
    """Paths of fields that differ. Only `spec.replicas` comes with its values: other values may be credentials."""

    @property
    def sign(self) -> str:
        """The sign of the change in a list: `-` for an object that is gone, `~` for any other."""
        if self.is_gone:
            return "-"
        return "~"

    def __str__(self) -> str:
        if self.is_gone:
            return f"{self.object} is gone"
        return f"{self.object}: {', '.join(self.fields)}"


def of_events(events: Events) -> tuple[Drift, ...]:
    """Return the objects that somebody changed or deleted.

    `events.drift` has no updates without a difference, which a refresh reports for objects that are not ready.
    """
    differences = (_drift(step) for step in events.drift if step.is_custom)
    return tuple(sorted(differences, key=lambda difference: difference.object))


def _drift(step: Step) -> Drift:
    _, kind, namespace, name = step.place
    fields = tuple(f"{field}{_numbers(field, step)}" for field in step.differences)
    more = ()
    if len(fields) > _MOST_FIELDS:
        more = (f"{len(fields) - _MOST_FIELDS} more",)
    if namespace:
        title = f"{kind} {namespace}/{name}"
    else:
        title = f"{kind} {name}"
    return Drift(title, step.operation == "delete", (*fields[:_MOST_FIELDS], *more))


def _numbers(field: str, step: Step) -> str:
    if field != _REPLICAS:
        return ""
    old, new = (_replicas(inputs) for inputs in (step.old, step.new))
    if isinstance(old, int) and isinstance(new, int) and old != new:
        return f" {old} → {new}"
    return ""


def _replicas(content: Mapping[str, Any]) -> object:
    return content.get("spec", {}).get("replicas")
