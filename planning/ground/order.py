"""Order in which the objects of a stack are registered, from their ids alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from planning.ground import parts
from planning.ground.parts import Part


class Id(NamedTuple):
    """The identity of an object of a stack; a tuple, because it is looked up twenty times for each object."""

    owner: str
    """Owner of the object: a service or its canary (`planning.variant.context.owner`), a cache or a namespace."""
    part: Part
    which: str = ""
    """Distinguishes the objects of one owner that are the same part; empty if there is only one."""


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations between owners and objects that their order follows from, besides their parts."""

    namespaces: Mapping[str, str]
    """Namespace of each owner's objects; for cluster-scoped objects, the namespace that they serve."""
    weights: Mapping[str, str]
    """Owner of the claim for weights that an owner's pods mount, and of the Job that fills it, by owner of the pods."""
    further_owners: Mapping[Id, tuple[str, ...]]
    """Further owners of an object's predecessors: the same parts of theirs precede it as of its owner."""
    further_predecessors: Mapping[Id, tuple[Id, ...]]
    """Further predecessors of an object, of other owners; those that do not exist are ignored."""


def predecessors(ids: Iterable[Id], relations: Relations) -> dict[Id, tuple[Id, ...]]:
    """Return the predecessors of each object of a stack.

    If a part does not exist, its own predecessors take its place.
    """
    existing = dict[_Place, list[Id]]()
    for identity in ids:
        existing.setdefault((identity.owner, identity.part), []).append(identity)
    order = _Order(existing, relations, {})
    return {identity: order.before(identity) for identities in existing.values() for identity in identities}


_Place = tuple[str, Part]
"""An owner and one of its parts."""


@dataclass(frozen=True, slots=True)
class _Order:
    """The objects of a stack, and a cache of the predecessors of each place."""

    existing: Mapping[_Place, list[Id]]
    relations: Relations
    cache: dict[tuple[str, _Place], tuple[Id, ...]]

    def before(self, identity: Id) -> tuple[Id, ...]:
        """Return the predecessors of an object."""
        namespace = self.relations.namespaces.get(identity.owner, "")
        owners = (identity.owner, *self.relations.further_owners.get(identity, ()))
        found = [before for owner in owners for before in self._predecessors(namespace, (owner, identity.part))]
        for other in self.relations.further_predecessors.get(identity, ()):
            found += (before for before in self.existing.get((other.owner, other.part), ()) if before == other)
        return tuple(dict.fromkeys(found))

    def _predecessors(self, namespace: str, place: _Place) -> tuple[Id, ...]:
        """Return the predecessors of all objects at a place, whose owner's namespace is `namespace`."""
        found = self.cache.get((namespace, place))
        if found is None:
            owner, part = place
            places = [(self._owner(namespace, owner, before), before) for before in part.after]
            ids = (before for at in places for before in self.existing.get(at) or self._predecessors(namespace, at))
            found = self.cache[namespace, place] = tuple(dict.fromkeys(ids))
        return found

    def _owner(self, namespace: str, owner: str, part: Part) -> str:
        """Return the owner of a part that the objects of `owner` need."""
        if part == parts.NAMESPACE:
            return namespace
        return self.relations.weights.get(owner, owner) if part == parts.FILL else owner
