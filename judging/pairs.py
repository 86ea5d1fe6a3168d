"""Planned objects beside the same objects of Pulumi's state, and what of a workload replaces its pods."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judging.losses.continuity import Continuity
from judging.report import running
from manifests.assembly import Component
from manifests.objects import Rendered
from models.trees import EMPTY
from planning.ground.recorded import RecordedObject

_INPUTS = "__inputs"
"""Key in the outputs of an object with the fields that the last run sent (pulumi-kubernetes 4.25,
provider/pkg/provider/provider.go, `checkpointObject`)."""


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
    """Return the fields of a workload whose change replaces pods; for a LeaderWorkerSet, all templates of a group."""
    if kind == "LeaderWorkerSet":
        spec = content.get("spec", EMPTY)
        return [spec.get(field) for field in ("leaderWorkerTemplate", "networkConfig")]
    return running.template(kind, content)
