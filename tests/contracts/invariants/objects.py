"""The objects are those that were asked for and no others, each marked as its owner's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contracts.invariants import metering, monitoring, network, routing, storage
from tests.contracts.invariants.wishes import Wish
from tests.contracts.invariants.world import Place, World, marks, same

SKIPPED = {"pulumi.com/skipAwait": "true"}


def the_service_has_its_objects_and_they_carry_its_marks(world: World) -> Iterator[str]:
    wish = world.wish
    for place, component in _of_a_variant(wish):
        metadata, about = world.get(*place)["metadata"], f"{place[0]} {place[1]}"
        routed = place[:2] == ("Service", wish.base)
        labels = wish.labels | marks(wish.base, component) | (metering.labelled(wish) if routed else {})
        labels |= monitoring.labels(world, place) | routing.labels(wish, place)
        yield from same(f"{about} labels", metadata["labels"], labels)
        annotations = dict(metadata.get("annotations", {}))
        waits = json.loads(annotations.pop("pulumi.com/waitFor", "[]"))
        yield from same(f"{about} is waited for", waits, _waits(wish, place))
        expected = wish.annotations | (SKIPPED if place[0] == "Service" else {}) | monitoring.annotations(wish, place)
        expected |= wish.say("route", "annotations", default={}) if place[0] == "HTTPRoute" else {}
        if routed and metering.labelled(wish):
            expected |= {"inference-stacks.io/service-key": wish.key}
        if place[0] == "InferencePool" and wish.say("endpointPicker", "failureMode") == "FailOpen":
            expected |= {"inference-stacks.io/fail-open-reason": wish.say("endpointPicker", "failOpenReason")}
        yield from same(f"{about} annotations", annotations, expected)


def _waits(wish: Wish, place: Place) -> list[str]:
    """Return what is waited for beside what Pulumi knows by itself; a status of an earlier generation says nothing."""
    ours = "@.observedGeneration==$.metadata.generation"
    if place[0] == "LeaderWorkerSet":
        available = f"jsonpath={{.status.conditions[?(@.type=='Available' && {ours})].status}}=True"
        return [available, f"jsonpath={{$[?({ours} && !(@.replicas>$.spec.replicas))].observedGeneration}}"]
    if place[:2] != ("Deployment", wish.picker) or not wish.elects:
        return []
    counts = {"updatedReplicas": wish.pickers, "replicas": wish.pickers, "readyReplicas": 1}
    counted = [f"jsonpath={{.status.{name}}}={count}" for name, count in counts.items()]
    return [f"jsonpath={{$[?({ours})].observedGeneration}}", *counted]


def _of_a_variant(wish: Wish) -> Iterator[tuple[Place, str]]:
    """Yield where every object of a variant is, and what it is a part of."""
    place = wish.namespace
    for role in wish.roles:
        kinds = ["LeaderWorkerSet" if role.pods > 1 else "Deployment"]
        kinds += ["ResourceClaimTemplate"] if role.claim is not None else []
        if role.most > 1 and role.say("disruptionBudget", "enabled", default=True):
            kinds.append("PodDisruptionBudget")
        if role.scaling is not None:
            kinds.append("ScaledObject" if role.scaling["type"] == "keda" else "HorizontalPodAutoscaler")
        yield from (((kind, role.workload, place), "model-server") for kind in kinds)
    rights = ("ServiceAccount", "Role", "RoleBinding")
    if wish.apart:
        own = rights[1:] if wish.say("pod", "serviceAccountName") else rights
        yield from (((kind, f"{wish.pool}-decode", place), "model-server") for kind in own)
    yield ("Service", wish.base, place), "model-server"
    yield from _of_a_picker(wish) if wish.picked else ()
    yield from monitoring.places(wish)
    yield from network.places(wish)
    yield from ((place, "route") for place in routing.places(wish))


def _of_a_picker(wish: Wish) -> Iterator[tuple[Place, str]]:
    """Yield where a picker's objects are, which have its pool beside them."""
    picker, place, rights = wish.picker, wish.namespace, ("ServiceAccount", "Role", "RoleBinding")
    yield from (((kind, picker, place), "endpoint-picker") for kind in (*rights, "ConfigMap", "Service", "Deployment"))
    yield ("InferencePool", wish.pool, place), "endpoint-picker"
    if wish.say("endpointPicker", "metricsAuth", default=True):
        yield ("ClusterRoleBinding", f"inference-stacks:{place}:{picker}", None), "endpoint-picker"
    if wish.provider == "istio" and wish.picker_tls["type"] != "none":
        yield ("DestinationRule", picker, place), "endpoint-picker"


def nothing_else_is_made(stack: Mapping[str, Any], every: Sequence[Wish], index: Mapping[Place, Any]) -> Iterator[str]:
    """Compare what a whole stack has with what all its services, its namespaces and its interceptor need."""
    expected = {place for wish in every for place, _ in _of_a_variant(wish)}
    kept = [owner for wish in every if (owner := storage.of_variant(wish)) is not None]
    expected |= {place for owner in [*kept, *storage.caches(stack)] for place in storage.places(owner)}
    if stack.get("namespaceOptions", {}).get("create"):
        expected |= {("Namespace", wish.namespace, None) for wish in every}
        expected |= {("Namespace", owner.namespace, None) for owner in storage.caches(stack)}
        spec = stack.get("interceptor", {})
        expected |= {("Namespace", spec["namespace"], None)} if "deploy" in spec else set()
    expected |= {*metering.readers(stack, every), *metering.deployed(stack, every)}
    yield from same("objects", sorted(map(str, index)), sorted(map(str, expected)))


def namespaces_are_restricted(stack: Mapping[str, Any], index: Mapping[Place, Any]) -> Iterator[str]:
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    for (kind, name, _), one in index.items():
        if kind == "Namespace":
            labels = stack.get("labels", {}) | marks(name, "namespace") | restricted
            yield from same(f"Namespace {name} labels", one["metadata"]["labels"], labels)
