"""Services that a run restarts, by comparison with Pulumi's state, and the order in which it restarts them.

An object that waits for its turn depends on objects of another service. No object shows this: a dependency is an option
of a resource, so it makes no difference between the state and the program.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judging import additions
from judging.losses.continuity import Continuity
from judging.pairs import Pair, inputs, pairs, pod_fields
from manifests.assembly import Component, objects
from manifests.objects import Rendered
from models.trees import EMPTY
from models.upgrades import Upgrades
from planning.ground import parts, turns
from planning.ground.cluster_facts import LiveObjects, Unknown
from planning.ground.order import Id
from planning.ground.turns import SIDE_BY_SIDE, Turns
from planning.plans import ServicePlan, StackPlan, VariantPlan

_SERVING = frozenset(parts.WORKLOADS)
_AWAITED = _SERVING | {parts.PICKER}
"""Parts with pods. A service is ready when all its objects of these parts are."""


def order(
    components: Iterable[Component],
    plan: StackPlan,
    continuity: Continuity,
    live: LiveObjects | Unknown,
    upgrades: Upgrades | None,
) -> Turns:
    """Return the turns of the services that a run restarts.

    If Pulumi's state is unknown, every service gets a turn.
    """
    if upgrades is None:
        return SIDE_BY_SIDE
    if continuity.owner is None:
        return turns.of([service.key for service in plan.services], upgrades)
    of_owner = dict[str, list[Pair]]()
    for pair in pairs(components, continuity):
        of_owner.setdefault(pair.planned.id.owner, []).append(pair)
    restarting = [
        service.key
        for service in plan.services
        if any(_restarts(of_owner.get(variant.owner, ()), live) for variant in service.variants)
    ]
    return turns.of(restarting, upgrades)


def chain(components: tuple[Component, ...], plan: StackPlan, run_turns: Turns) -> tuple[Component, ...]:
    """Return the components; the objects of each service come after those for whose pods the service waits.

    The components of services are in the order of the turns, because an object is registered after those that it
    depends on.
    """
    predecessors = run_turns.predecessors
    if not predecessors:
        return components
    awaited = _objects_with_pods(components, plan)
    waiting = list[Component]()
    for component in components:
        earlier = predecessors.get(_service(component), ())
        waiting.append(_after(component, [object_id for key in earlier for object_id in awaited.get(key, ())]))
    places = {key: place for place, key in enumerate(run_turns.services)}
    slots = [place for place, component in enumerate(waiting) if _service(component)]
    in_turn = sorted((waiting[slot] for slot in slots), key=lambda component: places.get(_service(component), -1))
    for slot, component in zip(slots, in_turn, strict=True):
        waiting[slot] = component
    return tuple(waiting)


def _service(component: Component) -> str:
    """Return the key of the service to which all objects of a component belong; empty if there is none."""
    match component.of:
        case ServicePlan(key=key) | VariantPlan(key=key):
            return key
        case _:
            return ""


def _after(component: Component, earlier: Sequence[Id]) -> Component:
    if not earlier:
        return component
    later = (replace(rendered, after=(*rendered.after, *earlier)) for rendered in component.objects)
    return replace(component, objects=tuple(later))


def _objects_with_pods(components: Iterable[Component], plan: StackPlan) -> dict[str, tuple[Id, ...]]:
    """Return the objects with pods of each service, by key."""
    keys = {variant.owner: service.key for service in plan.services for variant in service.variants}
    awaited = dict[str, tuple[Id, ...]]()
    for rendered in objects(components):
        if rendered.id.part in _AWAITED and rendered.id.owner in keys:
            key = keys[rendered.id.owner]
            awaited[key] = (*awaited.get(key, ()), rendered.id)
    return awaited


def _restarts(of_variant: Iterable[Pair], live: LiveObjects | Unknown) -> bool:
    """Tell whether a run replaces pods of a variant. `of_variant` are the variant's objects.

    A variant of which the state has no object is new. A variant that exists gets new pods if a workload is new, too:
    its pods have another generation or kind.
    """
    variant = [*of_variant]
    if not any(pair.recorded for pair in variant):
        return False
    with_pods = (pair for pair in variant if pair.planned.id.part in _AWAITED)
    return any(_replaces_pods(pair, live) for pair in with_pods)


def _replaces_pods(pair: Pair, live: LiveObjects | Unknown) -> bool:
    """Tell whether a run replaces the pods of a planned object, or waits for pods that an earlier run left unready."""
    planned = pair.planned
    if pair.recorded is None:
        return planned.id.part in _SERVING
    content = pair.recorded.content
    kind = planned.place[1]
    return (
        pair.recorded.place != planned.place
        or pod_fields(kind, inputs(pair.recorded)) != pod_fields(kind, planned.manifest)
        or not _is_ready(planned, content)
        or _has_additions(planned, live)
    )


def _is_ready(planned: Rendered, content: Mapping[str, Any]) -> bool:
    """Tell whether the recorded pods are of the recorded spec and ready. Of pickers that elect a leader, one is."""
    status = content.get("status", EMPTY)
    replicas = content.get("spec", EMPTY).get("replicas", 1)
    expected = replicas
    if planned.id.part is parts.PICKER:
        expected = min(1, replicas)
    return status.get("updatedReplicas", 0) >= replicas and status.get("readyReplicas", 0) >= expected


def _has_additions(planned: Rendered, live: LiveObjects | Unknown) -> bool:
    """Tell whether a run takes back what others added to a workload, which may change its pods."""
    if isinstance(live, Unknown):
        return False
    current = live.objects.get(planned.place)
    return current is not None and any(additions.additions(planned.manifest, current))
