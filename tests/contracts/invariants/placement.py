"""Pods as the scheduler and the kubelet see them: identity, security, nodes and devices."""

import math
import re
from collections.abc import Iterator
from typing import Any

from tests.contracts.invariants import identity
from tests.contracts.invariants.facts import DROPPED, GI, SEALED, amount
from tests.contracts.invariants.variants import Role
from tests.contracts.invariants.world import Pods, World, same

PASSED = ("nodeSelector", "schedulerName", "runtimeClassName", "priorityClassName", "imagePullSecrets")
"""Fields of a pod that stand as its user wrote them."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APART = {"containers", "initContainers", "volumes", "terminationGracePeriodSeconds"}
"""Fields of a pod that other invariants speak of."""


def pods_are_placed_as_asked_and_where_their_devices_are(world: World) -> Iterator[str]:
    for pods in world.pods:
        pod, settings = pods.spec, pods.role.say("pod", default={})
        expected: dict[str, Any] = {name: settings[name] for name in PASSED if name in settings}
        expected |= {"automountServiceAccountToken": False, "enableServiceLinks": False}
        expected["securityContext"] = _security(settings)
        account = settings.get("serviceAccountName", f"{world.variant.pool}-decode" if pods.role.proxied else None)
        expected |= {
            key: value
            for key, value in {
                "serviceAccountName": account,
                "affinity": _affinity(pods.role),
                "tolerations": pods.role.tolerations,
                "topologySpreadConstraints": _spread(world, pods.role),
                "resourceClaims": _claims(pods.role),
            }.items()
            if value
        }
        for name in sorted({*expected, *pod} - APART):
            yield from same(f"{pods.name} {name}", pod.get(name), expected.get(name))


def the_pickers_pods_are_placed_as_asked(world: World) -> Iterator[str]:
    pod = world.get("Deployment", world.variant.picker)["spec"]["template"]["spec"]
    settings = world.variant.say("endpointPicker", "pod", default={})
    expected: dict[str, Any] = {name: settings[name] for name in (*PASSED, "affinity") if name in settings}
    expected |= {"serviceAccountName": world.variant.picker, "enableServiceLinks": False}
    expected |= {"automountServiceAccountToken": False}
    expected["securityContext"] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    selector = {"labelSelector": {"matchLabels": identity.picker(world)}}
    several = {
        "tolerations": [{"operator": "Equal", **toleration} for toleration in settings.get("tolerations", [])],
        "topologySpreadConstraints": [
            selector | constraint for constraint in settings.get("topologySpreadConstraints", [])
        ],
    }
    expected |= {key: value for key, value in several.items() if value}
    for name in sorted({*expected, *pod} - APART):
        yield from same(f"picker {name}", pod.get(name), expected.get(name))


def _security(settings: dict[str, Any]) -> dict[str, Any]:
    group = settings.get("fsGroup", 1000)
    ids = {"runAsUser": settings.get("runAsUser", 1000), "runAsGroup": group, "fsGroup": group}
    further = {"supplementalGroups": settings["supplementalGroups"]} if settings.get("supplementalGroups") else {}
    return ids | further | {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def _affinity(role: Role) -> dict[str, Any]:
    """Return the user's affinity, each of whose required terms asks for the class's nodes besides."""
    affinity = role.say("pod", "affinity", default={})
    expressions = [{"key": key, "operator": "In", "values": list(values)} for key, values in role.node_labels.items()]
    if not expressions:
        return affinity
    nodes = affinity.get("nodeAffinity", {})
    terms = nodes.get(REQUIRED, {}).get("nodeSelectorTerms", [{}])
    both = [term | {"matchExpressions": term.get("matchExpressions", []) + expressions} for term in terms]
    return affinity | {"nodeAffinity": nodes | {REQUIRED: {"nodeSelectorTerms": both}}}


def _spread(world: World, role: Role) -> list[Any]:
    selector = {"labelSelector": {"matchLabels": identity.role(world, role.name)}}
    return [selector | constraint for constraint in role.say("pod", "topologySpreadConstraints", default=[])]


def _claims(role: Role) -> list[dict[str, str]]:
    return [{"name": name, "resourceClaimTemplateName": template} for name, template in role.claims.items()]


def containers_have_no_privileges(world: World) -> Iterator[str]:
    for pods in world.pods:
        yield from same(f"{pods.name} engine", pods.engine["securityContext"], DROPPED)
        for container in [*pods.before, *pods.sidecars]:
            yield from same(f"{pods.name} {container['name']}", container["securityContext"], SEALED)
    if world.variant.picked:
        yield from same("picker", world.picker["securityContext"], SEALED)


def the_engine_has_its_devices_and_resources_for_each_of_them(world: World) -> Iterator[str]:
    for pods in world.pods:
        role, factor = pods.role, max(pods.role.devices, 1)
        resources = role.say("resources", default={})
        offload = math.ceil(amount(world.variant.say("kvCache", "cpuOffload", default="0")) / 2**30)
        requests = {"cpu": str(4 * factor), "memory": f"{32 * factor + offload}Gi"} | resources.get("requests", {})
        limits = {"memory": f"{48 * factor + offload}Gi"} | resources.get("limits", {})
        if amount(requests["memory"]) > amount(limits["memory"]):
            # A limit that is written lowers the request that is not, and the other way round.
            smaller = "memory" in resources.get("limits", {})
            requests["memory"] = limits["memory"] = limits["memory"] if smaller else requests["memory"]
        devices = {role.resource: str(role.chips)} if role.resource else {}
        expected: dict[str, Any] = {"requests": requests | devices, "limits": limits | devices}
        if role.claims:
            expected["claims"] = [{"name": name} for name in role.claims]
        yield from same(f"{pods.name} resources", pods.engine["resources"], expected)


def devices_are_claimed_as_said(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        for name, spec in role.claim_templates.items():
            yield from same(f"{name} claim", world.get("ResourceClaimTemplate", name)["spec"], spec)


def shared_memory_is_sized_by_devices(world: World) -> Iterator[str]:
    for pods in world.pods:
        shared = 8 * pods.role.devices + _offloaded(world, pods) if pods.role.devices else 1
        size = f"{shared + _outputs_of_encoders(pods)}Gi"
        empty_dir = {"medium": "Memory", "sizeLimit": pods.role.say("pod", "sharedMemory", default=size)}
        yield from same(f"{pods.name} shared memory", pods.volumes["shared-memory"], {"emptyDir": empty_dir})


def _outputs_of_encoders(pods: Pods) -> int:
    """Return the gibibytes of what encoders put out, which both ends keep in shared memory."""
    if pods.role.stage != "encode" and not pods.role.gets_outputs_of_encoders:
        return 0
    return -(-amount(pods.role.variant.outputs_of_encoders) // GI)


def _offloaded(world: World, pods: Pods) -> int:
    """Return the gibibytes of the KV cache that vLLM 0.27 and newer offload to shared memory."""
    image = pods.engine["image"]
    match = re.search(r":v0\.(\d+)\.", image)
    if match is None or int(match[1]) < 27:
        return 0
    return amount(world.variant.say("kvCache", "cpuOffload", default="0Gi")) // GI


def steps_are_the_users(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        spec, rollout = world.workload(role), role.say("rollout", default={})
        strategy: dict[str, Any] = {"type": rollout.get("type", "RollingUpdate")}
        if strategy["type"] == "RollingUpdate":
            steps = {"maxSurge": rollout.get("maxSurge", 0), "maxUnavailable": rollout.get("maxUnavailable", 1)}
            strategy["rollingUpdateConfiguration" if role.pods > 1 else "rollingUpdate"] = steps
        yield from same(f"{role.workload} steps", spec["rolloutStrategy" if role.pods > 1 else "strategy"], strategy)


def a_patch_is_the_last_word(world: World) -> Iterator[str]:
    for role in world.variant.roles:
        spec = {"spec": world.workload(role)}
        yield from (f"{role.workload} lacks the patch's {at}" for at in lacking(spec, role.say("patch", default={})))


def lacking(inside: Any, patch: Any, at: str = "") -> Iterator[str]:
    if isinstance(patch, dict):
        for key, value in patch.items():
            if value is None:
                yield from [f"{at}.{key}"] if key in inside else []
            else:
                yield from lacking(inside.get(key, {}), value, f"{at}.{key}")
    elif isinstance(patch, list) and all("name" in item for item in patch):
        items = {item["name"]: item for item in inside}
        for item in patch:
            yield from lacking(items.get(item["name"], {}), item, f"{at}.{item['name']}")
    elif inside != patch:
        yield at
