"""The endpoint picker of one service and its InferencePool: names, ports, identity and configuration have to agree."""

from typing import Any

from manifests import rbac
from manifests.objects import Manifest, Rendered, compact, metadata
from manifests.pods import CONTAINER_SECURITY, environment, security
from manifests.routing import SKIP_AWAIT
from planning import labels
from planning.order import Id, Part
from planning.picker import CONFIG_KEY, CONFIG_MOUNT, HEALTH_PORT, METRICS_PORT, POOL_GROUP
from planning.stack import VariantPlan

_READ = ["get", "list", "watch"]
_GRACE_SECONDS = 130
"""Longer than an ext-proc stream that the gateway still drains."""


def objects(service: VariantPlan) -> tuple[Rendered, ...]:
    """Render every object of the picker, in the order of their registration."""
    return (
        _service_account(service),
        _role(service),
        _role_binding(service),
        *([_metrics_auth(service)] if service.picker.metrics_auth else []),
        _config(service),
        _service(service),
        _pool(service),
        _deployment(service),
        *([_destination_rule(service)] if service.istio else []),
    )


def _about(service: VariantPlan, **more: Any) -> dict[str, Any]:  # noqa: ANN401, passed through
    own = labels.standard(service.names.base, "endpoint-picker", service.own_labels)
    annotations = {**service.own_annotations, **more.get("annotations", {})}
    return metadata(service.names.picker, service.names.namespace, own, annotations)


def _service_account(service: VariantPlan) -> Rendered:
    manifest = rbac.service_account(_about(service))
    return Rendered(Id(service.owner, Part.PICKER_SERVICE_ACCOUNT), manifest, "service-account")


def _role(service: VariantPlan) -> Rendered:
    """Read this pool by name, and what it selects from; the picker asks for objectives and rewrites by namespace."""
    objectives = ["inferenceobjectives", "inferencemodelrewrites"]
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": _READ},
        {
            "apiGroups": [POOL_GROUP],
            "resources": ["inferencepools"],
            "resourceNames": [service.names.pool],
            "verbs": _READ,
        },
        {"apiGroups": [service.picker.objectives_group], "resources": objectives, "verbs": _READ},
    ]
    return Rendered(Id(service.owner, Part.PICKER_ROLE), rbac.role(_about(service), rules), "role")


def _subjects(service: VariantPlan) -> list[dict[str, str]]:
    return [rbac.subject(service.names.picker, service.names.namespace)]


def _role_binding(service: VariantPlan) -> Rendered:
    manifest = rbac.role_binding(_about(service), service.names.picker, _subjects(service))
    return Rendered(Id(service.owner, Part.PICKER_ROLE_BINDING), manifest, "role-binding")


def _metrics_auth(service: VariantPlan) -> Rendered:
    """Let the picker ask who scrapes it, through the role that Kubernetes ships for that."""
    own = labels.standard(service.names.base, "endpoint-picker", service.own_labels)
    about = metadata(service.names.picker_cluster_scoped, None, own, service.own_annotations)
    manifest = rbac.cluster_role_binding(about, "system:auth-delegator", _subjects(service))
    return Rendered(Id(service.owner, Part.PICKER_METRICS_AUTH), manifest, "metrics-auth")


def _config(service: VariantPlan) -> Rendered:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _about(service),
        "data": {CONFIG_KEY: service.picker.config},
    }
    return Rendered(Id(service.owner, Part.PICKER_CONFIG), manifest, "config")


def _service(service: VariantPlan) -> Rendered:
    port = service.picker.port
    ports = [
        {
            "name": "grpc-ext-proc",
            "port": port,
            "targetPort": port,
            "protocol": "TCP",
            "appProtocol": service.picker.app_protocol,
        },
        {"name": "http-metrics", "port": METRICS_PORT, "targetPort": METRICS_PORT, "protocol": "TCP"},
    ]
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _about(service, annotations=SKIP_AWAIT),
        "spec": {"type": "ClusterIP", "selector": labels.picker_selector(service.names), "ports": ports},
    }
    return Rendered(Id(service.owner, Part.PICKER_SERVICE), manifest, "service")


def _pool(service: VariantPlan) -> Rendered:
    own = labels.standard(service.names.base, "endpoint-picker", service.own_labels)
    manifest = {
        "apiVersion": f"{POOL_GROUP}/v1",
        "kind": "InferencePool",
        "metadata": metadata(service.names.pool, service.names.namespace, own, service.own_annotations),
        "spec": compact(
            {
                "selector": {"matchLabels": labels.pool_selector(service.names)},
                "targetPorts": [{"number": service.port}],
                "appProtocol": service.picker.pool_app_protocol,
                "endpointPickerRef": {
                    "group": "",
                    "kind": "Service",
                    "name": service.names.picker,
                    "port": {"number": service.picker.port},
                    "failureMode": "FailClose",
                },
            }
        ),
    }
    return Rendered(Id(service.owner, Part.POOL), manifest, "pool")


def _deployment(service: VariantPlan) -> Rendered:
    own = labels.standard(service.names.base, "endpoint-picker", service.own_labels)
    selector = labels.picker_selector(service.names)
    template = {
        "metadata": {
            "labels": {**own, **selector},
            "annotations": {"checksum/config": service.picker.checksum()},
        },
        "spec": {
            "serviceAccountName": service.names.picker,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": _GRACE_SECONDS,
            "securityContext": security(),
            "containers": [_container(service)],
            "volumes": [{"name": "config", "configMap": {"name": service.names.picker}}],
        },
    }
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _about(service),
        "spec": {"replicas": 1, "selector": {"matchLabels": selector}, "template": template},
    }
    return Rendered(Id(service.owner, Part.PICKER), manifest, "deployment")


def _container(service: VariantPlan) -> Manifest:
    picker = service.picker

    def health(name: str, period: int) -> dict[str, Any]:
        return {"grpc": {"port": HEALTH_PORT, "service": name}, "periodSeconds": period}

    return {
        "name": "epp",
        "image": picker.image,
        "args": list(picker.arguments),
        "env": environment(picker.env),
        "ports": [
            {"name": "grpc-ext-proc", "containerPort": picker.port, "protocol": "TCP"},
            {"name": "grpc-health", "containerPort": HEALTH_PORT, "protocol": "TCP"},
            {"name": "http-metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": health(picker.readiness_service, 2),
        "livenessProbe": {**health(picker.liveness_service, 10), "initialDelaySeconds": 5},
        "resources": {"requests": picker.requests, "limits": picker.limits},
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "config", "mountPath": CONFIG_MOUNT, "readOnly": True}],
    }


def _destination_rule(service: VariantPlan) -> Rendered:
    """Make Istio speak TLS to the ext-proc port, and to that port only: metrics are plain HTTP.

    The picker makes its own certificate at start, so there is nothing yet to verify it against.
    """
    tls = {"mode": "SIMPLE", "insecureSkipVerify": True}
    settings = [{"port": {"number": service.picker.port}, "tls": tls}]
    manifest = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": _about(service),
        "spec": {"host": service.host(service.names.picker), "trafficPolicy": {"portLevelSettings": settings}},
    }
    return Rendered(Id(service.owner, Part.DESTINATION_RULE), manifest, "destination-rule")
