"""Check of object names: whether the cluster has objects with the names of a stack's objects, and who owns them.

Neither a preview nor a server-side dry run finds such objects, and a run takes them over without a word
(`upsertExistingObjects` of `components/provider.py`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from manifests.assembly import Component
from manifests.objects import resource_type
from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, gap, warning
from planning.ground import instances
from planning.ground.cluster_facts import LiveObjects, Place, Unknown
from planning.ground.instances import MAIN, Instance
from planning.ground.marks import Identity, Mark, StackName, Verdict

_CLAIM = "PersistentVolumeClaim"
UNREAD = frozenset({"Namespace", "Secret"})
"""Kinds whose marks this check does not read.

`judging.preflight.namespaces` checks namespaces. Secrets are not listed, because the right to list Secrets is also a
right to read their values. The owner of a stack's Secret follows from the service account of the same name.
"""
_CHECK = "whether existing objects belong to other stacks"


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object of a stack, with its identity in the cluster and in Pulumi's state."""

    place: Place
    type: str
    """Type of the resource, such as `kubernetes:apps/v1:Deployment`."""
    logical_name: str
    component: tuple[str, str] | None
    """Type and logical name of the component that contains the object. None if the inference stack contains the object
    directly."""

    @property
    def path(self) -> Path:
        """Return kind, namespace and name, as a path in messages."""
        return Path(f"{self.place[1]} {'/'.join(filter(None, self.place[2:]))}")


def of_components(components: Iterable[Component]) -> Iterator[NamedObject]:
    """Yield the objects whose marks this check reads."""
    for component in components:
        for rendered in component.objects:
            if rendered.manifest["kind"] not in UNREAD:
                yield NamedObject(
                    rendered.place,
                    resource_type(rendered.manifest),
                    f"{component.name}-{rendered.suffix}",
                    component.resource,
                )


def judge(
    objects: Iterable[NamedObject],
    live: LiveObjects | Unknown,
    identity: Identity,
    mode: Mode,
    instance: Instance = MAIN,
) -> list[Problem]:
    """Return the problems of objects whose names are taken in the cluster.

    An object of another stack is an error, or a warning if `mode` is `warn`. An object from a version of this program
    that wrote no marks is a warning. An object of somebody else is a warning, too, because this stack may have imported
    it. If the objects of the cluster are unknown, the result is one warning.
    """
    if mode == "skip":
        return []
    if isinstance(live, Unknown):
        return [gap(Path(), _CHECK, live.reason)]
    taken = [(named, live.marks[named.place]) for named in objects if named.place in live.marks]
    verdicts = [(named, mark, identity.verdict(mark)) for named, mark in taken]
    return [
        *(
            Problem(named.path, f"belongs to stack {mark.owner}", _way_out(mark), severity=SEVERITIES[mode])
            for named, mark, verdict in verdicts
            if verdict is Verdict.ANOTHER
        ),
        *_unmarked_warning([named for named, _, verdict in verdicts if _gets_mark(named, verdict)], identity.name),
        *(_foreign(named, identity.name, instance) for named, _, verdict in verdicts if verdict is Verdict.FOREIGN),
        *_unchecked_kinds(live),
    ]


def _gets_mark(named: NamedObject, verdict: Verdict) -> bool:
    """Tell whether a run adds the mark to an object without a mark.

    An existing Job never gets a mark, because updates ignore the metadata of Jobs.
    """
    return verdict is Verdict.UNMARKED and named.place[1] != "Job"


def _way_out(mark: Mark) -> str:
    earlier = "project/stack"
    if mark.stack is not None:
        earlier = mark.stack
    return f"choose another name or namespace, or write formerly: [{earlier}] if this stack had that name"


def _unmarked_warning(objects: list[NamedObject], name: StackName) -> Iterator[Problem]:
    if not objects:
        return
    others = len(objects) - 1
    further = ""
    if others:
        further = f" and {others} further object{'' if others == 1 else 's'}"
    what = f"objects without a mark get the mark of {name}: {objects[0].path}{further}"
    yield warning(Path(), what, "make sure that no other stack deploys them")


def _foreign(named: NamedObject, name: StackName, instance: Instance) -> Problem:
    what = "exists without the mark of a stack; unless this stack imported it, a run overwrites it or fails"
    if named.place[1] == _CLAIM:
        # The remedy is no import: a run would replace an imported claim, because the rendered manifest names no volume.
        # The claim's data would be lost.
        return warning(named.path, what, f"choose another name, or use this claim: storage.claimName: {named.place[3]}")
    remedy = f"choose another name, or adopt it (then look at a preview): {import_command(named, name, instance)}"
    return warning(named.path, what, remedy)


def _unchecked_kinds(live: LiveObjects) -> Iterator[Problem]:
    if live.unchecked:
        yield gap(Path(), _CHECK, "the API server refused to list them", live.unchecked)


def import_command(named: NamedObject, name: StackName, instance: Instance = MAIN) -> str:
    """Return the command that adopts an object into Pulumi's state. A run then updates the object as planned."""
    *_, namespace, object_name = named.place
    identifier = object_name
    if namespace:
        identifier = f"{namespace}/{object_name}"
    urn = f"urn:pulumi:{name.stack}::{name.project}::{instances.TYPE}"
    parent = instance.name
    urn_of_parent = f"{urn}::{instance.name}"
    if named.component is not None:
        component_type, parent = named.component
        urn_of_parent = f"{urn}${component_type}::{parent}"
    provider = f"{urn}${instances.PROVIDER_TYPE}::{instance.provider_name}"
    target = f"{named.type} {named.logical_name} {identifier}"
    # Without the quotes, a shell would replace the text after each dollar sign.
    return f"pulumi import {target} --parent '{parent}={urn_of_parent}' --provider 'cluster={provider}' --protect=false"
