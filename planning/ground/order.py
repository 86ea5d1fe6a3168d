"""Order in which a stack's objects are registered. It follows from the objects' ids and relations between owners."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from planning.ground import parts
from planning.ground.parts import Part


class Id(NamedTuple):
    """The identity of an object of a stack. It is a tuple for speed: each identity is looked up about twenty times."""

    owner: str
    """Owner of the object: a service or its canary (`planning.variant.context.owner`), a cache or a namespace."""
    part: Part
    qualifier: str = ""
    """Name that distinguishes objects of the same owner and part; empty if there is only one object."""


@dataclass(frozen=True, slots=True)
class Relations:
    """Relations between owners, which decide the order together with the parts."""

    namespaces: Mapping[str, str]
    """Namespace of each owner's objects; for cluster-scoped objects, the namespace that they serve."""
    weights: Mapping[str, str]
    """Owner of the weights claim and of its fill Job, by owner of the pods that mount the claim."""
    further_owners: Mapping[Id, tuple[str, ...]]
    """By object: further owners whose objects precede the object.

    The object is placed as if each further owner owned it, too. A route, for example, follows the pool of its service's
    primary. With the canary as further owner, the route also follows the canary's pool.
    """
    further_predecessors: Mapping[Id, tuple[Id, ...]]
    """By object: single objects of other owners that precede the object. Objects that do not exist are ignored."""


def predecessors(ids: Iterable[Id], relations: Relations) -> dict[Id, tuple[Id, ...]]:
    """Return the predecessors of each object of a stack.

    If a preceding part has no object, the predecessors of the preceding part precede the object instead.
    """
    existing = dict[tuple[str, Part], list[Id]]()
    owned_parts = dict[str, set[Part]]()
    for identity in ids:
        existing.setdefault((identity.owner, identity.part), []).append(identity)
        owned_parts.setdefault(identity.owner, set()).add(identity.part)
    finder = _PredecessorFinder(
        existing, {owner: frozenset(found) for owner, found in owned_parts.items()}, relations, {}, {}
    )
    return {identity: finder.predecessors(identity) for identities in existing.values() for identity in identities}


class _Side(IntEnum):
    """Relation of a predecessor's owner to the object that follows. Values are indexes of `_Surroundings.owners`."""

    OWNER = 0
    WEIGHTS = 1
    NAMESPACE = 2


class _Parts(NamedTuple):
    """Existing parts of the owners in `_Surroundings`. The order of their objects follows from these parts alone.

    Most services have the same parts, so their order is computed only once.
    """

    owner: frozenset[Part]
    weights: frozenset[Part] | None
    """Parts of the owner of the weights claim. None if the object's owner owns the claim, or if no claim is mounted."""
    namespace: frozenset[Part]


class _Surroundings(NamedTuple):
    """The owners whose parts may precede an owner's objects."""

    owners: tuple[str, str, str]
    parts: _Parts
    earlier: dict[Part, tuple[tuple[_Side, Part], ...]]
    """Results of `_earlier` so far, by the part that follows. Owners whose `parts` are equal share this dict."""


@dataclass(frozen=True, slots=True)
class _PredecessorFinder:
    """Search for predecessors among the objects of a stack."""

    existing: Mapping[tuple[str, Part], list[Id]]
    owned_parts: Mapping[str, frozenset[Part]]
    relations: Relations
    surroundings: dict[tuple[str, str], _Surroundings]
    """Surroundings found so far, by namespace and owner."""
    earlier: dict[_Parts, dict[Part, tuple[tuple[_Side, Part], ...]]]
    """Results of `_earlier` so far, by the parts of the surroundings."""

    def predecessors(self, identity: Id) -> tuple[Id, ...]:
        """Return the predecessors of an object."""
        namespace = self.relations.namespaces.get(identity.owner, "")
        further_owners = self.relations.further_owners.get(identity, ())
        further_predecessors = self.relations.further_predecessors.get(identity, ())
        found = self._predecessors_of(namespace, identity.owner, identity.part)
        if not further_owners and not further_predecessors:
            return tuple(found)
        for owner in further_owners:
            found += self._predecessors_of(namespace, owner, identity.part)
        for other in further_predecessors:
            found += (candidate for candidate in self.existing.get((other.owner, other.part), ()) if candidate == other)
        return tuple(dict.fromkeys(found))

    def _predecessors_of(self, namespace: str, owner: str, part: Part) -> list[Id]:
        """Return the objects that precede an object of `owner` and `part` in `namespace`."""
        owners, around, known = self.surroundings.get((namespace, owner)) or self._look_around(namespace, owner)
        earlier_parts = known.get(part)
        if earlier_parts is None:
            earlier_parts = known[part] = tuple(dict.fromkeys(_earlier(part, _Side.OWNER, around)))
        existing = self.existing
        return [identity for side, earlier in earlier_parts for identity in existing[owners[side], earlier]]

    def _look_around(self, namespace: str, owner: str) -> _Surroundings:
        weights_owner = self.relations.weights.get(owner, owner)
        none = frozenset[Part]()
        around = _Parts(
            self.owned_parts.get(owner, none),
            None if weights_owner == owner else self.owned_parts.get(weights_owner, none),
            self.owned_parts.get(namespace, none) & {parts.NAMESPACE},
        )
        known = self.earlier.setdefault(around, {})
        found = self.surroundings[namespace, owner] = _Surroundings((owner, weights_owner, namespace), around, known)
        return found


def _earlier(part: Part, side: _Side, around: _Parts) -> Iterator[tuple[_Side, Part]]:
    """Yield the existing parts that precede a part. For a missing part, yield its predecessors instead."""
    for earlier in part.after:
        earlier_side = side
        if earlier is parts.NAMESPACE:
            earlier_side = _Side.NAMESPACE
        elif earlier is parts.FILL and around.weights is not None:
            earlier_side = _Side.WEIGHTS
        if earlier in (around[earlier_side] or ()):
            yield earlier_side, earlier
        else:
            yield from _earlier(earlier, earlier_side, around)
