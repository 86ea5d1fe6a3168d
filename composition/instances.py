"""Conflicts between the inference stacks of one Pulumi stack.

All inference stacks of a Pulumi stack set the same mark, so the mark of an object in the cluster does not show which
inference stack made the object.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from composition.results import Composition
from models.paths import Path
from models.problems import Problem
from planning.ground import instances, parts
from planning.ground.instances import Instance
from planning.ground.recorded import RecordedIdentity
from planning.routes import collisions


@dataclass(frozen=True, slots=True)
class Sibling:
    """An inference stack of a program, with its composition and its cluster."""

    instance: Instance
    composition: Composition
    cluster: str
    """Identifier of the cluster, by which the provider distinguishes clusters (`cluster_identifier`)."""


def problems(new: Sibling, earlier: Iterable[Sibling]) -> list[Problem]:
    """Return the conflicts of an inference stack with earlier inference stacks of the same program.

    Two inference stacks conflict if they share a name in Pulumi's state, make the same object, or claim the same
    requests.
    """
    siblings = list(earlier)
    neighbours = [sibling for sibling in siblings if sibling.cluster == new.cluster]
    routes = {sibling.instance.path: sibling.composition.plan.routes for sibling in neighbours}
    return [
        *(problem for sibling in siblings for problem in _shared_names(new, sibling)),
        *(problem for sibling in neighbours for problem in _shared_objects(new, sibling)),
        *collisions.between(new.composition.plan.routes, routes),
    ]


def _shared_names(new: Sibling, other: Sibling) -> Iterator[Problem]:
    """Yield a problem if two inference stacks share a name in the state."""
    taken = set(_identities(other))
    shared = next((identity for identity in _identities(new) if identity in taken), None)
    if shared is not None:
        what = f"would share names of resources with inference stack {other.instance.name} ({shared.name})"
        yield Problem(Path(), what, "choose another name for one of the two inference stacks")


def _identities(sibling: Sibling) -> Iterator[RecordedIdentity]:
    """Yield the identities of the resources of an inference stack in the state."""
    yield RecordedIdentity("", instances.TYPE, sibling.instance.name)
    yield RecordedIdentity("", instances.PROVIDER_TYPE, sibling.instance.provider_name)
    for component in sibling.composition.components:
        type_and_name = component.resource
        if type_and_name is not None:
            yield RecordedIdentity("", *type_and_name)
        for rendered in component.objects:
            yield component.identity(rendered)


def _shared_objects(new: Sibling, other: Sibling) -> Iterator[Problem]:
    """Yield a problem for each pair of owners that would make the same object in two inference stacks."""
    taken = {rendered.place: rendered for rendered in other.composition.objects}
    reported = set[tuple[Path, Path]]()
    for rendered in new.composition.objects:
        if rendered.place in taken:
            at = new.composition.plan.section(rendered.id)
            holder = Path(*other.instance.path, *other.composition.plan.section(taken[rendered.place].id))
            if (at, holder) not in reported:
                reported.add((at, holder))
                _, kind, *name = rendered.place
                what = f"would make the same object as {holder} ({kind} {'/'.join(filter(None, name))})"
                field = "namespace" if rendered.id.part is parts.NAMESPACE else "name or namespace"
                yield Problem(at, what, f"choose another {field} for one of them")
