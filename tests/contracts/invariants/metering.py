"""Metering adds rights, the interceptor's own objects and the places to which routes lead requests."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from tests.contracts.invariants.facts import EXPLAINED, seconds
from tests.contracts.invariants.trees import look
from tests.contracts.invariants.variants import Variant
from tests.contracts.invariants.world import STACK, Place, marks, reference, same, subject

FORGED = [f"X-Saturn-{name}" for name in ("User-Id", "Group-Id", "Resource-Type", "Base-Model", "Org-Id")]
GATEWAY_GROUP = "gateway.networking.k8s.io"


def billed(variant: Variant) -> str | None:
    """Return the id under which requests of a service or its canary are billed."""
    if "interceptor" not in variant.stack or not look(variant.whole, ("interceptor", "enabled"), True):
        return None
    return look(variant.whole, ("interceptor", "resourceId"), variant.key)


def labelled(variant: Variant) -> dict[str, str]:
    """Return the labels by which the interceptor finds whom it bills: on the service's own Service and nowhere else."""
    identity = billed(variant)
    if identity is None or variant.is_canary or variant.stack["interceptor"]["mode"] != "label":
        return {}
    return {"saturncloud.io/resource-id": identity, "saturncloud.io/service-type": "internal"}


def changes(variant: Variant) -> tuple[dict[str, str], list[str]]:
    """Return the headers that a route sets for requests to a variant, and those that it takes from clients."""
    identity = billed(variant)
    if identity is None:
        return {}, []
    if variant.stack["interceptor"]["mode"] == "label":
        return {"X-Saturn-Resource-Id": identity}, [*FORGED, "Accept-Encoding", "X-Saturn-Upstream"]
    domain = look(variant.stack, ("cluster", "domain"), "cluster.local")
    upstream = f"{variant.base}.{variant.namespace}.svc.{domain}:8000"
    return {"X-Saturn-Resource-Id": identity, "X-Saturn-Upstream": upstream}, [*FORGED, "Accept-Encoding"]


def backend(variant: Variant) -> dict[str, Any]:
    """Return where a route leads metered requests."""
    spec = variant.stack["interceptor"]
    elsewhere = {} if spec["namespace"] == variant.namespace else {"namespace": spec["namespace"]}
    return {"group": "", "kind": "Service", "name": _name(spec), "port": spec.get("port", 8080), **elsewhere}


def _name(spec: Mapping[str, Any]) -> str:
    return spec.get("serviceName", "phoebe-interceptor")


def _account(spec: Mapping[str, Any]) -> str:
    return spec.get("serviceAccountName", "phoebe-interceptor")


def readers(stack: Mapping[str, Any], every: Sequence[Variant]) -> Iterator[Place]:
    """Yield where the rights of the interceptor are."""
    for namespace in {variant.namespace for variant in every if labelled(variant)}:
        name = f"{_account(stack['interceptor'])}-services-{STACK}"
        yield from ((kind, name, namespace) for kind in ("Role", "RoleBinding"))


def deployed(stack: Mapping[str, Any], every: Sequence[Variant]) -> Iterator[Place]:
    """Yield where the objects of an interceptor are that the stack deploys."""
    spec = stack.get("interceptor", {})
    if "deploy" not in spec:
        return
    space, name = spec["namespace"], _name(spec)
    yield "ServiceAccount", _account(spec), space
    yield from ((kind, name, space) for kind in ("Service", "Deployment"))
    if "settingsSecret" not in spec["deploy"]:
        yield "ConfigMap", name, space
    if spec["deploy"].get("replicas", 2) > 1:
        yield "PodDisruptionBudget", name, space
    if "networkPolicies" in stack:
        yield "NetworkPolicy", name, space
    led = [variant for variant in every if billed(variant) and variant.is_routed]
    if any(variant.provider == "gke" for variant in led):
        yield from ((kind, name, space) for kind in ("HealthCheckPolicy", "GCPBackendPolicy"))
    if {variant.namespace for variant in led} - {space}:
        yield "ReferenceGrant", f"{name}-routes-{STACK}", space


