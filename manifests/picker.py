"""Objects of a variant's endpoint picker, and the InferencePool. They must agree in names, ports and labels."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from manifests import about, awaiting, rbac
from manifests.objects import Manifest, Rendered, compact, sort_keys
from manifests.pods import (
    CERTIFICATE_VOLUME,
    CONTAINER_SECURITY,
    PASSED,
    TERMINATION,
    annotation_origins,
    certificate_mounts,
    certificate_volumes,
    environment,
    scheduling,
    secret_origins,
    security,
    strategy,
    token_mount,
    token_volume,
)
from models.paths import Path
from planning.ground import labels, parts, patch
from planning.ground.api_groups import DEPLOYMENT_API, POOL_GROUP
from planning.ground.awaiting import SERVICE
from planning.ground.mounts import CONFIG_MOUNT
from planning.ground.ports import HEALTH_PORT, METRICS_PORT
from planning.network.monitoring import PICKER_PORT
from planning.picker import proxy
from planning.picker.containers import PICKER_CONTAINER, Companion
from planning.picker.deployment import CONFIG_KEY, HealthProbe, Origination
from planning.picker.proxy import ProxyPlan
from planning.plans import VariantPlan

_EXT_PROC = "grpc-ext-proc"
"""Name of the port at which the gateway asks the picker which pod takes a request. Pods and Service have this port."""
_HTTP = "http"
"""Name of the port at which the proxy takes requests."""
_PROXY_USER = 65532
"""User id of the proxy. Envoy's images name root, or a user by name, and write nothing."""
_TOKEN = "api-token"  # noqa: S105, a name
"""Name of the volume with the token with which the picker asks the API server. No other container mounts it."""


def objects(variant: VariantPlan) -> Iterator[Rendered]:
    """Render every object of the picker in the order of registration."""
    yield _service_account(variant)
    yield _role(variant)
    yield _role_binding(variant)
    if variant.picker.metrics_auth:
        yield _metrics_auth(variant)
    yield _config(variant)
    yield _service(variant)
    yield _pool(variant)
    yield _deployment(variant)
    if variant.picker.origination is not None:
        yield _destination_rule(variant, variant.picker.origination)


def _metadata(variant: VariantPlan, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    return about.metadata(variant, about.PICKER, variant.names.picker, annotations=annotations or {})


def _service_account(variant: VariantPlan) -> Rendered:
    manifest = rbac.service_account(_metadata(variant))
    return about.part_object(variant, parts.PICKER_SERVICE_ACCOUNT, manifest)


def _role(variant: VariantPlan) -> Rendered:
    """Render the Role of the picker."""
    return about.part_object(variant, parts.PICKER_ROLE, rbac.role(_metadata(variant), variant.picker.rules))


def _subjects(variant: VariantPlan) -> list[dict[str, str]]:
    return [rbac.subject(variant.names.picker, variant.names.namespace)]


def _role_binding(variant: VariantPlan) -> Rendered:
    manifest = rbac.role_binding(_metadata(variant), variant.names.picker, _subjects(variant))
    return about.part_object(variant, parts.PICKER_ROLE_BINDING, manifest)


def _metrics_auth(variant: VariantPlan) -> Rendered:
    """Render the binding to the ClusterRole `system:auth-delegator`, so that the picker can authenticate scrapers."""
    metadata = about.cluster_metadata(variant, about.PICKER, variant.names.picker_cluster_scoped)
    manifest = rbac.cluster_role_binding(metadata, "system:auth-delegator", _subjects(variant))
    return about.part_object(variant, parts.PICKER_METRICS_AUTH, manifest)


def _config(variant: VariantPlan) -> Rendered:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(variant),
        "data": compact({CONFIG_KEY: variant.picker.config, proxy.CONFIG_KEY: _proxy_config(variant)}),
    }
    return about.part_object(variant, parts.PICKER_CONFIG, manifest)


def _proxy_config(variant: VariantPlan) -> str | None:
    plan = variant.picker.proxy
    return None if plan is None else plan.config


def _service(variant: VariantPlan) -> Rendered:
    port = variant.picker.port
    ports = [
        {
            "name": _EXT_PROC,
            "port": port,
            "targetPort": port,
            "protocol": "TCP",
            "appProtocol": variant.picker.app_protocol,
        },
        {"name": PICKER_PORT, "port": METRICS_PORT, "targetPort": METRICS_PORT, "protocol": "TCP"},
    ]
    selector = labels.picker_selector(variant.names)
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        # The Service has the same labels as its pods, because the ServiceMonitor selects the Service by these labels.
        "metadata": about.metadata(variant, about.PICKER, variant.names.picker, selector),
        "spec": {"type": "ClusterIP", "selector": selector, "ports": ports},
    }
    return awaiting.with_wait(about.part_object(variant, parts.PICKER_SERVICE, manifest), SERVICE)


