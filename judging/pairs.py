"""Planned objects beside the same objects of Pulumi's state, and what of a workload replaces its pods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from judging.losses.continuity import Continuity
from judging.report import running
from manifests.assembly import Component
from manifests.objects import Rendered
from models.trees import EMPTY
from models.vocabulary import amount, is_quantity
from planning.ground.recorded import RecordedObject

_INPUTS = "__inputs"
"""Key in the outputs of an object with the fields that the last run sent (pulumi-kubernetes 4.25,
provider/pkg/provider/provider.go, `checkpointObject`)."""
_EMPTY: tuple[object, ...] = (None, {}, [], "")
_AMOUNTS = frozenset({"limits", "overhead", "requests"})
"""Maps whose values are quantities."""
_TEXTS = frozenset({"annotations", "labels", "matchLabels", "nodeSelector"})
"""Maps of texts, in which an empty text is a value."""
_SELECTORS = frozenset({"labelSelector", "namespaceSelector"})
"""Selectors. An empty selector selects everything, and none selects nothing."""
_QUANTITIES = frozenset({"divisor", "sizeLimit"})
"""Fields that are quantities."""
_ZERO_IS_ABSENT = frozenset(
    {
        *("divisor", "failureThreshold", "hostIPC", "hostNetwork", "hostPID", "hostPort", "initialDelaySeconds"),
        *("partition", "periodSeconds", "readOnly", "stdin", "stdinOnce", "successThreshold", "timeoutSeconds", "tty"),
    }
)
"""Fields of a pod whose zero is the same as none (k8s.io/api v0.36.3, core/v1/types.go: numbers and switches that are
no pointers)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A planned object, and the same object in Pulumi's state; None if the state lacks it."""

    planned: Rendered
    recorded: RecordedObject | None


def pairs(components: Iterable[Component], continuity: Continuity) -> Iterator[Pair]:
    """Yield each planned object with its object in the state."""
    known = {recorded.identity: recorded for recorded in continuity.recorded.objects}
    by_urn = {recorded.urn: recorded for recorded in continuity.recorded.objects}
    for component in components:
        for rendered in component.objects:
            recorded = known.get(component.identity(rendered))
            yield Pair(rendered, recorded or by_urn.get(continuity.aliases.get(rendered.id, "")))


def inputs(recorded: RecordedObject) -> Mapping[str, Any]:
    """Return the fields of a recorded workload that the last run sent."""
    return recorded.content.get(_INPUTS, recorded.content)


def pod_fields(kind: str, content: Mapping[str, Any]) -> object:
    """Return the fields of a workload whose change replaces pods; for a LeaderWorkerSet, all templates of a group.

    They are in one form, because the provider records objects as Kubernetes' own types spell them: `0.5` as `500m`, and
    without empty fields (pulumi-kubernetes 4.25, provider/pkg/clients/unstructured.go, `Normalize`).
    """
    if kind == "LeaderWorkerSet":
        spec = content.get("spec", EMPTY)
        return [_normal(spec.get(field)) for field in ("leaderWorkerTemplate", "networkConfig")]
    return _normal(running.template(kind, content))


def _normal(value: object, key: str = "") -> object:
    """Return a tree in one form. `key` is the key of the value in its map."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value).items()
        if key in _TEXTS:
            return {name: item for name, item in fields if item is not None}
        normal = {name: _amount(item) if key in _AMOUNTS else _normal(item, name) for name, item in fields}
        return {name: item for name, item in normal.items() if item not in _EMPTY or _selects_all(name, item)}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in cast("Sequence[Any]", value)]
    normal_value = _amount(value) if key in _QUANTITIES else value
    return None if key in _ZERO_IS_ABSENT and not normal_value else normal_value


def _selects_all(name: str, value: object) -> bool:
    return name in _SELECTORS and value == {}


def _amount(value: object) -> object:
    """Return a quantity as a number; a value that is none unchanged."""
    text = str(value)
    return amount(text) if is_quantity(text) else value
