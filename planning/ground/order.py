"""What is registered after what, from the identities of a stack's objects."""

from collections.abc import Iterable, Iterator, Mapping
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
    made = dict[tuple[str, Part], list[Id]]()
    for identity in ids:
        made.setdefault((identity.owner, identity.part), []).append(identity)
    everything = [identity for identities in made.values() for identity in identities]
    return {identity: tuple(dict.fromkeys(_before(identity, made, relations))) for identity in everything}


def _before(identity: Id, made: Mapping[tuple[str, Part], list[Id]], relations: Relations) -> Iterator[Id]:
    """Yield the objects that exist before one, some of them more than once."""
    namespace = relations.namespaces.get(identity.owner, "")

    def predecessors(owner: str, part: Part) -> Iterator[Id]:
        for needed in part.after:
            whose = {parts.NAMESPACE: namespace, parts.FILL: relations.weights.get(owner, owner)}.get(needed, owner)
            yield from made.get((whose, needed)) or predecessors(whose, needed)

    for owner in (identity.owner, *relations.beside.get(identity, ())):
        yield from predecessors(owner, identity.part)
    for other in relations.others.get(identity, ()):
        yield from (found for found in made.get((other.owner, other.part), ()) if found == other)
