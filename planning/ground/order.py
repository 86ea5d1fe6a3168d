"""Order in which a stack's objects are registered. It follows from the objects' ids and relations between owners."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from planning.ground import parts
from planning.ground.parts import Part


@dataclass(frozen=True, slots=True)
class Id:
    """The identity of an object of a stack."""

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
    order = _Order({}, relations)
    for identity in ids:
        order.existing.setdefault((identity.owner, identity.part), []).append(identity)
    return {
        identity: tuple(dict.fromkeys(order.predecessors(identity)))
        for identities in order.existing.values()
        for identity in identities
    }


@dataclass(frozen=True, slots=True)
class _Order:
    """The objects of a stack, and the relations between their owners."""

    existing: dict[tuple[str, Part], list[Id]]
    """Objects by owner and part."""
    relations: Relations

    def predecessors(self, identity: Id) -> Iterator[Id]:
        """Yield the predecessors of an object. Some come twice."""
        namespace = self.relations.namespaces.get(identity.owner, "")
        for owner in (identity.owner, *self.relations.further_owners.get(identity, ())):
            yield from self._before(namespace, owner, identity.part)
        for other in self.relations.further_predecessors.get(identity, ()):
            if other in self.existing.get((other.owner, other.part), ()):
                yield other

    def _before(self, namespace: str, owner: str, part: Part) -> Iterator[Id]:
        """Yield the objects that precede an object of `owner` and `part` in `namespace`."""
        for earlier in part.after:
            earlier_owner = owner
            if earlier is parts.NAMESPACE:
                earlier_owner = namespace
            elif earlier is parts.FILL:
                earlier_owner = self.relations.weights.get(owner, owner)
            objects = self.existing.get((earlier_owner, earlier))
            if objects is None:
                yield from self._before(namespace, earlier_owner, earlier)
            else:
                yield from objects