def proxy_service(variant: VariantPlan, plan: ProxyPlan) -> Rendered:
    """Render the Service through which clients within the cluster reach the proxies of a variant's current pickers."""
    port = {
        "name": _HTTP,
        "port": plan.service_port,
        "targetPort": plan.port,
        "protocol": "TCP",
        "appProtocol": "http",
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": about.metadata(variant, about.PICKER, variant.names.proxy),
        "spec": {"type": "ClusterIP", "selector": labels.picker_selector(variant.names), "ports": [port]},
    }
    return awaiting.with_wait(about.part_object(variant, parts.PROXY_SERVICE, manifest), SERVICE)


def _pool(variant: VariantPlan) -> Rendered:
    annotations = compact({labels.FAIL_OPEN_REASON: variant.picker.fail_open_reason})
    manifest = {
        "apiVersion": f"{POOL_GROUP}/v1",
        "kind": "InferencePool",
        "metadata": about.metadata(variant, about.PICKER, variant.names.pool, annotations=annotations),
        "spec": compact(
            {
                "selector": {"matchLabels": labels.pool_selector(variant.names)},
                "targetPorts": [{"number": port} for port in variant.target_ports],
                "appProtocol": variant.picker.pool_app_protocol,
                "endpointPickerRef": {
                    "group": "",
                    "kind": "Service",
                    "name": variant.names.picker,
                    "port": {"number": variant.picker.port},
                    "failureMode": variant.picker.failure_mode,
                },
            }
        ),
    }
    return about.part_object(variant, parts.POOL, manifest)


def _deployment(variant: VariantPlan) -> Rendered:
    picker = variant.picker
    selector = labels.picker_selector(variant.names)
    template = {
        "metadata": {
            "labels": about.object_labels(variant, about.PICKER, base=picker.pod_labels, override=selector),
            "annotations": sort_keys({**picker.pod_annotations, "checksum/config": picker.checksum()}),
        },
        "spec": _pod(variant),
    }
    rollout: dict[str, Any] = {}
    if picker.rollout is not None:
        rollout = strategy(picker.rollout)
    spec = {
        "replicas": picker.replicas,
        "selector": {"matchLabels": selector},
        "strategy": rollout,
        "progressDeadlineSeconds": picker.start,
        "template": template,
    }
    manifest = {
        "apiVersion": DEPLOYMENT_API,
        "kind": "Deployment",
        "metadata": _metadata(variant),
        "spec": compact(spec),
    }
    patched = patch.apply(awaiting.annotate(manifest, picker.wait), picker.patch)
    rendered = about.part_object(variant, parts.PICKER, patched)
    return replace(rendered, wait=picker.wait, origins=_origins(variant, manifest, patched))


def _origins(variant: VariantPlan, unpatched: Manifest, manifest: Manifest) -> dict[Path, Path]:
    """Return the origins of the Deployment's fields that come unchanged from the user's configuration.

    Keys are paths in the Deployment. Values are paths in the configuration.
    """
    at = variant.path / "endpointPicker"
    top = at / "pod"
    patch_origins: dict[Path, Path] = {}
    if variant.picker.patch:
        patch_origins = patch.origins(at / "patch", variant.picker.patch, manifest)
    annotations = {key: top / "annotations" / key for key in variant.picker.pod_annotations}
    passed = {place: top / place[-1] for place in PASSED["Deployment"]}
    env = {PICKER_CONTAINER: variant.picker.env}
    env |= {companion.name: companion.env for companion in variant.picker.companions}
    secrets = secret_origins(unpatched, env, {CERTIFICATE_VOLUME: Path(*at, "tls", "secret")})
    return {**annotation_origins("Deployment", annotations), **passed, **secrets, **patch_origins}


def _pod(variant: VariantPlan) -> dict[str, Any]:
    picker = variant.picker
    return compact(
        {
            "serviceAccountName": variant.names.picker,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "imagePullSecrets": [{"name": name} for name in picker.image_pull_secrets],
            "terminationGracePeriodSeconds": picker.grace,
            **scheduling(picker.placement),
            "securityContext": security(),
            "containers": [_container(variant), *_proxies(picker.proxy), *map(_companion, picker.companions)],
            "volumes": [
                {"name": "config", "configMap": {"name": variant.names.picker}},
                token_volume(_TOKEN),
                *certificate_volumes(picker.certificate),
                *(
                    {"name": companion.name, "emptyDir": {"sizeLimit": companion.folder.size}}
                    for companion in picker.companions
                    if companion.folder is not None
                ),
            ],
        }
    )


