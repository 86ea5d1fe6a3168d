"""The one adapter between rendered objects and the SDK.

Built-in kinds get the SDK's typed class from one table, all others CustomResource.
"""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from manifests.objects import Rendered
from planning.ground.order import Id

_CLASSES: Mapping[str, str] = {
    "apps/v1/Deployment": "apps.v1.Deployment",
    "autoscaling/v2/HorizontalPodAutoscaler": "autoscaling.v2.HorizontalPodAutoscaler",
    "batch/v1/Job": "batch.v1.Job",
    "networking.k8s.io/v1/NetworkPolicy": "networking.v1.NetworkPolicy",
    "policy/v1/PodDisruptionBudget": "policy.v1.PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1/ClusterRole": "rbac.v1.ClusterRole",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding": "rbac.v1.ClusterRoleBinding",
    "rbac.authorization.k8s.io/v1/Role": "rbac.v1.Role",
    "rbac.authorization.k8s.io/v1/RoleBinding": "rbac.v1.RoleBinding",
    "resource.k8s.io/v1/ResourceClaimTemplate": "resource.v1.ResourceClaimTemplate",
    "v1/ConfigMap": "core.v1.ConfigMap",
    "v1/Namespace": "core.v1.Namespace",
    "v1/PersistentVolumeClaim": "core.v1.PersistentVolumeClaim",
    "v1/Secret": "core.v1.Secret",
    "v1/Service": "core.v1.Service",
    "v1/ServiceAccount": "core.v1.ServiceAccount",
}
"""The SDK's class for each built-in kind; its modules load when they are first asked for."""
_ARGUMENTS = {"automountServiceAccountToken": "automount_service_account_token", "roleRef": "role_ref"}
"""Top-level fields whose Python argument is spelt otherwise; everything below them passes through as it is."""

Registry = dict[Id, pulumi.Resource]
"""What is registered so far. The components of one stack share it, because order crosses them."""


def register(name: str, objects: Iterable[Rendered], registry: Registry, opts: pulumi.ResourceOptions) -> None:
    """Register objects below a component called `name`, each after what it needs, and note them in the registry."""
    for one in objects:
        before = [registry[earlier] for earlier in one.after]
        waits = _timeouts(one.wait.seconds)
        anew = ["spec"] if one.replace else None
        own = pulumi.ResourceOptions(
            depends_on=before,
            custom_timeouts=waits,
            replace_on_changes=anew,
            delete_before_replace=one.replace or None,
            ignore_changes=list(one.ignore) or None,
            retain_on_delete=one.retain or None,
            protect=one.protect or None,
        )
        registry[one.id] = _make(f"{name}-{one.suffix}", one, pulumi.ResourceOptions.merge(opts, own))


def _timeouts(seconds: int | None) -> pulumi.CustomTimeouts | None:
    return None if seconds is None else pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s")


def _make(name: str, one: Rendered, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    typed = _CLASSES.get(one.api)
    if typed is None:
        manifest = one.manifest
        return k8s.apiextensions.CustomResource(
            name,
            api_version=manifest["apiVersion"],
            kind=manifest["kind"],
            metadata=manifest["metadata"],
            spec=manifest["spec"],
            opts=opts,
        )
    fields: dict[str, Any] = {
        _ARGUMENTS.get(field, field): value
        for field, value in one.manifest.items()
        if field not in {"apiVersion", "kind"}
    }
    return attrgetter(typed)(k8s)(name, **fields, opts=opts)
