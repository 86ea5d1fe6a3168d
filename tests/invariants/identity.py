"""Labels and selectors: who finds whom, and whom nobody may find."""

import hashlib
import json
from collections.abc import Iterator

from tests.invariants.world import Pods, World, marks, same

OURS = "inference-stacks.io"


def pool(world: World) -> dict[str, str]:
    return {f"{OURS}/service": world.wish.name, f"{OURS}/variant": "primary"}


def role(world: World, name: str) -> dict[str, str]:
    return pool(world) | {f"{OURS}/role": name}


def picker(world: World) -> dict[str, str]:
    return {f"{OURS}/endpoint-picker": world.wish.name, f"{OURS}/variant": "primary"}


def selectors_hold_identity_only(world: World) -> Iterator[str]:
    name = world.wish.name
    for one in world.wish.roles:
        if one.pods == 1:
            selector = world.workload(one)["selector"]
            yield from same(f"{one.workload} selector", selector, {"matchLabels": role(world, one.name)})
    spec = world.get("Deployment", f"{name}-epp")["spec"]
    yield from same("picker selector", spec["selector"], {"matchLabels": picker(world)})
    yield from same("picker Service", world.get("Service", f"{name}-epp")["spec"]["selector"], picker(world))
    yield from same("pool", world.get("InferencePool", name)["spec"]["selector"], {"matchLabels": pool(world)})


def the_routed_service_finds_decode_alone_and_the_pool_every_role(world: World) -> Iterator[str]:
    routed = world.get("Service", world.wish.name)["spec"]["selector"]
    yield from same("routed Service", routed, role(world, "decode"))
    for pods in world.pods:
        labels = pods.template["metadata"]["labels"]
        found = (routed.items() <= labels.items(), pool(world).items() <= labels.items())
        yield from same(f"{pods.name} found by Service and pool", found, _found(pods))
    template = world.get("Deployment", f"{world.wish.name}-epp")["spec"]["template"]
    if pool(world).items() <= template["metadata"]["labels"].items():
        yield "the pool selects the picker"


def _found(pods: Pods) -> tuple[bool, bool]:
    return pods.serves and pods.role.name == "decode", pods.serves


def pods_carry_the_labels_of_llm_d_and_of_their_owner(world: World) -> Iterator[str]:
    name = world.wish.name
    for pods in world.pods:
        identity = role(world, pods.role.name)
        if not pods.serves:
            identity = {f"{OURS}/worker-of": name, f"{OURS}/variant": "primary", f"{OURS}/role": pods.role.name}
        expected = world.wish.labels | pods.role.say("pod", "labels", default={}) | identity
        expected |= marks(name, "model-server") | {
            "llm-d.ai/inference-serving": "true",
            "llm-d.ai/inferenceServing": "true",
            "llm-d.ai/model": name,
            "llm-d.ai/role": pods.role.name,
        }
        metadata = pods.template["metadata"]
        yield from same(f"{pods.name} labels", metadata["labels"], expected)
        annotations = world.wish.annotations | pods.role.say("pod", "annotations", default={})
        annotations |= _of_the_claim(world, pods)
        yield from same(f"{pods.name} annotations", metadata.get("annotations", {}), annotations)
    labels = world.get("Deployment", f"{name}-epp")["spec"]["template"]["metadata"]["labels"]
    expected = world.wish.labels | picker(world) | marks(name, "endpoint-picker")
    yield from same("picker labels", labels, expected)


def _of_the_claim(world: World, pods: Pods) -> dict[str, str]:
    """Return what rolls pods whose claim changes: the claim that a pod has stays as it was made."""
    if pods.role.claim is None:
        return {}
    spec = world.get("ResourceClaimTemplate", pods.role.workload)["spec"]
    return {"checksum/claim": hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()}


def evictions_are_limited_where_there_is_more_than_one_replica(world: World) -> Iterator[str]:
    for one in world.wish.roles:
        wanted = one.say("disruptionBudget", default={})
        place = ("PodDisruptionBudget", one.workload, world.wish.namespace)
        exists = one.most > 1 and wanted.get("enabled", True)
        yield from same(f"{one.workload} has a budget", place in world.index, exists)
        if exists:
            group = {"leaderworkerset.sigs.k8s.io/name": one.workload}
            expected = {
                "maxUnavailable": wanted.get("maxUnavailable", 1),
                "selector": {"matchLabels": group if one.pods > 1 else role(world, one.name)},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            }
            yield from same(f"{one.workload} budget", world.index[place]["spec"], expected)
