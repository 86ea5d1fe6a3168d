"""The endpoint picker of one service and its InferencePool: names, ports, identity and configuration have to agree."""

import json
from typing import Any

from manifests import rbac
from manifests.objects import Manifest, Rendered, compact, metadata
from manifests.pods import CONTAINER_SECURITY, PASSED, environment, scheduling, security
from manifests.routing import SKIP_AWAIT
from planning import labels
from planning.lifecycle import WAIT_MARGIN
from planning.monitoring import PICKER_PORT
from planning.order import Id, Part
from planning.picker import (
    CERTIFICATE_MOUNT,
    CONFIG_KEY,
    CONFIG_MOUNT,
    HEALTH_PORT,
    METRICS_PORT,
    POOL_GROUP,
    Picker,
)
from planning.stack import VariantPlan

_COUNTED = "jsonpath={$[?(@.observedGeneration==$.metadata.generation)].observedGeneration}"
"""The numbers in a status say nothing until they were counted for this generation."""


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
        *([_destination_rule(service)] if service.istio and service.picker.tls.encrypted else []),
    )


def _about(service: VariantPlan, **more: Any) -> dict[str, Any]:  # noqa: ANN401, passed through
    own = {
        **labels.standard(service.names.base, "endpoint-picker", service.own_labels),
        **more.get("labels", {}),
    }
    annotations = {**service.own_annotations, **more.get("annotations", {})}
    return metadata(service.names.picker, service.names.namespace, own, annotations)


def _service_account(service: VariantPlan) -> Rendered:
    manifest = rbac.service_account(_about(service))
    return Rendered(Id(service.owner, Part.PICKER_SERVICE_ACCOUNT), manifest, "service-account")


def _role(service: VariantPlan) -> Rendered:
    """Render what the picker may do; it asks for objectives and rewrites by namespace, and for its pool by name."""
    return Rendered(Id(service.owner, Part.PICKER_ROLE), rbac.role(_about(service), service.picker.rules), "role")


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
        {"name": PICKER_PORT, "port": METRICS_PORT, "targetPort": METRICS_PORT, "protocol": "TCP"},
    ]
    selector = labels.picker_selector(service.names)
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        # The Service is itself found by what its pods are: by the one monitor that is its own.
        "metadata": _about(service, annotations=SKIP_AWAIT, labels=selector),
        "spec": {"type": "ClusterIP", "selector": selector, "ports": ports},
    }
    return Rendered(Id(service.owner, Part.PICKER_SERVICE), manifest, "service")


def _pool(service: VariantPlan) -> Rendered:
    own = labels.standard(service.names.base, "endpoint-picker", service.own_labels)
    reason = service.picker.fail_open_reason
    annotations = {**service.own_annotations, **({} if reason is None else {labels.FAIL_OPEN_REASON: reason})}
    manifest = {
        "apiVersion": f"{POOL_GROUP}/v1",
        "kind": "InferencePool",
        "metadata": metadata(service.names.pool, service.names.namespace, own, annotations),
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
                    "failureMode": service.picker.failure_mode,
                },
            }
        ),
    }
    return Rendered(Id(service.owner, Part.POOL), manifest, "pool")


def _deployment(service: VariantPlan) -> Rendered:
    picker, selector = service.picker, labels.picker_selector(service.names)
    own = labels.standard(service.names.base, "endpoint-picker", {**service.own_labels, **picker.pod_labels})
    template = {
        "metadata": {
            "labels": {**own, **selector},
            "annotations": {**picker.pod_annotations, "checksum/config": picker.checksum()},
        },
        "spec": _pod(service),
    }
    spec = {
        "replicas": picker.replicas,
        "selector": {"matchLabels": selector},
        "strategy": _strategy(picker),
        "progressDeadlineSeconds": picker.start,
        "template": template,
    }
    waits = {"pulumi.com/waitFor": json.dumps(_elected(picker))} if picker.elects else {}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _about(service, annotations=waits),
        "spec": compact(spec),
    }
    passed: dict[tuple[str | int, ...], str] = {
        ("spec", "template", "spec", field): f"services.{service.owner}.endpointPicker.pod.{field}" for field in PASSED
    }
    identity, wait = Id(service.owner, Part.PICKER), picker.start + WAIT_MARGIN
    return Rendered(identity, manifest, "deployment", wait=wait, origins=passed)


def _strategy(picker: Picker) -> dict[str, Any]:
    """Return how pickers are replaced. Of several, those that wait for the lease are never ready: all go at once."""
    if not picker.elects:
        return {}
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": picker.replicas}}


def _elected(picker: Picker) -> list[str]:
    """Return when several pickers are up: all are as they are written now, no other is left, and one of them leads."""
    wanted = {"updatedReplicas": picker.replicas, "replicas": picker.replicas, "readyReplicas": 1}
    return [_COUNTED, *(f"jsonpath={{.status.{field}}}={number}" for field, number in wanted.items())]


def _pod(service: VariantPlan) -> dict[str, Any]:
    picker = service.picker
    secret = picker.tls.certificate
    certificate = [] if secret is None else [{"name": "certificate", "secret": {"secretName": secret}}]
    return compact(
        {
            "serviceAccountName": service.names.picker,
            "enableServiceLinks": False,
            "imagePullSecrets": [{"name": name} for name in picker.image_pull_secrets],
            "terminationGracePeriodSeconds": picker.grace,
            **scheduling(picker.placement),
            "securityContext": security(),
            "containers": [_container(service)],
            "volumes": [{"name": "config", "configMap": {"name": service.names.picker}}, *certificate],
        }
    )


def _container(service: VariantPlan) -> Manifest:
    picker = service.picker
    certificate = {"name": "certificate", "mountPath": CERTIFICATE_MOUNT}

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
            {"name": PICKER_PORT, "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": health(picker.readiness_service, 2),
        "livenessProbe": {**health(picker.liveness_service, 10), "initialDelaySeconds": 5},
        "resources": {"requests": picker.requests, "limits": picker.limits},
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_MOUNT, "readOnly": True},
            *([{**certificate, "readOnly": True}] if picker.tls.certificate is not None else []),
        ],
    }


def _destination_rule(service: VariantPlan) -> Rendered:
    """Make Istio speak TLS to the ext-proc port, and to that port only: metrics are plain HTTP."""
    host, authority = service.host(service.names.picker), service.picker.tls.authority
    # A certificate that the picker makes at start cannot be known to anybody.
    trust = {"insecureSkipVerify": True}
    if authority is not None:
        trust = {"credentialName": authority, "subjectAltNames": [host]}
    settings = [{"port": {"number": service.picker.port}, "tls": {"mode": "SIMPLE", **trust}}]
    manifest = {
        "apiVersion": "networking.istio.io/v1",
        "kind": "DestinationRule",
        "metadata": _about(service),
        "spec": {"host": host, "trafficPolicy": {"portLevelSettings": settings}},
    }
    return Rendered(Id(service.owner, Part.DESTINATION_RULE), manifest, "destination-rule")
