"""What is registered after what, from the identities of a stack's objects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planning.ground import parts
from planning.ground.parts import Part


@dataclass(frozen=True, slots=True)
class Id:
    """One object of a stack: whose it is (a service's key, a cache or a namespace) and which part."""

    owner: str
    part: Part
    which: str = ""
    """Of several that are the same part."""


@dataclass(frozen=True, slots=True)
class Relations:
    """What the order of a stack's objects follows from besides their parts."""

    namespaces: Mapping[str, str]
    """The namespace of each owner's objects; of cluster-scoped ones, the namespace that they are about."""
    weights: Mapping[str, str]
    """The owner of the Job that fills the claim that an owner's pods mount."""
    beside: Mapping[Id, tuple[str, ...]]
    """Further owners, before an object of which the same parts exist as of its own owner."""
    others: Mapping[Id, tuple[Id, ...]]
    """Objects of other owners that exist before an object, where they are made."""


def after(ids: Iterable[Id], relations: Relations) -> dict[Id, tuple[Id, ...]]:
    """Return for each object of a stack those that exist before it; for a part that is not made, its predecessors."""
    made = dict[_Place, list[Id]]()
    for identity in ids:
        made.setdefault((identity.owner, identity.part), []).append(identity)
    order = _Order(made, relations, {})
    return {identity: order.before(identity) for identities in made.values() for identity in identities}


_Place = tuple[str, Part]
"""A part of an owner."""


@dataclass(frozen=True, slots=True)
class _Order:
    """The objects of a stack, and what is known of what exists before each part."""

    made: Mapping[_Place, list[Id]]
    relations: Relations
    known: dict[tuple[str, _Place], tuple[Id, ...]]

    def before(self, identity: Id) -> tuple[Id, ...]:
        """Return the objects that exist before one."""
        namespace = self.relations.namespaces.get(identity.owner, "")
        owners = (identity.owner, *self.relations.beside.get(identity, ()))
        found = [each for owner in owners for each in self._predecessors(namespace, (owner, identity.part))]
        for other in self.relations.others.get(identity, ()):
            found += (each for each in self.made.get((other.owner, other.part), ()) if each == other)
        return tuple(dict.fromkeys(found))

    def _predecessors(self, namespace: str, place: _Place) -> tuple[Id, ...]:
        """Return the objects that exist before a part of an owner whose objects are in a namespace."""
        known = self.known.get((namespace, place))
        if known is None:
            owner, part = place
            needed = [(self._owner(namespace, owner, each), each) for each in part.after]
            found = (each for at in needed for each in self.made.get(at) or self._predecessors(namespace, at))
            known = self.known[namespace, place] = tuple(dict.fromkeys(found))
        return known

    def _owner(self, namespace: str, owner: str, part: Part) -> str:
        """Return whose object the part is that an owner's objects need."""
        if part == parts.NAMESPACE:
            return namespace
        return self.relations.weights.get(owner, owner) if part == parts.FILL else owner
