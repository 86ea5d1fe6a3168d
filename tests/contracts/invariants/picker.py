"""The endpoint picker: what it is told, what it reads, and what it may do."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from tests.contracts.invariants.disaggregation import TOKEN, token_sources
from tests.contracts.invariants.facts import (
    CONFIG_GROUPS,
    DROPPED,
    EXPLAINED,
    LEASES,
    PICKER_IMAGES,
    POOL_GROUP,
    PREDICTORS,
    READ,
    amount,
)
from tests.contracts.invariants.placement import lacking
from tests.contracts.invariants.trees import look
from tests.contracts.invariants.world import World, field, named, reference, same, subject, traces, variables

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
DECIDING = {
    name: APART[name]
    for name in ("prefill-filter", "decode-filter", "prefix-based-pd-decider", "disagg-profile-handler")
}
ENCODING = dict.fromkeys(("encode-filter", "always-disagg-multimodal-decider", "decode-filter"))
OF_ENCODERS = {"encode-filter": None, "queue-scorer": 2, "max-score-picker": None}
"""Plugins of the profile for encode pods, whatever the preset; they hold no prefix."""
DECIDERS = {"prefill": "prefix-based-pd-decider", "encode": "always-disagg-multimodal-decider"}
TLS_FLAGS = {
    "certificate": {"--cert-path": "/certificates", "--enable-cert-reload": "true"},
    "none": {"--secure-serving": "false"},
}
"""Flags of a picker, by the origin of its certificate, if it does not make that itself."""


METRICS_BY = {"metrics-data-source": None, "tls-metrics-data-source": {"scheme": "https", "insecureSkipVerify": True}}
"""The sources of metrics, by their parameters, of a picker whose pods speak TLS in one role and not in the other."""


def _serves_tls(world: World) -> bool:
    return any(role.certificate for role in world.variant.roles)


def the_picker_is_told_what_its_objects_say(world: World) -> Iterator[str]:
    variant = world.variant
    flags = {
        "--pool-name": variant.pool,
        "--pool-namespace": variant.namespace,
        "--pool-group": world.get("InferencePool", variant.pool)["apiVersion"].split("/")[0],
        "--config-file": "/config/config.yaml",
        "--grpc-port": str(_port(world)),
        "--grpc-health-port": "9003",
        "--metrics-port": "9090",
        "--metrics-endpoint-auth": str(variant.say("endpointPicker", "metricsAuth", default=True)).lower(),
        "--v": str(variant.say("endpointPicker", "logLevel", default=1)),
        "--zap-encoder": "json",
        "--tracing": str(variant.tracing is not None).lower(),
        "--enable-pprof": "false",
        **({"--ha-enable-leader-election": "true"} if variant.elects else {}),
        **TLS_FLAGS.get(variant.picker_tls["type"], {}),
    } | {f"--{name}": value for name, value in variant.say("endpointPicker", "flags", default={}).items()}
    arguments = [argument.partition("=")[::2] for argument in world.picker["args"]]
    yield from same("picker arguments", sorted(arguments), sorted(flags.items()))
    expected = {"NAMESPACE": field("metadata.namespace"), "POD_NAME": field("metadata.name")}
    predictor = variant.say("endpointPicker", "latencyPredictor")
    if predictor is not None:
        here = "deploy" in predictor
        training = "http://localhost:8000" if here else predictor["trainingServer"]
        prediction = ["http://localhost:8001"] if here else predictor["predictionServers"]
        expected["TRAINING_SERVER_URL"] = {"value": training}
        expected["PREDICTION_SERVER_URL"] = {"value": ",".join(prediction)}
    variables_of_user = variables(variant.say("endpointPicker", "env", default={}))
    yield from named(
        "picker environment", world.picker["env"], expected | traces(world, f"{variant.base}-epp") | variables_of_user
    )


def _port(world: World) -> int:
    return world.variant.say("endpointPicker", "port", default=9002)


def the_pickers_container_is_its_channels(world: World) -> Iterator[str]:
    variant, container = world.variant, world.picker
    changes = variant.say("endpointPicker", "image", default=PICKER_IMAGES[variant.release])
    yield from same("picker image", container["image"], changes)
    yield from same("picker name", container["name"], "epp")
    ports = [("grpc-ext-proc", _port(world)), ("grpc-health", 9003), ("http-metrics", 9090)]
    declared = [{"name": name, "containerPort": number, "protocol": "TCP"} for name, number in ports]
    yield from same("picker ports", container["ports"], declared)
    probe = {"grpc": {"port": 9003, "service": "readiness"}, "periodSeconds": 2}
    yield from same("picker readiness", container["readinessProbe"], probe)
    probe = {"grpc": {"port": 9003, "service": "liveness"}, "periodSeconds": 10, "initialDelaySeconds": 5}
    yield from same("picker liveness", container["livenessProbe"], probe)
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}
    yield from same("picker end", container.get("terminationMessagePolicy"), EXPLAINED)
    changes = variant.say("endpointPicker", "resources", default=_by_traffic(world) or resources)
    yield from same("picker resources", container["resources"], changes)


def _by_traffic(world: World) -> dict[str, Any] | None:
    """Return a core, one for each 100,000 tokens of a second's prompts, and one for each 13 endpoints; and memory.

    2Gi, 72Ki for each token of a second's answers, and what may wait in the picker.
    """
    traffic = world.variant.say("endpointPicker", "traffic")
    if traffic is None:
        return None
    rate, endpoints = traffic["requestsPerSecond"], sum(role.max_replicas for role in world.variant.roles)
    cores = 1 + rate * traffic.get("inputTokens", 8000) / 100_000 + endpoints * 0.075
    waiting = world.variant.say("endpointPicker", "flowControl")
    held = 0 if waiting is None else amount(waiting["maxBytes"]) if "maxBytes" in waiting else 10**9 * _bands(waiting)
    memory = math.ceil(2 + (rate * traffic.get("outputTokens", 1000) * 72 * 2**10 + held) / 2**30)
    return {
        "requests": {"cpu": str(math.ceil(round(cores, 6))), "memory": f"{memory}Gi"},
        "limits": {"memory": f"{2 * memory}Gi"},
    }


def _bands(waiting: Mapping[str, Any]) -> int:
    """Return the bands that are listed, and the one of requests without a priority."""
    return 1 + len(waiting.get("priorityBands", []))


def the_pickers_companions_are_as_written(world: World) -> Iterator[str]:
    pod = world.get("Deployment", world.variant.picker)["spec"]["template"]["spec"]
    patched = look(world.variant.say("endpointPicker", "patch", default={}), ("spec", "template", "spec"), {})
    containers = world.variant.say("endpointPicker", "containers", default={})
    ours = {"epp", *(container["name"] for container in patched.get("containers", []))}
    if world.variant.proxy is not None:
        ours.add("proxy")
    expected = {name: _companion(container) for name, container in containers.items()} | _predictors(world)
    yield from named(
        "picker companions", [container for container in pod["containers"] if container["name"] not in ours], expected
    )


def _predictors(world: World) -> dict[str, Any]:
    """Return the servers of a predictor beside the picker; one that has learnt nothing yet does not hold it up."""
    deployed = look(world.variant.say("endpointPicker", "latencyPredictor", default={}), ("deploy",), None)
    if deployed is None:
        return {}
    images = {
        "training-server": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}},
        "prediction-server": {"requests": {"cpu": "8", "memory": "4Gi"}, "limits": {"memory": "8Gi"}},
    }
    connected = {
        "training-server": {},
        "prediction-server": {
            "TRAINING_SERVER_URL": "http://localhost:8000",
            "UVICORN_WORKERS": str(deployed.get("predictionWorkers", 8)),
        },
    }
    found = {}
    for name, (image, port, folder, _, env) in PREDICTORS.items():
        kind = name.removesuffix("-server")
        found[name] = {
            "image": deployed.get(f"{kind}Image", image),
            "env": [{"name": key, "value": value} for key, value in (env | connected[name]).items()],
            "ports": [{"containerPort": port, "protocol": "TCP"}],
            "livenessProbe": {
                "httpGet": {"path": "/healthz", "port": port},
                "initialDelaySeconds": 30,
                "periodSeconds": 20,
            },
            "resources": deployed.get(f"{kind}Resources", images[name]),
            "securityContext": DROPPED | {"runAsUser": 1000},
            "terminationMessagePolicy": EXPLAINED,
            "volumeMounts": [{"name": name, "mountPath": folder}],
        }
    return found


def _companion(container: Mapping[str, Any]) -> dict[str, Any]:
    user = {"runAsUser": container["runAsUser"]} if "runAsUser" in container else {}
    env = [{"name": name, **value} for name, value in variables(container.get("env", {})).items()]
    expected = {
        **{key: container[key] for key in ("image", "command", "args", "resources") if key in container},
        "env": env,
        "ports": [{"containerPort": port, "protocol": "TCP"} for port in container.get("ports", [])],
    }
    always = {"securityContext": DROPPED | user, "terminationMessagePolicy": EXPLAINED}
    return {key: value for key, value in expected.items() if value} | always


def the_pickers_patch_is_the_last_word(world: World) -> Iterator[str]:
    spec, change = (
        world.get("Deployment", world.variant.picker),
        world.variant.say("endpointPicker", "patch", default={}),
    )
    yield from (f"the picker lacks the patch's {at}" for at in lacking(spec, change))


def the_picker_reads_the_configuration_that_rolls_its_pods(world: World) -> Iterator[str]:
    name = world.variant.picker
    data = world.get("ConfigMap", name)["data"]
    keys = ["config.yaml", *(["envoy.yaml"] if world.variant.proxy is not None else [])]
    yield from same("picker configuration", list(data), keys)
    spec = world.get("Deployment", name)["spec"]
    checksum = {"checksum/config": hashlib.sha256("".join(data[key] for key in keys).encode()).hexdigest()}
    annotations = world.variant.say("endpointPicker", "pod", "annotations", default={})
    yield from same("picker annotations", spec["template"]["metadata"]["annotations"], annotations | checksum)
    folders = {server: PREDICTORS[server][3] for server in _predictors(world)}
    volumes: dict[str, Any] = {server: {"emptyDir": {"sizeLimit": size}} for server, size in folders.items()}
    volumes["config"] = {"configMap": {"name": name}}
    volumes["api-token"] = {"projected": {"sources": token_sources()}}
    mounts = {name: {"mountPath": at, "readOnly": True} for name, at in (("config", "/config"), ("api-token", TOKEN))}
    if world.variant.picker_tls["type"] == "certificate":
        volumes["certificate"] = {"secret": {"secretName": world.variant.picker_tls["secret"]}}
        mounts["certificate"] = {"mountPath": "/certificates", "readOnly": True}
    yield from named("picker volumes", spec["template"]["spec"]["volumes"], volumes)
    yield from named("picker mounts", world.picker["volumeMounts"], mounts)


def the_picker_scores_as_its_preset_says(world: World) -> Iterator[str]:
    config = _read(world.get("ConfigMap", world.variant.picker)["data"]["config.yaml"])
    about = (config["apiVersion"], config["kind"])
    yield from same("picker configuration", about, (CONFIG_GROUPS[world.variant.release][0], "EndpointPickerConfig"))
    config_of_user = world.variant.say("endpointPicker", "config")
    if config_of_user is not None:
        written = {key: value for key, value in config.items() if key not in {"apiVersion", "kind"}}
        yield from same("picker configuration of one's own", written, config_of_user)
        return
    preset = world.variant.say("endpointPicker", "preset", default="approximate-prefix-cache")
    expected = {"approximate-prefix-cache": _approximate, "precise-prefix-cache": _precise}.get(preset, _predicted)
    declared, scored = expected(world)
    weights = world.variant.say("endpointPicker", "scorerWeights", default={})
    plugins = {plugin.get("name", plugin["type"]): plugin.get("parameters") for plugin in config["plugins"]}
    metrics = {**METRICS_BY, "core-metrics-extractor": None} if _serves_tls(world) else {}
    asked = {"prefill": world.variant.disaggregated, "encode": world.variant.encodes}
    encoding = ENCODING if world.variant.encodes else {}
    deciders = {stage: decider for stage, decider in DECIDERS.items() if asked[stage]}
    handler = {"disagg-profile-handler": {"deciders": deciders}} if deciders else {}
    yield from same("picker plugins", plugins, dict.fromkeys(weights) | declared | metrics | encoding | handler)
    stages = [stage for stage in ("prefill", "decode") if stage == "decode" or asked[stage]]
    expected_profiles: dict[str, Any] = {stage: {f"{stage}-filter": None, **scored, **weights} for stage in stages}
    if not world.variant.asks:
        expected_profiles = {"default": {**scored, **weights}}
    expected_profiles |= {"encode": OF_ENCODERS} if world.variant.encodes else {}
    profiles = {
        profile["name"]: {plugin["pluginRef"]: plugin.get("weight") for plugin in profile["plugins"]}
        for profile in config["schedulingProfiles"]
    }
    yield from same("picker profiles", profiles, expected_profiles)
    # The handler looks the decider up while it is made itself.
    order = [name for name in plugins if name in {"prefix-based-pd-decider", "disagg-profile-handler"}]
    decided = [*(["prefix-based-pd-decider"] if world.variant.disaggregated else []), *handler]
    yield from same("picker order", order, decided)


def _approximate(world: World) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return (APART, SCORED) if world.variant.disaggregated else (dict.fromkeys(TOGETHER), TOGETHER)


def _precise(world: World) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    variant = world.variant
    port = world.get("Service", variant.base)["spec"]["ports"][0]["port"]
    asked = f"http://{variant.base}.{variant.namespace}.svc:{port}"
    scored = {"prefix-cache-scorer": 2, "kv-cache-utilization-scorer": 1, "queue-scorer": 1, "max-score-picker": None}
    events = {"topicFilter": "kv@", "podDiscoveryConfig": {"socketPort": 5556}}
    size = variant.say("kvCache", "blockSize", default=64)
    declared = {
        **dict.fromkeys([*scored, "endpoint-notification-source"]),
        **(DECIDING if variant.disaggregated else {}),
        "token-producer": {"modelName": variant.served, "vllm": {"url": asked}},
        "precise-prefix-cache-producer": {
            "tokenProcessorConfig": {"blockSizeTokens": size},
            "kvEventsConfig": events,
            "speculativeIndexing": True,
        },
        "prefix-cache-scorer": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"},
    }
    return declared, scored


def _predicted(world: World) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    filters = ("strict-affinity-filter", "slo-headroom-tier-filter", "loose-affinity-filter")
    scored = {**dict.fromkeys(filters), "latency-scorer": 1, "weighted-random-picker": None}
    role = {"endpointRoleLabel": "llm-d.ai/role"} if world.variant.disaggregated else {}
    declared = {
        **dict.fromkeys([*scored, "latency-slo-admitter"]),
        **(DECIDING if world.variant.disaggregated else {}),
        "predicted-latency-producer": {"streamingMode": True} | role,
        "strict-affinity-filter": {"affinityThreshold": 0.99},
        "loose-affinity-filter": {"affinityThreshold": 0.8},
    }
    return declared, scored


def the_picker_holds_back_what_it_was_told(world: World) -> Iterator[str]:
    config = _read(world.get("ConfigMap", world.variant.picker)["data"]["config.yaml"])
    wished = world.variant.say("endpointPicker", "flowControl")
    if world.variant.say("endpointPicker", "config") is not None:
        return
    held = (config.get("featureGates"), config.get("flowControl"))
    yield from same("picker flow control", held, (None, None) if wished is None else (["flowControl"], wished))
    events = {"endpoint-notification-source": "precise-prefix-cache-producer"} if world.variant.precise else {}
    metrics = dict.fromkeys(METRICS_BY, "core-metrics-extractor") if _serves_tls(world) else {}
    sources = [{"pluginRef": name, "extractors": [{"pluginRef": of}]} for name, of in (events | metrics).items()]
    yield from same("picker data", config.get("dataLayer"), {"sources": sources} if sources else None)


@cache
def _read(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def the_picker_may_read_its_pool_and_what_it_selects_from(world: World) -> Iterator[str]:
    name = world.variant.picker
    objectives = ["inferenceobjectives", "inferencemodelrewrites"]
    groups = {CONFIG_GROUPS["gie-1.3"][1]: None, CONFIG_GROUPS[world.variant.release][1]: None}
    pools = {"apiGroups": [POOL_GROUP], "resources": ["inferencepools"], "verbs": READ}
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
        pools | {"resourceNames": [world.variant.pool]},
        *({"apiGroups": [group], "resources": objectives, "verbs": READ} for group in groups),
    ]
    if world.variant.elects:
        lease = LEASES[world.variant.release].format(world.variant.namespace, world.variant.pool)
        leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
        rules += [
            leases | {"verbs": ["create"]},
            leases | {"resourceNames": [lease], "verbs": ["get", "update"]},
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        ]
    me = [subject(world.get("ServiceAccount", name)["metadata"]["name"], world.variant.namespace)]
    yield from same("picker's rules", world.get("Role", name)["rules"], rules)
    binding = world.get("RoleBinding", name)
    yield from same("picker's role", (binding["roleRef"], binding["subjects"]), (reference("Role", name), me))
    if world.variant.say("endpointPicker", "metricsAuth", default=True):
        binding = world.get("ClusterRoleBinding", f"inference-stacks:{world.variant.namespace}:{name}", None)
        delegator = reference("ClusterRole", "system:auth-delegator")
        yield from same("delegator", (binding["roleRef"], binding["subjects"]), (delegator, me))
