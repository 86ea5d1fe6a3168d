"""Matching of planned objects with objects of Pulumi's state, so that no object is lost by a logical name.

Pulumi identifies an object by its URN, which contains logical names. If the URN of an object changes, a run creates the
object, which takes over the existing object, and then deletes the object under its former URN. An alias with the former
URN prevents that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from planning.ground.cluster_facts import LiveObjects, Place, Unknown
from planning.ground.instances import PROVIDER_TYPE
from planning.ground.recorded import Recorded, RecordedIdentity, RecordedObject, identity


@dataclass(frozen=True, slots=True)
class PlannedObject:
    """An object of an inference stack, with its identity in Pulumi's state and its place in the cluster."""

    identity: RecordedIdentity
    place: Place


@dataclass(frozen=True, slots=True)
class Matches:
    """Objects of Pulumi's state that are planned, by their planned identity."""

    places: Mapping[RecordedIdentity, Place]
    """Place of each planned object."""
    by_identity: Mapping[RecordedIdentity, RecordedObject]
    """Objects that keep their identity in the state. Their place in the cluster may be another one."""
    by_place: Mapping[RecordedIdentity, RecordedObject]
    """Objects that keep their place in the cluster, and get another identity in the state."""

    @property
    def staying(self) -> frozenset[str]:
        """Return the URNs of the objects that keep their place in the cluster."""
        unmoved = (
            state_object.urn
            for name, state_object in self.by_identity.items()
            if self.places[name] == state_object.place
        )
        return frozenset((*unmoved, *(state_object.urn for state_object in self.by_place.values())))


def match(planned: Iterable[PlannedObject], recorded: Recorded) -> Matches:
    """Match planned objects with objects of the state: by their identity, or else by their place."""
    places = {planned_object.identity: planned_object.place for planned_object in planned}
    known = {state_object.identity: state_object for state_object in recorded.objects}
    others = {
        state_object.place: state_object for state_object in recorded.objects if state_object.identity not in places
    }
    return Matches(
        places,
        {name: known[name] for name in places if name in known},
        {name: others[place] for name, place in places.items() if name not in known and place in others},
    )


def in_cluster(matches: Matches, live: LiveObjects | Unknown) -> Matches:
    """Return the matches without objects of another cluster.

    Objects that match by place belong to another cluster if this cluster has none of them.
    """
    if isinstance(live, Unknown) or not any(is_live(state_object, live) for state_object in matches.by_place.values()):
        return replace(matches, by_place={})
    return matches


def is_live(state_object: RecordedObject, live: LiveObjects) -> bool:
    """Tell whether an object of the state exists in the cluster: whether the object at its place has the same UID."""
    current = live.objects.get(state_object.place)
    return current is not None and current.content["metadata"].get("uid") == state_object.uid


def provider_alias(matches: Matches, recorded: Recorded, name: str, prefix: str) -> str | None:
    """Return the former URN of the provider called `name`; None if the state has no such provider.

    If the state has no provider of this name, the objects that match by place show the former prefix of logical names.
    `prefix` is the present one.
    """
    urns = {identity(urn).name: urn for urn in recorded.providers if identity(urn).type == PROVIDER_TYPE}
    if name in urns:
        return urns[name]
    for planned, state_object in matches.by_place.items():
        tail = planned.name.removeprefix(prefix)
        former = state_object.identity.name
        if former.endswith(tail):
            return urns.get(former.removesuffix(tail) + name.removeprefix(prefix))
    return None
