"""What has to be true of every rendered stack, said independently of the builders.

Each function takes one service's wishes (the tree as written, with the documented defaults said again here) and the
rendered objects, and yields what is wrong. `tests.test_invariants` runs them on the goldens, and on every mutation.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from manifests.objects import Manifest

ENGINE_IMAGES = {
    ("llm-d-0.10", "nvidia"): "vllm/vllm-openai:v0.21.0",
    ("gie-1.3", "nvidia"): "vllm/vllm-openai:v0.15.1",
    ("gie-1.3", "cpu"): "vllm/vllm-openai-cpu:v0.15.1-x86_64",
}
PICKER_IMAGES = {
    "llm-d-0.10": "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0",
    "gie-1.3": "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.0",
}
CONFIG_GROUPS = {
    "llm-d-0.10": ("llm-d.ai/v1alpha1", "llm-d.ai"),
    "gie-1.3": ("inference.networking.x-k8s.io/v1alpha1", "inference.networking.x-k8s.io"),
}
DEVICES = {"nvidia": "nvidia.com/gpu", "nvidia-h100-80gb": "nvidia.com/gpu", "cpu": None}
NODE_LABELS = {"nvidia-h100-80gb": {"nvidia.com/gpu.product": ["NVIDIA-H100-80GB-HBM3"]}}
READ = ["get", "list", "watch"]
DROPPED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class World:
    """One service of one stack, and everything that was rendered."""

    stack: Mapping[str, Any]
    key: str
    objects: list[Manifest]

    @property
    def wish(self) -> Mapping[str, Any]:
        return self.stack["services"][self.key]

    def say(self, group: str, field: str, default: Any) -> Any:
        return self.wish.get(group, {}).get(field, default)

    @property
    def name(self) -> str:
        return self.wish.get("name", self.key)

    @property
    def namespace(self) -> str:
        return self.wish.get("namespace", self.stack["namespace"])

    @property
    def release(self) -> str:
        return self.stack.get("release", "llm-d-0.10")

    @property
    def devices(self) -> int:
        parallel = self.wish.get("parallelism", {})
        return parallel.get("tensor", 1) * parallel.get("data", 1) if DEVICES[self.wish["accelerator"]] else 0

    def get(self, kind: str, name: str, namespace: str | None = "") -> Any:
        place = self.namespace if namespace == "" else namespace
        found = [
            one
            for one in self.objects
            if (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace")) == (kind, name, place)
        ]
        assert len(found) == 1, f"{kind} {place}/{name}: {len(found)} of them"
        return found[0]

    def pod(self) -> Any:
        return self.get("Deployment", f"{self.name}-decode")["spec"]["template"]["spec"]

    def engine(self) -> Any:
        (one,) = self.pod()["containers"]
        return one

    def unpack(self) -> Any:
        (one,) = self.pod()["initContainers"]
        return one

    def picker(self) -> Any:
        (one,) = self.get("Deployment", f"{self.name}-epp")["spec"]["template"]["spec"]["containers"]
        return one

    def flags(self) -> dict[str, str]:
        return dict(argument.split("=", 1) for argument in self.picker()["args"])


def same(what: str, actual: Any, expected: Any) -> Iterator[str]:
    if actual != expected:
        yield f"{what}: {actual!r} is not {expected!r}"


def seconds(duration: str) -> int:
    return int(duration[:-1]) * SECONDS[duration[-1]]


def identity(world: World) -> dict[str, str]:
    return {"inference-stacks.io/service": world.name, "inference-stacks.io/variant": "primary"}


def picker_identity(world: World) -> dict[str, str]:
    return {"inference-stacks.io/endpoint-picker": world.name, "inference-stacks.io/variant": "primary"}


def selectors_hold_identity_only_and_reach_what_they_mean(world: World) -> Iterator[str]:
    decode = identity(world) | {"inference-stacks.io/role": "decode"}
    serving, picking = (world.get("Deployment", f"{world.name}-{suffix}")["spec"] for suffix in ("decode", "epp"))
    yield from same("decode selector", serving["selector"], {"matchLabels": decode})
    yield from same("picker selector", picking["selector"], {"matchLabels": picker_identity(world)})
    yield from same("routed Service", world.get("Service", world.name)["spec"]["selector"], decode)
    yield from same(
        "picker Service", world.get("Service", f"{world.name}-epp")["spec"]["selector"], picker_identity(world)
    )
    yield from same(
        "pool", world.get("InferencePool", world.name)["spec"]["selector"], {"matchLabels": identity(world)}
    )
    for spec in (serving, picking):
        pods = spec["template"]["metadata"]["labels"]
        if not spec["selector"]["matchLabels"].items() <= pods.items():
            yield "a Deployment does not select its own pods"
    if identity(world).items() <= picking["template"]["metadata"]["labels"].items():
        yield "the pool selects the picker"


def pods_carry_the_labels_of_llm_d_and_of_their_owner(world: World) -> Iterator[str]:
    own = dict(world.stack.get("labels", {})) | dict(world.wish.get("labels", {}))
    own |= {
        "app.kubernetes.io/name": world.name,
        "app.kubernetes.io/part-of": "inference-stacks",
        "app.kubernetes.io/managed-by": "pulumi",
    }
    serving = (
        own
        | identity(world)
        | {
            "app.kubernetes.io/component": "model-server",
            "inference-stacks.io/role": "decode",
            "llm-d.ai/inference-serving": "true",
            "llm-d.ai/inferenceServing": "true",
            "llm-d.ai/model": world.name,
            "llm-d.ai/role": "decode",
        }
    )
    picking = own | picker_identity(world) | {"app.kubernetes.io/component": "endpoint-picker"}
    for suffix, expected in (("decode", serving), ("epp", picking)):
        template = world.get("Deployment", f"{world.name}-{suffix}")["spec"]["template"]
        yield from same(f"{suffix} pods", template["metadata"]["labels"], expected)


def the_routed_service_honours_the_metering_contract(world: World) -> Iterator[str]:
    service = world.get("Service", world.name)
    port = {
        "name": "8000",
        "port": 8000,
        "targetPort": world.say("engine", "port", 8000),
        "protocol": "TCP",
        "appProtocol": "http",
    }
    yield from same("ports", service["spec"]["ports"], [port])
    yield from same("type", service["spec"]["type"], "ClusterIP")
    metered = "interceptor" in world.stack and world.say("interceptor", "enabled", True)
    billed = world.say("interceptor", "resourceId", world.key) if metered else None
    labels = service["metadata"]["labels"]
    yield from same("resource id", labels.get("saturncloud.io/resource-id"), billed)
    yield from same("service type", labels.get("saturncloud.io/service-type"), "internal" if metered else None)
    for one in world.objects:
        if one is not service and one["metadata"]["labels"].get("saturncloud.io/resource-id") == (billed or "-"):
            yield f"{one['kind']} {one['metadata']['name']} is billed too"


def the_interceptor_may_get_and_list_services_and_nothing_else(world: World) -> Iterator[str]:
    wanted = world.stack.get("interceptor")
    if wanted is None:
        return
    account = wanted.get("serviceAccountName", "phoebe-interceptor")
    role = world.get("Role", f"{account}-services")
    binding = world.get("RoleBinding", f"{account}-services")
    rule = {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]}
    yield from same("rules", role["rules"], [rule])
    yield from same("subjects", binding["subjects"], [subject(account, wanted["namespace"])])
    yield from same("role", binding["roleRef"], reference("Role", f"{account}-services"))


def subject(name: str, namespace: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def reference(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def the_pool_reaches_engine_and_picker(world: World) -> Iterator[str]:
    spec = world.get("InferencePool", world.name)["spec"]
    yield from same("target ports", spec["targetPorts"], [{"number": world.say("engine", "port", 8000)}])
    port = world.say("endpointPicker", "port", 9002)
    expected = {
        "group": "",
        "kind": "Service",
        "name": f"{world.name}-epp",
        "port": {"number": port},
        "failureMode": "FailClose",
    }
    yield from same("picker", spec["endpointPickerRef"], expected)
    service = world.get("Service", f"{world.name}-epp")["spec"]
    ext_proc = {
        "name": "grpc-ext-proc",
        "port": port,
        "targetPort": port,
        "protocol": "TCP",
        "appProtocol": "kubernetes.io/h2c",
    }
    metrics = {"name": "http-metrics", "port": 9090, "targetPort": 9090, "protocol": "TCP"}
    yield from same("picker Service", service["ports"], [ext_proc, metrics])
    yield from same("picker Service type", service["type"], "ClusterIP")


def the_picker_is_told_what_its_objects_say(world: World) -> Iterator[str]:
    group = world.get("InferencePool", world.name)["apiVersion"].split("/")[0]
    port = world.say("endpointPicker", "port", 9002)
    expected = {
        "--pool-name": world.name,
        "--pool-namespace": world.namespace,
        "--pool-group": group,
        "--config-file": "/config/config.yaml",
        "--grpc-port": str(port),
        "--grpc-health-port": "9003",
        "--metrics-port": "9090",
        "--metrics-endpoint-auth": str(world.say("endpointPicker", "metricsAuth", True)).lower(),
        "--v": str(world.say("endpointPicker", "logLevel", 1)),
        "--zap-encoder": "json",
        "--tracing": "false",
        "--enable-pprof": "false",
    }
    container = world.picker()
    yield from same("flags", world.flags(), expected)
    ports = [("grpc-ext-proc", port), ("grpc-health", 9003), ("http-metrics", 9090)]
    declared = [{"name": name, "containerPort": number, "protocol": "TCP"} for name, number in ports]
    yield from same("ports", container["ports"], declared)
    fields = {"NAMESPACE": "metadata.namespace", "POD_NAME": "metadata.name"}
    env = [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in fields.items()
    ]
    yield from same("env", container["env"], env)
    yield from same("name", container["name"], "epp")
    yield from same("image", container["image"], world.say("endpointPicker", "image", PICKER_IMAGES[world.release]))
    probe = {"grpc": {"port": 9003, "service": "readiness"}, "periodSeconds": 2}
    yield from same("readiness", container["readinessProbe"], probe)
    probe = {"grpc": {"port": 9003, "service": "liveness"}, "periodSeconds": 10, "initialDelaySeconds": 5}
    yield from same("liveness", container["livenessProbe"], probe)
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}
    yield from same("resources", container["resources"], world.say("endpointPicker", "resources", resources))


def the_picker_reads_the_configuration_that_rolls_its_pods(world: World) -> Iterator[str]:
    (text,) = world.get("ConfigMap", f"{world.name}-epp")["data"].values()
    yield from same("key", list(world.get("ConfigMap", f"{world.name}-epp")["data"]), ["config.yaml"])
    spec = world.get("Deployment", f"{world.name}-epp")["spec"]
    checksum = hashlib.sha256(text.encode()).hexdigest()
    yield from same("checksum", spec["template"]["metadata"]["annotations"], {"checksum/config": checksum})
    config = yaml.safe_load(text)
    scorers = {"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
    (profile,) = config["schedulingProfiles"]
    weights = {plugin["pluginRef"]: plugin.get("weight") for plugin in profile["plugins"]}
    yield from same("weights", weights, scorers | {"max-score-picker": None})
    yield from same("plugins", [plugin["type"] for plugin in config["plugins"]], list(weights))
    yield from same("profile", profile["name"], "default")
    yield from same("apiVersion", config["apiVersion"], CONFIG_GROUPS[world.release][0])
    yield from same("kind", config["kind"], "EndpointPickerConfig")
    pod = spec["template"]["spec"]
    yield from same("volumes", pod["volumes"], [{"name": "config", "configMap": {"name": f"{world.name}-epp"}}])
    mount = {"name": "config", "mountPath": "/config", "readOnly": True}
    yield from same("mounts", world.picker()["volumeMounts"], [mount])
    yield from same("replicas", spec["replicas"], 1)
    yield from same("grace", pod["terminationGracePeriodSeconds"], 130)
    yield from same("service links", pod["enableServiceLinks"], False)


def the_picker_may_read_its_pool_and_what_it_selects_from(world: World) -> Iterator[str]:
    name = f"{world.name}-epp"
    objectives = ["inferenceobjectives", "inferencemodelrewrites"]
    pools = {"apiGroups": ["inference.networking.k8s.io"], "resources": ["inferencepools"], "verbs": READ}
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
        pools | {"resourceNames": [world.name]},
        {"apiGroups": [CONFIG_GROUPS[world.release][1]], "resources": objectives, "verbs": READ},
    ]
    account = world.get("ServiceAccount", name)
    me = [subject(account["metadata"]["name"], world.namespace)]
    yield from same("rules", world.get("Role", name)["rules"], rules)
    binding = world.get("RoleBinding", name)
    yield from same("binding", (binding["roleRef"], binding["subjects"]), (reference("Role", name), me))
    pod = world.get("Deployment", name)["spec"]["template"]["spec"]
    yield from same("account", pod["serviceAccountName"], name)
    wide = [one for one in world.objects if one["kind"] == "ClusterRoleBinding" and one["subjects"] == me]
    if not world.say("endpointPicker", "metricsAuth", True):
        yield from same("cluster-wide", wide, [])
        return
    binding = world.get("ClusterRoleBinding", f"inference-stacks:{world.namespace}:{name}", None)
    delegator = reference("ClusterRole", "system:auth-delegator")
    yield from same("delegator", (binding["roleRef"], binding["subjects"]), (delegator, me))


def every_pod_is_restricted(world: World) -> Iterator[str]:
    base = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    user, group = world.say("pod", "runAsUser", 1000), world.say("pod", "fsGroup", 1000)
    serving, picking = world.pod(), world.get("Deployment", f"{world.name}-epp")["spec"]["template"]["spec"]
    expected = base | {"runAsUser": user, "runAsGroup": group, "fsGroup": group}
    yield from same("serving pod", serving["securityContext"], expected)
    yield from same("picker pod", picking["securityContext"], base)
    yield from same("engine", world.engine()["securityContext"], DROPPED)
    closed = DROPPED | {"readOnlyRootFilesystem": True}
    yield from same("unpack", world.unpack()["securityContext"], closed)
    yield from same("picker", world.picker()["securityContext"], closed)
    yield from same("token", serving["automountServiceAccountToken"], False)
    yield from same("service links", serving["enableServiceLinks"], False)


def the_engine_serves_what_was_asked_for(world: World) -> Iterator[str]:
    wish, container = world.wish, world.engine()
    parallel = wish.get("parallelism", {})
    port = world.say("engine", "port", 8000)
    args = ["/models", f"--port={port}", f"--served-model-name={wish['model']['name']}"]
    for flag, value in (
        ("tensor-parallel-size", parallel.get("tensor", 1)),
        ("data-parallel-size", parallel.get("data", 1)),
    ):
        args += [f"--{flag}={value}"] if value > 1 else []
    if "maxModelLen" in wish["model"]:
        args.append(f"--max-model-len={wish['model']['maxModelLen']}")
    args += ["--enable-prompt-tokens-details", *world.say("engine", "args", [])]
    yield from same("arguments", container["args"], args)
    yield from same("command", container["command"], ["vllm", "serve"])
    yield from same("name", container["name"], "vllm")
    vendor = "cpu" if wish["accelerator"] == "cpu" else "nvidia"
    yield from same("image", container["image"], world.say("engine", "image", ENGINE_IMAGES[world.release, vendor]))
    yield from same("ports", container["ports"], [{"name": "http", "containerPort": port, "protocol": "TCP"}])
    env = {"HOME": "/home/engine", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    yield from same("env", container["env"], [{"name": name, "value": value} for name, value in env.items()])


def probes_ask_the_engine_itself(world: World) -> Iterator[str]:
    def health(field: str, default: Any) -> Any:
        return world.say("health", field, default)

    interval = seconds(health("interval", "10s"))
    failures = health("failureThreshold", 3)
    startup = seconds(health("startupTimeout", "30m"))
    for probe, path, threshold in (
        ("startupProbe", health("path", "/v1/models"), startup // interval),
        ("readinessProbe", health("path", "/v1/models"), failures),
        ("livenessProbe", health("livenessPath", "/health"), failures),
    ):
        expected = {
            "httpGet": {"path": path, "port": world.say("engine", "port", 8000)},
            "periodSeconds": interval,
            "timeoutSeconds": seconds(health("timeout", "5s")),
            "failureThreshold": threshold,
        }
        yield from same(probe, world.engine()[probe], expected)
    deadline = world.get("Deployment", f"{world.name}-decode")["spec"]["progressDeadlineSeconds"]
    yield from same("progress deadline", deadline, startup + 1800)


def devices_are_requested_once_and_nodes_have_them(world: World) -> Iterator[str]:
    resource, factor = DEVICES[world.wish["accelerator"]], max(world.devices, 1)
    devices = {resource: str(world.devices)} if resource else {}
    requests = {"cpu": str(4 * factor), "memory": f"{32 * factor}Gi"} | world.say("resources", "requests", {})
    limits = {"memory": f"{48 * factor}Gi"} | world.say("resources", "limits", {})
    if world.key == "search-qwen":
        requests["memory"] = limits["memory"]  # a limit below the default request lowers the request
    expected = {"requests": requests | devices, "limits": limits | devices}
    yield from same("resources", world.engine()["resources"], expected)
    tolerations = [{"key": resource, "operator": "Exists", "effect": "NoSchedule"}] if resource else None
    yield from same("tolerations", world.pod().get("tolerations"), tolerations)
    wanted = NODE_LABELS.get(world.wish["accelerator"], {})
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": values} for key, values in wanted.items()]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    yield from same("affinity", world.pod().get("affinity"), {"nodeAffinity": required} if wanted else None)
    spec = world.get("Deployment", f"{world.name}-decode")["spec"]
    yield from same("replicas", spec["replicas"], world.wish.get("replicas", 1))
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    yield from same("strategy", spec["strategy"], strategy)


def kit_unpacks_the_model_where_the_engine_reads_it(world: World) -> Iterator[str]:
    model, unpack = world.wish["model"], world.unpack()
    command = ["kit", "unpack", model["source"].removeprefix("kit://"), "-o", "-d", "/models", "--filter=model"]
    yield from same("command", unpack["command"], command + (["--plain-http"] if model.get("insecure") else []))
    secrets = model.get("secrets", [])
    env = {"KITOPS_HOME": "/kitops"} | ({"DOCKER_CONFIG": "/.docker"} if secrets else {})
    yield from same("env", unpack["env"], [{"name": name, "value": value} for name, value in env.items()])
    yield from same("name", unpack["name"], "model-unpack")
    yield from same("image", unpack["image"], "ghcr.io/kitops-ml/kitops:v1.11.0")
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    yield from same("resources", unpack["resources"], resources)
    marker = "disable-update-notifications"
    quiet = {"name": "kit-settings", "mountPath": f"/kitops/{marker}", "subPath": marker, "readOnly": True}
    mounts = [{"name": "model", "mountPath": "/models"}, {"name": "kit-home", "mountPath": "/kitops"}, quiet]
    mounts += [{"name": "docker-config", "mountPath": "/.docker", "readOnly": True}] if secrets else []
    yield from same("unpack mounts", unpack["volumeMounts"], mounts)
    mounts = [
        {"name": "model", "mountPath": "/models", "readOnly": True},
        {"name": "home", "mountPath": "/home/engine"},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ]
    yield from same("engine mounts", world.engine()["volumeMounts"], mounts)
    size = world.say("pod", "sharedMemory", f"{8 * world.devices}Gi" if world.devices else "1Gi")
    items = [{"path": marker, "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]
    volumes = [
        {"name": "model", "emptyDir": {}},
        {"name": "home", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}},
        {"name": "kit-home", "emptyDir": {}},
        {"name": "kit-settings", "downwardAPI": {"items": items}},
    ]
    items = [{"key": ".dockerconfigjson", "path": "config.json"}]
    volumes += [{"name": "docker-config", "secret": {"secretName": secrets[0], "items": items}}] if secrets else []
    yield from same("volumes", world.pod()["volumes"], volumes)


def the_route_leads_to_the_pool(world: World) -> Iterator[str]:
    gateway = world.stack.get("gateway")
    if gateway is None or not world.say("route", "enabled", True):
        routes = [one for one in world.objects if one["kind"] == "HTTPRoute" and one["metadata"]["name"] == world.name]
        yield from same("routes", routes, [])
        return
    spec = world.get("HTTPRoute", world.name)["spec"]
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": world.stack["namespace"]}
    parent |= {key: value for key, value in gateway.items() if key != "provider"}
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
    pool = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": world.name, "weight": 1}
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": f"/{world.namespace}/{world.name}"}}],
        "filters": [{"type": "URLRewrite", "urlRewrite": rewrite}],
        "backendRefs": [pool],
    }
    hostnames = world.say("route", "hostnames", [])
    expected = {"parentRefs": [parent], "rules": [rule]} | ({"hostnames": hostnames} if hostnames else {})
    yield from same("route", spec, expected)


def istio_speaks_tls_to_the_ext_proc_port_alone(world: World) -> Iterator[str]:
    rules = [one for one in world.objects if one["kind"] == "DestinationRule"]
    if world.stack.get("gateway", {}).get("provider") != "istio":
        yield from same("destination rules", rules, [])
        return
    spec = world.get("DestinationRule", f"{world.name}-epp")["spec"]
    domain = world.stack.get("cluster", {}).get("domain", "cluster.local")
    tls = {"mode": "SIMPLE", "insecureSkipVerify": True}
    settings = [{"port": {"number": world.say("endpointPicker", "port", 9002)}, "tls": tls}]
    expected = {
        "host": f"{world.name}-epp.{world.namespace}.svc.{domain}",
        "trafficPolicy": {"portLevelSettings": settings},
    }
    yield from same("destination rule", spec, expected)


def services_are_not_awaited(world: World) -> Iterator[str]:
    for name in (world.name, f"{world.name}-epp"):
        annotations = world.get("Service", name)["metadata"].get("annotations")
        yield from same("annotations", annotations, {"pulumi.com/skipAwait": "true"})


def namespaces_are_made_only_when_asked_for_and_restricted(world: World) -> Iterator[str]:
    made = {one["metadata"]["name"]: one["metadata"]["labels"] for one in world.objects if one["kind"] == "Namespace"}
    if not world.stack.get("namespaceOptions", {}).get("create"):
        yield from same("namespaces", made, {})
        return
    level = made.get(world.namespace, {}).get("pod-security.kubernetes.io/enforce")
    yield from same("Pod Security", level, "restricted")


INVARIANTS: list[Callable[[World], Iterator[str]]] = [
    selectors_hold_identity_only_and_reach_what_they_mean,
    pods_carry_the_labels_of_llm_d_and_of_their_owner,
    the_routed_service_honours_the_metering_contract,
    the_interceptor_may_get_and_list_services_and_nothing_else,
    the_pool_reaches_engine_and_picker,
    the_picker_is_told_what_its_objects_say,
    the_picker_reads_the_configuration_that_rolls_its_pods,
    the_picker_may_read_its_pool_and_what_it_selects_from,
    every_pod_is_restricted,
    the_engine_serves_what_was_asked_for,
    probes_ask_the_engine_itself,
    devices_are_requested_once_and_nodes_have_them,
    kit_unpacks_the_model_where_the_engine_reads_it,
    the_route_leads_to_the_pool,
    istio_speaks_tls_to_the_ext_proc_port_alone,
    services_are_not_awaited,
    namespaces_are_made_only_when_asked_for_and_restricted,
]


def violations(stack: Mapping[str, Any], objects: list[Manifest]) -> Iterator[str]:
    """Yield everything that is wrong with what was rendered for a stack."""
    for key in stack["services"]:
        world = World(stack, key, objects)
        for invariant in INVARIANTS:
            try:
                yield from (f"{invariant.__name__}: {wrong}" for wrong in invariant(world))
            except (AssertionError, KeyError, TypeError, ValueError, AttributeError) as error:
                yield f"{invariant.__name__}: {error!r}"
