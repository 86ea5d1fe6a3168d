"""Comparison of compositions with Pulumi's state: that a run leaves in place what earlier runs deployed."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from judging.causes import Cause
from judging.losses import clusters, matching, takeovers
from judging.losses.matching import Matches, PlannedObject
from manifests.assembly import Component
from models.paths import Path
from models.problems import Problem, gap
from planning.ground.cluster_facts import LiveObjects, Routes, Unknown
from planning.ground.instances import Instance
from planning.ground.marks import Identity as Owner
from planning.ground.order import Id
from planning.ground.recorded import NOTHING_RECORDED, ClusterRecord, Recorded

State = Callable[[], Recorded | Unknown]
"""Function that returns Pulumi's state. It waits until the state has been read."""
_CHECK = "whether this run ends running services"


def nothing_recorded() -> Recorded:
    """Return the state of a run without Pulumi, such as `cli render`."""
    return NOTHING_RECORDED


@dataclass(frozen=True, slots=True)
class Continuity:
    """Relation of an inference stack to Pulumi's state."""

    recorded: Recorded = NOTHING_RECORDED
    aliases: Mapping[Id, str] = field(default_factory=dict[Id, str])
    """Former URNs of the objects whose URNs change."""
    instance_alias: str | None = None
    """URN of the inference stack in the state. It differs from the present one if the inference stack gets another
    parent; the engine then derives the former URNs of all that the inference stack contains."""
    provider_alias: str | None = None
    """URN of the provider in the state."""
    cluster: ClusterRecord | None = None
    """The cluster of this run; None if its UID is unknown, and no earlier run knew one."""
    is_moved: bool = False
    """Whether this run leads to another cluster than earlier runs did."""
    problems: tuple[Problem, ...] = ()
    """Problems of the cluster and of takeovers."""
    used: frozenset[Cause] = frozenset()
    """Causes of which `allow` lets this inference stack pass."""
    owner: Owner | None = None
    """The stack, without earlier names of which it shows that they are names of other stacks. None if nothing was
    compared."""


def compare(  # noqa: PLR0913, PLR0917 - what an inference stack is compared with
    components: Collection[Component],
    state: Recorded | Unknown,
    live: LiveObjects | Unknown,
    routes: Routes | Unknown,
    instance: Instance,
    owner: Owner,
    cluster_name: str,
    allowed: Collection[str],
) -> Continuity:
    """Compare the components of an inference stack with Pulumi's state and with the objects in the cluster.

    `routes` are the HTTPRoutes of all namespaces. `cluster_name` is the name of the cluster of this run. `allowed` are
    the words in `allow`.
    """
    if isinstance(state, Unknown):
        return Continuity(problems=(gap(Path(), _CHECK, state.reason),))
    objects = planned_objects(components)
    matches = matching.in_cluster(matching.match(objects, state), live)
    earlier = state.clusters.get(instance.name)
    provider = matching.provider_alias(matches, state, instance.provider_name, instance.prefix)
    former = earlier or ClusterRecord("", "" if provider is None else state.providers[provider])
    places = {state_object.place for state_object in state.objects}
    of_cluster = clusters.problems(former, matches, live, cluster_name, allowed)
    planned = {planned_object.place for planned_object in objects}
    strangers = takeovers.strangers(planned, places, live, routes, owner)
    taken = [*takeovers.problems(planned, places, live, owner), *takeovers.living(strangers)]
    returned = takeovers.returns(planned, places, live, owner)
    problems = (*of_cluster, *(taken if Cause.TAKEOVER not in allowed else ()), *returned)
    causes = {Cause.CLUSTER: of_cluster, Cause.TAKEOVER: taken}
    used = frozenset(cause for cause, of_cause in causes.items() if of_cause)
    present = _cluster(earlier, live, cluster_name)
    former_urn = state.instances.get(instance.name)
    aliases = _aliases(components, matches)
    names = takeovers.without_living(owner, strangers)
    is_moved = earlier is not None and present != earlier
    return Continuity(state, aliases, former_urn, provider, present, is_moved, problems, used, names)


def planned_objects(components: Iterable[Component]) -> list[PlannedObject]:
    """Return the objects of components with their identities and places."""
    return [
        PlannedObject(component.identity(rendered), rendered.place)
        for component in components
        for rendered in component.objects
    ]


def _aliases(components: Iterable[Component], matches: Matches) -> dict[Id, str]:
    """Return the former URNs of the objects that keep their place, and get another identity."""
    identities = (
        (rendered.id, component.identity(rendered)) for component in components for rendered in component.objects
    )
    return {object_id: matches.by_place[name].urn for object_id, name in identities if name in matches.by_place}


def _cluster(earlier: ClusterRecord | None, live: LiveObjects | Unknown, name: str) -> ClusterRecord | None:
    """Return the record of the cluster of this run. In the same cluster, the first name stays."""
    if isinstance(live, Unknown) or live.cluster is None or (earlier is not None and earlier.uid == live.cluster):
        return earlier
    return ClusterRecord(live.cluster, name)
