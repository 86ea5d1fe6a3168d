"""Order in which the objects of a stack are registered. It follows from their ids and the relations of their owners."""

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
    qualifier: str = ""
    """Name that tells objects of the same owner and part from each other; empty if there is only one."""


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations between owners, which decide the order together with the parts."""

    namespaces: Mapping[str, str]
    """Namespace of each owner's objects; for cluster-scoped objects, the namespace that they serve."""
    weights: Mapping[str, str]
    """By owner of pods: the owner of the weights claim that those pods mount, and of its fill Job."""
    further_owners: Mapping[Id, tuple[str, ...]]
    """By object: other owners whose objects must also come first.

    They are of the same parts as for the object's own owner: a route also follows its canary's pool.
    """
    further_predecessors: Mapping[Id, tuple[Id, ...]]
    """By object: single objects of other owners that must also come first. Those that do not exist are ignored."""


def predecessors(ids: Iterable[Id], relations: Relations) -> dict[Id, tuple[Id, ...]]:
    """Return the predecessors of each object of a stack.

    If a part does not exist, its own predecessors take its place.
    """
    existing = dict[_OwnerPart, list[Id]]()
    for identity in ids:
        existing.setdefault((identity.owner, identity.part), []).append(identity)
    finder = _PredecessorFinder(existing, relations, {})
    return {identity: finder.predecessors(identity) for identities in existing.values() for identity in identities}


_OwnerPart = tuple[str, Part]
"""An owner and one of its parts."""


@dataclass(frozen=True, slots=True)
class _PredecessorFinder:
    """Search for predecessors among the objects of a stack."""

    existing: Mapping[_OwnerPart, list[Id]]
    relations: Relations
    cache: dict[tuple[str, _OwnerPart], tuple[Id, ...]]
    """Predecessors by namespace, owner and part."""

    def predecessors(self, identity: Id) -> tuple[Id, ...]:
        """Return the predecessors of an object."""
        namespace = self.relations.namespaces.get(identity.owner, "")
        further_owners = self.relations.further_owners.get(identity, ())
        further_predecessors = self.relations.further_predecessors.get(identity, ())
        found = self._predecessors_of(namespace, (identity.owner, identity.part))
        if not further_owners and not further_predecessors:
            return found
        ids = [*found]
        for owner in further_owners:
            ids += self._predecessors_of(namespace, (owner, identity.part))
        for other in further_predecessors:
            ids += (candidate for candidate in self.existing.get((other.owner, other.part), ()) if candidate == other)
        return tuple(dict.fromkeys(ids))

    def _predecessors_of(self, namespace: str, owner_part: _OwnerPart) -> tuple[Id, ...]:
        """Return the predecessors of an owner's objects of one part, for an object in `namespace`."""
        found = self.cache.get((namespace, owner_part))
        if found is None:
            owner, part = owner_part
            ids = dict[Id, None]()
            for earlier_part in part.after:
                earlier = (self._owner(namespace, owner, earlier_part), earlier_part)
                ids.update(dict.fromkeys(self.existing.get(earlier) or self._predecessors_of(namespace, earlier)))
            found = self.cache[namespace, owner_part] = tuple(ids)
        return found

    def _owner(self, namespace: str, owner: str, part: Part) -> str:
        """Return the owner of the objects of `part` that precede those of `owner`."""
        if part is parts.NAMESPACE:
            return namespace
        return self.relations.weights.get(owner, owner) if part is parts.FILL else owner
