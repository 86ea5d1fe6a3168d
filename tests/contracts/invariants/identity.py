"""Labels and selectors: who finds whom, and whom nobody may find."""

import hashlib
import json
from collections.abc import Iterator

from tests.contracts.invariants.world import Pods, World, marks, same

OURS = "inference-stacks.io"


def pool(world: World) -> dict[str, str]:
    return {f"{OURS}/service": world.variant.service, **_variant(world)}


def _variant(world: World) -> dict[str, str]:
    """Return what tells variants and generations of one service apart."""
    generation = world.variant.generation
    of_generation = {} if generation is None else {f"{OURS}/generation": generation}
    return {f"{OURS}/variant": world.variant.variant_name, **of_generation}


def role(world: World, name: str) -> dict[str, str]:
    return pool(world) | {f"{OURS}/role": name}


def picker(world: World) -> dict[str, str]:
    return {f"{OURS}/endpoint-picker": world.variant.service, **_variant(world)}


def routed(world: World) -> dict[str, str]:
    """Return whom the Service of a variant finds: decode pods of any generation."""
    variant = {f"{OURS}/service": world.variant.service, f"{OURS}/variant": world.variant.variant_name}
    return variant | _decode(world)


def destinations(world: World) -> dict[str, str]:
    """Return what finds all decode pods of one generation."""
    return pool(world) | _decode(world)


def _decode(world: World) -> dict[str, str]:
    """Return the label that all decode pods have: their role, or llm-d's where each set has a role of its own."""
    divided = len(world.variant.destinations) > 1 or world.variant.destinations[0].name != "decode"
    return {"llm-d.ai/role": "decode"} if divided else {f"{OURS}/role": "decode"}


def a_generation_is_named_where_roles_exchange_their_cache(world: World) -> Iterator[str]:
    """Pods of two kinds are never there at once where both roles end before they start anew."""
    variant = world.variant
    recreated = all(role.say("rollout", "type") == "Recreate" for role in variant.roles)
    yield from same(f"{variant.base} has a generation", variant.generation is not None, variant.asks and not recreated)


def variants_are_told_apart(world: World) -> Iterator[str]:
    """No pod is found by what looks for pods of the other variant."""
    others = [
        World(other, world.index)
        for other in world.variant.variants
        if other.variant_name != world.variant.variant_name
    ]
    selectors = [chosen for other in others for chosen in (pool(other), routed(other), picker(other))]
    found = [pods.template for pods in world.pods]
    found += [world.get("Deployment", world.variant.picker)["spec"]["template"]] if world.variant.picked else []
    for template in found:
        labels = template["metadata"]["labels"].items()
        yield from (
            f"{world.variant.base} is found by {selector}" for selector in selectors if selector.items() <= labels
        )


def selectors_hold_identity_only(world: World) -> Iterator[str]:
    name = world.variant.picker
    for variant_role in world.variant.roles:
        if variant_role.pods == 1:
            selector = world.workload(variant_role)["selector"]
            yield from same(
                f"{variant_role.workload} selector", selector, {"matchLabels": role(world, variant_role.name)}
            )
    if not world.variant.picked:
        return
    spec = world.get("Deployment", name)["spec"]
    yield from same("picker selector", spec["selector"], {"matchLabels": picker(world)})
    yield from same("picker Service", world.get("Service", name)["spec"]["selector"], picker(world))
    chosen = world.get("InferencePool", world.variant.pool)["spec"]["selector"]
    yield from same("pool", chosen, {"matchLabels": pool(world)})


def the_routed_service_finds_decode_alone_and_the_pool_every_role(world: World) -> Iterator[str]:
    selector = world.get("Service", world.variant.base)["spec"]["selector"]
    yield from same("routed Service", selector, routed(world))
    for pods in world.pods:
        labels = pods.template["metadata"]["labels"]
        found = (selector.items() <= labels.items(), pool(world).items() <= labels.items())
        yield from same(f"{pods.name} found by Service and pool", found, _found(pods))
    if not world.variant.picked:
        return
    template = world.get("Deployment", world.variant.picker)["spec"]["template"]
    if pool(world).items() <= template["metadata"]["labels"].items():
        yield "the pool selects the picker"


def _found(pods: Pods) -> tuple[bool, bool]:
    return pods.serves and pods.role.stage == "decode", pods.serves


def pods_carry_the_labels_of_llm_d_and_of_their_owner(world: World) -> Iterator[str]:
    name = world.variant.base
    for pods in world.pods:
        identity = role(world, pods.role.name)
        if not pods.serves:
            identity = {f"{OURS}/worker-of": world.variant.service, **_variant(world)}
            identity |= {f"{OURS}/role": pods.role.name}
        of_user = pods.role.say("pod", "labels", default={}) | pods.role.say("labels", default={})
        if pods.role.name == pods.role.stage:
            of_user = pods.role.say("pod", "labels", default={})
        expected = world.variant.labels | of_user | identity
        expected |= marks(name, "model-server") | {
            "llm-d.ai/inference-serving": "true",
            "llm-d.ai/inferenceServing": "true",
            "llm-d.ai/model": name,
            "llm-d.ai/role": pods.role.stage,
        }
        metadata = pods.template["metadata"]
        yield from same(f"{pods.name} labels", metadata["labels"], expected)
        annotations = world.variant.annotations | pods.role.say("pod", "annotations", default={})
        annotations |= _of_the_claims(world, pods)
        if pods.serves and len(world.variant.ports) > 1:
            annotations["llm-d.ai/active-ports"] = ",".join(map(str, pods.role.pool_ports))
        yield from same(f"{pods.name} annotations", metadata.get("annotations", {}), annotations)
    if not world.variant.picked:
        return
    labels = world.get("Deployment", world.variant.picker)["spec"]["template"]["metadata"]["labels"]
    user_labels = world.variant.say("endpointPicker", "pod", "labels", default={})
    expected = world.variant.labels | user_labels | picker(world) | marks(name, "endpoint-picker")
    yield from same("picker labels", labels, expected)


def _of_the_claims(world: World, pods: Pods) -> dict[str, str]:
    """Return what rolls pods whose claims change: the claims that a pod has stay as they were made."""
    role = pods.role
    specs = {name: world.get("ResourceClaimTemplate", name)["spec"] for name in role.claim_templates}
    hashes = dict[str, str]()
    if role.workload in specs:
        hashes["checksum/claim"] = _hash(specs.pop(role.workload))
    if specs:
        names = {template: name for name, template in role.claims.items()}
        hashes["checksum/claims"] = _hash({names[template]: spec for template, spec in specs.items()})
    return hashes


def _hash(tree: object) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()


def evictions_are_limited_where_there_is_more_than_one_replica(world: World) -> Iterator[str]:
    for variant_role in world.variant.roles:
        budget = variant_role.say("disruptionBudget", default={})
        place = ("PodDisruptionBudget", variant_role.workload, world.variant.namespace)
        exists = variant_role.max_replicas > 1 and budget.get("enabled", True)
        yield from same(f"{variant_role.workload} has a budget", place in world.index, exists)
        if exists:
            group = {"leaderworkerset.sigs.k8s.io/name": variant_role.workload}
            expected = {
                "maxUnavailable": budget.get("maxUnavailable", 1),
                "selector": {"matchLabels": group if variant_role.pods > 1 else role(world, variant_role.name)},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            }
            yield from same(f"{variant_role.workload} budget", world.index[place]["spec"], expected)