def the_objects_carry_its_marks(
    stack: Mapping[str, Any], every: Sequence[Variant], index: Mapping[Place, Any]
) -> Iterator[str]:
    """Compare the labels of all objects that are the interceptor's; users' annotations are not theirs."""
    spec = stack.get("interceptor", {})
    owners = {place: _account(spec) for place in readers(stack, every)}
    owners |= {place: _name(spec) for place in deployed(stack, every)}
    for place, owner in owners.items():
        metadata = index.get(place, {}).get("metadata", {})
        labels = stack.get("labels", {}) | marks(owner, "interceptor")
        yield from same(f"{place[0]} {place[1]} labels", metadata.get("labels"), labels)
        skipped = {"pulumi.com/skipAwait": "true"} if place[0] == "Service" else {}
        yield from same(f"{place[0]} {place[1]} annotations", metadata.get("annotations", {}), skipped)


def it_may_get_and_list_services_and_nothing_else(
    stack: Mapping[str, Any], every: Sequence[Variant], index: Mapping[Place, Any]
) -> Iterator[str]:
    """See phoebe 4.1, 4.3."""
    for kind, name, namespace in readers(stack, every):
        each, spec = index[kind, name, namespace], stack["interceptor"]
        if kind == "Role":
            rule = {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]}
            yield from same("interceptor's rules", each["rules"], [rule])
        else:
            yield from same("interceptor's subjects", each["subjects"], [subject(_account(spec), spec["namespace"])])
            yield from same("interceptor's role", each["roleRef"], reference("Role", name))


def it_is_deployed_as_asked(
    stack: Mapping[str, Any], every: Sequence[Variant], index: Mapping[Place, Any]
) -> Iterator[str]:
    """Compare all that the stack makes of its interceptor."""
    expected = dict(_expected(stack, every))
    for place in deployed(stack, every):
        if place[0] in expected:
            fields = {key: value for key, value in index[place].items() if key in expected[place[0]]}
            yield from same(f"interceptor's {place[0]}", fields, expected[place[0]])
    place = ("ConfigMap", _name(stack.get("interceptor", {})), look(stack, ("interceptor", "namespace"), ""))
    if place in index and "deploy" in stack["interceptor"]:
        yield from same("settings", yaml.safe_load(index[place]["data"]["settings.yaml"]), _settings(stack, every))
        text = index[place]["data"]["settings.yaml"]
        template = index["Deployment", *place[1:]]["spec"]["template"]
        checksum = {"checksum/config": hashlib.sha256(text.encode()).hexdigest()}
        yield from same("checksum", template["metadata"].get("annotations"), checksum)


def _settings(stack: Mapping[str, Any], every: Sequence[Variant]) -> dict[str, Any]:
    spec = stack["interceptor"]
    (namespace, *_) = {variant.namespace for variant in every if billed(variant)}
    registry = {"registry": {"strategy": "cached", "k8sNamespace": namespace}} if spec["mode"] == "label" else {}
    emit = {"streamName": "phoebe:metering", "walPath": "/var/lib/phoebe/metering-wal.jsonl"}
    # Longer than the longest time for which a gateway keeps an idle connection: an hour.
    listening = {"listenPort": spec.get("port", 8080), "idleTimeout": "3630s"}
    return {**listening, **registry, "emit": {**emit, **spec["deploy"].get("emit", {})}}