def _container(variant: VariantPlan) -> Manifest:
    picker = variant.picker
    return {
        "name": PICKER_CONTAINER,
        "image": picker.image,
        "args": list(picker.arguments),
        "env": environment(picker.env),
        "ports": [
            {"name": _EXT_PROC, "containerPort": picker.port, "protocol": "TCP"},
            {"name": "grpc-health", "containerPort": HEALTH_PORT, "protocol": "TCP"},
            {"name": PICKER_PORT, "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": _probe(picker.readiness),
        "livenessProbe": _probe(picker.liveness),
        "resources": {"requests": picker.requests, "limits": picker.limits},
        **TERMINATION,
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_MOUNT, "readOnly": True},
            token_mount(_TOKEN),
            *certificate_mounts(picker.certificate),
        ],
    }


def _companion(companion: Companion) -> Manifest:
    """Render a further container of the picker's pods.

    The container's root file system is writable, because most images write to it.
    """
    mounts: list[dict[str, Any]] = []
    probe: dict[str, Any] = {}
    if companion.folder is not None:
        mounts = [{"name": companion.name, "mountPath": companion.folder.path}]
    if companion.live_path is not None:
        probe = _live(companion.live_path, companion.ports[0])
    return compact(
        {
            "name": companion.name,
            "image": companion.image,
            "command": list(companion.command),
            "args": list(companion.arguments),
            "env": environment(companion.env),
            "ports": [{"containerPort": port, "protocol": "TCP"} for port in companion.ports],
            "livenessProbe": probe,
            "resources": compact({"requests": companion.requests, "limits": companion.limits}),
            **TERMINATION,
            "securityContext": compact({**CONTAINER_SECURITY, "runAsUser": companion.user}),
            "volumeMounts": mounts,
        }
    )


def _proxies(plan: ProxyPlan | None) -> Iterator[Manifest]:
    """Yield the proxy beside the picker, if there is one. It ends after the requests that still run."""
    if plan is None:
        return
    ready = {"httpGet": {"path": proxy.READY_PATH, "port": proxy.READY_PORT}}
    yield {
        "name": proxy.CONTAINER,
        "image": plan.image,
        # Envoy takes the value of a flag as an argument of its own alone.
        "args": [
            "--config-path",
            f"{CONFIG_MOUNT}/{proxy.CONFIG_KEY}",
            "--disable-hot-restart",
            "--log-level",
            "warning",
        ],
        "ports": [
            {"name": _HTTP, "containerPort": plan.port, "protocol": "TCP"},
            {"name": "proxy-ready", "containerPort": proxy.READY_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": {**ready, "periodSeconds": 2},
        "livenessProbe": {**ready, "periodSeconds": 10},
        "lifecycle": {"preStop": {"sleep": {"seconds": plan.pre_stop}}},
        "resources": compact({"requests": plan.requests, "limits": plan.limits}),
        **TERMINATION,
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True, "runAsUser": _PROXY_USER},
        "volumeMounts": [{"name": "config", "mountPath": CONFIG_MOUNT, "readOnly": True}],
    }


def _live(path: str, port: int) -> dict[str, Any]:
    """Render the liveness probe of a further container, with the times of llm-d-router's Helm chart."""
    return {"httpGet": {"path": path, "port": port}, "initialDelaySeconds": 30, "periodSeconds": 20}


def _probe(probe: HealthProbe) -> dict[str, Any]:
    grpc = {"port": HEALTH_PORT, "service": probe.service}
    return compact({"grpc": grpc, "periodSeconds": probe.interval, "initialDelaySeconds": probe.initial_delay})


def _destination_rule(variant: VariantPlan, origination: Origination) -> Rendered:
    """Render the rule for TLS from Istio to the picker.

    The rule covers only the ext-proc port, because the picker serves metrics in plain HTTP.
    """
    host = variant.host(variant.names.picker)
    trust: dict[str, Any] = {"insecureSkipVerify": True}
    if origination.authority is not None:
        trust = {"credentialName": origination.authority, "subjectAltNames": [host]}
    settings = [{"port": {"number": variant.picker.port}, "tls": {"mode": "SIMPLE", **trust}}]
    manifest = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": _metadata(variant),
        "spec": {"host": host, "trafficPolicy": {"portLevelSettings": settings}},
    }
    return about.part_object(variant, parts.DESTINATION_RULE, manifest)
