"""Objects of the interceptor: its rights, the grant for routes, and its own deployment."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from manifests import awaiting, gke, network, rbac
from manifests.objects import Manifest, Rendered, compact, metadata
from manifests.pods import CONTAINER_SECURITY, TERMINATION, security, strategy
from models.paths import Path
from planning.ground import labels, parts
from planning.ground.api_groups import DEPLOYMENT_API, GATEWAY_GROUP
from planning.ground.awaiting import SERVICE
from planning.ground.order import Id
from planning.ground.parts import Part
from planning.interceptor import OWNER, InterceptorGrant, InterceptorPlan
from planning.interceptor.deployment import Check, Deployment
from planning.plans import StackPlan

_COMPONENT = "interceptor"
_CONTAINER = "interceptor"
_PORT = "http"
_SETTINGS = "settings"
"""Name of the volume with the settings."""
_SETTINGS_SECRET = Path("spec", "template", "spec", "volumes", 0, "secret", "secretName")
_ORIGINS = {_SETTINGS_SECRET: Path("interceptor", "deploy", "settingsSecret")}
"""Origin of the name of the Secret with the settings, which is in the first volume."""
_WAL = "wal"
"""Name of the volume with the write-ahead log."""
_CHECKSUM = "checksum/config"
"""Annotation with the checksum of the settings. A new checksum replaces the pods, because the interceptor reads
settings only at start."""


def objects(plan: StackPlan) -> Iterator[Rendered]:
    """Render the objects of the interceptor in the order of registration; none if the stack meters nothing."""
    for grant in plan.grants:
        yield from _service_readers(grant, plan.labels)
    if plan.interceptor is None or plan.interceptor.deployment is None:
        return
    interceptor = plan.interceptor
    about = _InterceptorMetadata(interceptor, plan.labels)
    yield _part_object(parts.INTERCEPTOR_SERVICE_ACCOUNT, _account(about, interceptor))
    yield from _network(about, plan)
    yield from _deployment_objects(about, interceptor, plan.interceptor.deployment)
    if interceptor.route_grant is not None:
        sources = [
            {"group": GATEWAY_GROUP, "kind": "HTTPRoute", "namespace": source}
            for source in interceptor.route_grant.sources
        ]
        grant = {
            "apiVersion": f"{GATEWAY_GROUP}/v1beta1",
            "kind": "ReferenceGrant",
            "metadata": about.metadata_of(interceptor.route_grant.name),
            "spec": {"from": sources, "to": [{"group": "", "kind": "Service", "name": interceptor.service}]},
        }
        yield _part_object(parts.INTERCEPTOR_ROUTE_GRANT, grant)


class _InterceptorMetadata:
    """Metadata of the objects of the interceptor's deployment."""

    def __init__(self, interceptor: InterceptorPlan, stack_labels: Mapping[str, str]) -> None:
        self._namespace = interceptor.namespace
        self.labels = labels.standard(interceptor.service, _COMPONENT, stack_labels)

    def metadata_of(self, name: str) -> dict[str, Any]:
        """Return the metadata of an object."""
        return metadata(name, self._namespace, self.labels)


def _part_object(part: Part, manifest: Manifest) -> Rendered:
    return Rendered(Id(OWNER, part), manifest, part.suffix)


def _service_readers(grant: InterceptorGrant, stack_labels: Mapping[str, str]) -> tuple[Rendered, ...]:
    """Render the interceptor's Role and RoleBinding in a namespace that has services."""
    role_metadata = metadata(
        grant.role_name, grant.namespace, labels.standard(grant.app_label, _COMPONENT, stack_labels)
    )
    role = rbac.role(role_metadata, grant.rules)
    binding = rbac.role_binding(
        role_metadata, grant.role_name, [rbac.subject(grant.service_account, grant.subject_namespace)]
    )
    return tuple(
        Rendered(Id(grant.owner, part), manifest, f"{grant.namespace}-{part.suffix}")
        for part, manifest in ((parts.INTERCEPTOR_ROLE, role), (parts.INTERCEPTOR_ROLE_BINDING, binding))
    )


def _account(about: _InterceptorMetadata, interceptor: InterceptorPlan) -> Manifest:
    """Render the ServiceAccount. Its token is mounted only into pods whose spec asks for the token."""
    account = rbac.service_account(about.metadata_of(interceptor.service_account))
    return {**account, "automountServiceAccountToken": False}