def _expected(stack: Mapping[str, Any], every: Sequence[Variant]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield kind and fields of the interceptor's objects."""
    spec = stack.get("interceptor", {})
    if "deploy" not in spec:
        return
    selector, name = {"inference-stacks.io/interceptor": _name(spec)}, _name(spec)
    port = {"name": "http", "port": spec.get("port", 8080), "targetPort": "http", "protocol": "TCP"}
    ports = [{**port, "appProtocol": "http"}]
    yield "ServiceAccount", {"automountServiceAccountToken": False}
    yield "Service", {"spec": {"type": "ClusterIP", "selector": selector, "ports": ports}}
    budget = {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    yield "PodDisruptionBudget", {"spec": {"selector": {"matchLabels": selector}, **budget}}
    yield "Deployment", {"spec": _workload(stack, index_selector=selector)}
    led = [variant for variant in every if billed(variant) and variant.is_routed]
    sources = sorted({variant.namespace for variant in led} - {spec["namespace"]})
    grants = [{"group": GATEWAY_GROUP, "kind": "HTTPRoute", "namespace": source} for source in sources]
    target = {"group": "", "kind": "Service", "name": name}
    yield "ReferenceGrant", {"spec": {"from": grants, "to": [target]}}
    http = {"requestPath": "/healthz", "port": spec.get("port", 8080)}
    check = {"checkIntervalSec": 2, "timeoutSec": 2, "config": {"type": "HTTP", "httpHealthCheck": http}}
    yield "HealthCheckPolicy", {"spec": {"default": check, "targetRef": target}}
    google = [variant for variant in led if variant.provider == "gke"]
    longest = max((seconds(variant.say("drainTimeout", default="45s")) for variant in google), default=0)
    limits = {"timeoutSec": max(300, longest), "logging": {"enabled": True}}
    yield "GCPBackendPolicy", {"spec": {"default": limits, "targetRef": target}}


def _workload(stack: Mapping[str, Any], *, index_selector: Mapping[str, str]) -> dict[str, Any]:
    spec, deploy = stack["interceptor"], stack["interceptor"]["deploy"]
    labels = stack.get("labels", {}) | marks(_name(spec), "interceptor") | index_selector
    labels.pop("inference-stacks.io/stack", None)
    annotations = {} if "settingsSecret" in deploy else {"annotations": _Any()}
    return {
        "replicas": deploy.get("replicas", 2),
        "selector": {"matchLabels": index_selector},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "progressDeadlineSeconds": 540,
        "template": {"metadata": {"labels": labels, **annotations}, "spec": _pod(spec, deploy, index_selector)},
    }


class _Any:
    """Anything; another check compares it."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def _pod(spec: Mapping[str, Any], deploy: Mapping[str, Any], selector: Mapping[str, str]) -> dict[str, Any]:
    secret, log = deploy.get("settingsSecret"), look(deploy, ("emit", "walPath"), "/var/lib/phoebe/metering-wal.jsonl")
    settings = {"secret": {"secretName": secret}} if secret else {"configMap": {"name": _name(spec)}}
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    return {
        "serviceAccountName": _account(spec),
        "automountServiceAccountToken": spec["mode"] == "label",
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": seconds(deploy.get("drainTimeout", "75s")),
        "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
        "topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": selector}}],
        "securityContext": {
            **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), 65532),
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(spec, deploy, log.rpartition("/")[0])],
        "volumes": [{"name": "settings", **settings}, {"name": "wal", "emptyDir": {"sizeLimit": "1Gi"}}],
    }


def _container(spec: Mapping[str, Any], deploy: Mapping[str, Any], folder: str) -> dict[str, Any]:
    asked = {"httpGet": {"path": "/healthz", "port": "http"}}
    usual = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
    return {
        "name": "interceptor",
        "image": deploy["image"],
        "args": ["-f", "/etc/saturn/config/settings.yaml"],
        "ports": [{"name": "http", "containerPort": spec.get("port", 8080), "protocol": "TCP"}],
        "readinessProbe": {**asked, "periodSeconds": 5},
        "livenessProbe": {**asked, "periodSeconds": 10, "timeoutSeconds": 2, "failureThreshold": 3},
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "resources": deploy.get("resources", usual),
        "terminationMessagePolicy": EXPLAINED,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/saturn/config", "readOnly": True},
            {"name": "wal", "mountPath": folder},
        ],
    }
