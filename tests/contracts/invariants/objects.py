"""The objects are those that were asked for and no others, each marked as its owner's."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contracts.invariants import metering, monitoring, network, routing, storage
from tests.contracts.invariants.variants import Variant
from tests.contracts.invariants.world import Place, World, marks, same

SKIPPED = {"pulumi.com/skipAwait": "true"}


def the_service_has_its_objects_and_they_carry_its_marks(world: World) -> Iterator[str]:
    variant = world.variant
    for place, component in _of_a_variant(variant):
        metadata, about = world.get(*place)["metadata"], f"{place[0]} {place[1]}"
        routed = place[:2] == ("Service", variant.base)
        labels = variant.labels | marks(variant.base, component) | (metering.labelled(variant) if routed else {})
        labels |= monitoring.labels(world, place) | routing.labels(variant, place)
        yield from same(f"{about} labels", metadata["labels"], labels)
        annotations = dict(metadata.get("annotations", {}))
        waits = json.loads(annotations.pop("pulumi.com/waitFor", "[]"))
        yield from same(f"{about} is waited for", waits, _waits(variant, place))
        expected = (
            variant.annotations | (SKIPPED if place[0] == "Service" else {}) | monitoring.annotations(variant, place)
        )
        expected |= variant.say("route", "annotations", default={}) if place[0] == "HTTPRoute" else {}
        if routed and metering.labelled(variant):
            expected |= {"inference-stacks.io/service-key": variant.key}
        if place[0] == "InferencePool" and variant.say("endpointPicker", "failureMode") == "FailOpen":
            expected |= {"inference-stacks.io/fail-open-reason": variant.say("endpointPicker", "failOpenReason")}
        yield from same(f"{about} annotations", annotations, expected)


def _waits(variant: Variant, place: Place) -> list[str]:
    """Return what is waited for beside what Pulumi knows by itself; a status of an earlier generation says nothing."""
    ours = "@.observedGeneration==$.metadata.generation"
    if place[0] == "LeaderWorkerSet":
        available = f"jsonpath={{.status.conditions[?(@.type=='Available' && {ours})].status}}=True"
        return [available, f"jsonpath={{$[?({ours} && !(@.replicas>$.spec.replicas))].observedGeneration}}"]
    if place[:2] != ("Deployment", variant.picker) or not variant.elects:
        return []
    counts = {"updatedReplicas": variant.pickers, "replicas": variant.pickers, "readyReplicas": 1}
    counted = [f"jsonpath={{.status.{name}}}={count}" for name, count in counts.items()]
    return [f"jsonpath={{$[?({ours})].observedGeneration}}", *counted]


def _of_a_variant(variant: Variant) -> Iterator[tuple[Place, str]]:
    """Yield where every object of a variant is, and what it is a part of."""
    place = variant.namespace
    for role in variant.roles:
        kinds = ["LeaderWorkerSet" if role.pods > 1 else "Deployment"]
        if role.max_replicas > 1 and role.say("disruptionBudget", "enabled", default=True):
            kinds.append("PodDisruptionBudget")
        if role.scaling is not None:
            kinds.append("ScaledObject" if role.scaling["type"] == "keda" else "HorizontalPodAutoscaler")
        yield from (((kind, role.workload, place), "model-server") for kind in kinds)
        yield from ((("ResourceClaimTemplate", name, place), "model-server") for name in role.claim_templates)
    rights = ("ServiceAccount", "Role", "RoleBinding")
    if variant.asks:
        named = all(role.say("pod", "serviceAccountName") for role in variant.destinations)
        sidecar_kinds = rights[1:] if named else rights
        yield from (((kind, f"{variant.pool}-decode", place), "model-server") for kind in sidecar_kinds)
    yield ("Service", variant.base, place), "model-server"
    yield from _of_a_picker(variant) if variant.picked else ()
    yield from monitoring.places(variant)
    yield from network.places(variant)
    yield from ((place, "route") for place in routing.places(variant))


def _of_a_picker(variant: Variant) -> Iterator[tuple[Place, str]]:
    """Yield where a picker's objects are, which have its pool beside them."""
    picker, place, rights = variant.picker, variant.namespace, ("ServiceAccount", "Role", "RoleBinding")
    yield from (((kind, picker, place), "endpoint-picker") for kind in (*rights, "ConfigMap", "Service", "Deployment"))
    yield ("InferencePool", variant.pool, place), "endpoint-picker"
    if variant.proxy is not None:
        yield ("Service", f"{variant.base}-proxy", place), "endpoint-picker"
    if variant.say("endpointPicker", "metricsAuth", default=True):
        yield ("ClusterRoleBinding", f"inference-stacks:{place}:{picker}", None), "endpoint-picker"
    if variant.provider == "istio" and variant.picker_tls["type"] != "none":
        yield ("DestinationRule", picker, place), "endpoint-picker"


def nothing_else_is_made(
    stack: Mapping[str, Any], every: Sequence[Variant], index: Mapping[Place, Any]
) -> Iterator[str]:
    """Compare what a whole stack has with what all its services, its namespaces and its interceptor need."""
    expected = {place for variant in every for place, _ in _of_a_variant(variant)}
    owners = [owner for variant in every if (owner := storage.of_variant(variant)) is not None]
    expected |= {place for owner in [*owners, *storage.caches(stack)] for place in storage.places(owner)}
    if stack.get("namespaceOptions", {}).get("create"):
        expected |= {("Namespace", variant.namespace, None) for variant in every}
        expected |= {("Namespace", owner.namespace, None) for owner in storage.caches(stack)}
        spec = stack.get("interceptor", {})
        expected |= {("Namespace", spec["namespace"], None)} if "deploy" in spec else set()
    expected |= {*metering.readers(stack, every), *metering.deployed(stack, every)}
    yield from same("objects", sorted(map(str, index)), sorted(map(str, expected)))


def namespaces_are_restricted(stack: Mapping[str, Any], index: Mapping[Place, Any]) -> Iterator[str]:
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    for (kind, name, _), manifest in index.items():
        if kind == "Namespace":
            labels = stack.get("labels", {}) | marks(name, "namespace") | restricted
            yield from same(f"Namespace {name} labels", manifest["metadata"]["labels"], labels)