def _network(about: _InterceptorMetadata, plan: StackPlan) -> Iterator[Rendered]:
    """Render the network policy of the pods, and the policies of GKE's load balancer for the Service."""
    network_plan = plan.interceptor_network
    if network_plan.policy is not None:
        policy = network.manifest(network_plan.policy, about.metadata_of(network_plan.policy.name))
        yield _part_object(parts.INTERCEPTOR_NETWORK_POLICY, policy)
    if network_plan.load_balancing is not None and plan.interceptor is not None:
        name = plan.interceptor.service
        target = {"group": "", "kind": "Service", "name": name}
        health, backend = gke.policies(network_plan.load_balancing, about.metadata_of(name), target)
        yield _part_object(parts.INTERCEPTOR_HEALTH_CHECK_POLICY, health)
        yield _part_object(parts.INTERCEPTOR_BACKEND_POLICY, backend)


def _deployment_objects(
    about: _InterceptorMetadata, interceptor: InterceptorPlan, deployment: Deployment
) -> Iterator[Rendered]:
    name = interceptor.service
    selector = dict(deployment.selector)
    if deployment.settings is not None:
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": about.metadata_of(name),
            "data": {deployment.settings_file: deployment.settings},
        }
        yield _part_object(parts.INTERCEPTOR_CONFIG, config)
    # The process speaks only HTTP/1.1 in plain text.
    port = {"name": _PORT, "port": interceptor.port, "targetPort": _PORT, "protocol": "TCP", "appProtocol": "http"}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": about.metadata_of(name),
        "spec": {"type": "ClusterIP", "selector": selector, "ports": [port]},
    }
    yield awaiting.with_wait(_part_object(parts.INTERCEPTOR_SERVICE, service), SERVICE)
    if deployment.replicas > 1:
        budget = {
            "maxUnavailable": 1,
            "selector": {"matchLabels": selector},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        }
        manifest = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": about.metadata_of(name),
            "spec": budget,
        }
        yield _part_object(parts.INTERCEPTOR_BUDGET, manifest)
    rendered = _part_object(parts.INTERCEPTOR, _deployment(about, interceptor, deployment))
    yield awaiting.with_wait(replace(rendered, origins=_ORIGINS), deployment.wait)


def _deployment(about: _InterceptorMetadata, interceptor: InterceptorPlan, deployment: Deployment) -> Manifest:
    selector = dict(deployment.selector)
    annotations = compact({_CHECKSUM: deployment.checksum})
    template = {
        "metadata": compact({"labels": {**about.labels, **selector}, "annotations": annotations}),
        "spec": _pod(interceptor, deployment),
    }
    return {
        "apiVersion": DEPLOYMENT_API,
        "kind": "Deployment",
        "metadata": about.metadata_of(interceptor.service),
        "spec": {
            "replicas": deployment.replicas,
            "selector": {"matchLabels": selector},
            "strategy": strategy(deployment.rollout),
            "progressDeadlineSeconds": deployment.start,
            "template": template,
        },
    }


def _pod(interceptor: InterceptorPlan, deployment: Deployment) -> dict[str, Any]:
    settings: dict[str, Any] = {"configMap": {"name": interceptor.service}}
    if deployment.settings_secret:
        settings = {"secret": {"secretName": deployment.settings_secret}}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(deployment.selector)},
    }
    return {
        "serviceAccountName": interceptor.service_account,
        "automountServiceAccountToken": deployment.mounts_token,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": deployment.grace,
        # By default, a resolver first appends each search domain to a name with fewer than five dots. Names of Services
        # have four dots, so a lower `ndots` saves these lookups.
        "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
        "topologySpreadConstraints": [spread],
        "securityContext": security(deployment.user, deployment.user),
        "containers": [_container(interceptor, deployment)],
        "volumes": [
            {"name": _SETTINGS, **settings},
            {"name": _WAL, "emptyDir": {"sizeLimit": deployment.wal_size}},
        ],
    }


def _container(interceptor: InterceptorPlan, deployment: Deployment) -> Manifest:
    return compact(
        {
            "name": _CONTAINER,
            "image": deployment.image,
            "args": list(deployment.arguments),
            "ports": [{"name": _PORT, "containerPort": interceptor.port, "protocol": "TCP"}],
            "readinessProbe": _probe(deployment.readiness),
            "livenessProbe": _probe(deployment.liveness),
            "lifecycle": {"preStop": {"sleep": {"seconds": deployment.pre_stop}}},
            "resources": compact({"requests": dict(deployment.requests), "limits": dict(deployment.limits)}),
            **TERMINATION,
            "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
            "volumeMounts": [
                {"name": _SETTINGS, "mountPath": deployment.settings_folder, "readOnly": True},
                {"name": _WAL, "mountPath": deployment.wal_folder},
            ],
        }
    )


def _probe(check: Check) -> dict[str, Any]:
    times = {"periodSeconds": check.interval, "timeoutSeconds": check.timeout, "failureThreshold": check.failures}
    return compact({"httpGet": {"path": check.path, "port": _PORT}, **times})
