"""The endpoint picker: what it is told, what it reads, and what it may do."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from tests.invariants.facts import CONFIG_GROUPS, PICKER_IMAGES, POOL_GROUP, READ
from tests.invariants.world import World, field, named, reference, same, subject, traces

TOGETHER = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3, "max-score-picker": None}
SCORED = {"prefix-cache-scorer": 2, "queue-scorer": 1, "max-score-picker": None}
APART = {
    "approx-prefix-cache-producer": {"maxPrefixTokensToMatch": 16384, "lruCapacityPerServer": 31250},
    "prefix-cache-scorer": None,
    "queue-scorer": None,
    "prefill-filter": None,
    "decode-filter": None,
    "max-score-picker": None,
    "prefix-based-pd-decider": {"nonCachedTokens": 16},
    "disagg-profile-handler": {"deciders": {"prefill": "prefix-based-pd-decider"}},
}


def the_picker_is_told_what_its_objects_say(world: World) -> Iterator[str]:
    wish = world.wish
    told = {
        "--pool-name": wish.pool,
        "--pool-namespace": wish.namespace,
        "--pool-group": world.get("InferencePool", wish.pool)["apiVersion"].split("/")[0],
        "--config-file": "/config/config.yaml",
        "--grpc-port": str(_port(world)),
        "--grpc-health-port": "9003",
        "--metrics-port": "9090",
        "--metrics-endpoint-auth": str(wish.say("endpointPicker", "metricsAuth", default=True)).lower(),
        "--v": str(wish.say("endpointPicker", "logLevel", default=1)),
        "--zap-encoder": "json",
        "--tracing": str(wish.tracing is not None).lower(),
        "--enable-pprof": "false",
    }
    arguments = [argument.partition("=")[::2] for argument in world.picker["args"]]
    yield from same("picker arguments", sorted(arguments), sorted(told.items()))
    expected = {"NAMESPACE": field("metadata.namespace"), "POD_NAME": field("metadata.name")}
    yield from named("picker environment", world.picker["env"], expected | traces(world, wish.picker))


def _port(world: World) -> int:
    return world.wish.say("endpointPicker", "port", default=9002)


def the_pickers_container_is_its_channels(world: World) -> Iterator[str]:
    wish, container = world.wish, world.picker
    own = wish.say("endpointPicker", "image", default=PICKER_IMAGES[wish.release])
    yield from same("picker image", container["image"], own)
    yield from same("picker name", container["name"], "epp")
    ports = [("grpc-ext-proc", _port(world)), ("grpc-health", 9003), ("http-metrics", 9090)]
    declared = [{"name": name, "containerPort": number, "protocol": "TCP"} for name, number in ports]
    yield from same("picker ports", container["ports"], declared)
    probe = {"grpc": {"port": 9003, "service": "readiness"}, "periodSeconds": 2}
    yield from same("picker readiness", container["readinessProbe"], probe)
    probe = {"grpc": {"port": 9003, "service": "liveness"}, "periodSeconds": 10, "initialDelaySeconds": 5}
    yield from same("picker liveness", container["livenessProbe"], probe)
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}
    own = wish.say("endpointPicker", "resources", default=resources)
    yield from same("picker resources", container["resources"], own)


def the_picker_reads_the_configuration_that_rolls_its_pods(world: World) -> Iterator[str]:
    name = world.wish.picker
    data = world.get("ConfigMap", name)["data"]
    yield from same("picker configuration", list(data), ["config.yaml"])
    spec = world.get("Deployment", name)["spec"]
    checksum = {"checksum/config": hashlib.sha256(data["config.yaml"].encode()).hexdigest()}
    yield from same("picker checksum", spec["template"]["metadata"]["annotations"], checksum)
    pod = spec["template"]["spec"]
    yield from same("picker volumes", pod["volumes"], [{"name": "config", "configMap": {"name": name}}])
    mount = {"name": "config", "mountPath": "/config", "readOnly": True}
    yield from same("picker mounts", world.picker["volumeMounts"], [mount])
    yield from same("picker replicas", spec["replicas"], 1)
    yield from same("picker service links", pod["enableServiceLinks"], False)


def the_picker_scores_as_its_preset_says(world: World) -> Iterator[str]:
    config = _read(world.get("ConfigMap", world.wish.picker)["data"]["config.yaml"])
    about = (config["apiVersion"], config["kind"])
    yield from same("picker configuration", about, (CONFIG_GROUPS[world.wish.release][0], "EndpointPickerConfig"))
    plugins = {one["type"]: one.get("parameters") for one in config["plugins"]}
    yield from same("picker plugins", plugins, APART if world.wish.apart else dict.fromkeys(TOGETHER))
    wanted: dict[str, Mapping[str, Any]] = {"default": TOGETHER}
    if world.wish.apart:
        wanted = {role: {f"{role}-filter": None, **SCORED} for role in ("prefill", "decode")}
        # The handler looks the decider up while it is made itself.
        order = [name for name in plugins if name in {"prefix-based-pd-decider", "disagg-profile-handler"}]
        yield from same("picker order", order, ["prefix-based-pd-decider", "disagg-profile-handler"])
    profiles = {
        one["name"]: {plugin["pluginRef"]: plugin.get("weight") for plugin in one["plugins"]}
        for one in config["schedulingProfiles"]
    }
    yield from same("picker profiles", profiles, wanted)


@cache
def _read(text: str) -> Any:
    return yaml.safe_load(text)


def the_picker_may_read_its_pool_and_what_it_selects_from(world: World) -> Iterator[str]:
    name = world.wish.picker
    objectives = ["inferenceobjectives", "inferencemodelrewrites"]
    pools = {"apiGroups": [POOL_GROUP], "resources": ["inferencepools"], "verbs": READ}
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
        pools | {"resourceNames": [world.wish.pool]},
        {"apiGroups": [CONFIG_GROUPS[world.wish.release][1]], "resources": objectives, "verbs": READ},
    ]
    me = [subject(world.get("ServiceAccount", name)["metadata"]["name"], world.wish.namespace)]
    yield from same("picker's rules", world.get("Role", name)["rules"], rules)
    binding = world.get("RoleBinding", name)
    yield from same("picker's role", (binding["roleRef"], binding["subjects"]), (reference("Role", name), me))
    pod = world.get("Deployment", name)["spec"]["template"]["spec"]
    yield from same("picker's account", pod["serviceAccountName"], name)
    if world.wish.say("endpointPicker", "metricsAuth", default=True):
        binding = world.get("ClusterRoleBinding", f"inference-stacks:{world.wish.namespace}:{name}", None)
        delegator = reference("ClusterRole", "system:auth-delegator")
        yield from same("delegator", (binding["roleRef"], binding["subjects"]), (delegator, me))
