"""Adapter that registers rendered objects with Pulumi's Kubernetes SDK.

Built-in kinds are registered with the SDK's typed class, all others with CustomResource.
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
"""Name of the SDK's class for each built-in kind. The values are names instead of classes, because the SDK imports a
module only when the module is first used."""
_CUSTOM = "apiextensions.CustomResource"
_ARGUMENTS = {"automountServiceAccountToken": "automount_service_account_token", "roleRef": "role_ref"}
"""Arguments of the SDK's classes for top-level fields whose names differ in Python. Keys inside these fields do not
change."""

Registered = dict[Id, pulumi.Resource]
"""Registered resources by id. All components of a stack share one mapping, because an object may depend on an object of
another component."""


def register(name: str, objects: Iterable[Rendered], registered: Registered, opts: pulumi.ResourceOptions) -> None:
    """Register the objects of the component `name`, and add them to `registered`.

    The predecessors of an object must come earlier in `objects`, or be in `registered` already.
    """
    for rendered in objects:
        options = pulumi.ResourceOptions(
            depends_on=[registered[predecessor] for predecessor in rendered.after],
            custom_timeouts=_timeouts(rendered.wait.seconds),
            replace_on_changes=["spec"] if rendered.replace else None,
            delete_before_replace=rendered.replace or None,
            ignore_changes=list(rendered.ignore) or None,
            retain_on_delete=rendered.retain or None,
            protect=rendered.protect or None,
        )
        merged = pulumi.ResourceOptions.merge(opts, options)
        registered[rendered.id] = _make(f"{name}-{rendered.suffix}", rendered, merged)


def class_name(rendered: Rendered) -> str:
    """Return the name of the SDK's class that registers an object."""
    return _CLASSES.get(rendered.api, _CUSTOM)


def arguments(rendered: Rendered) -> dict[str, Any]:
    """Return the arguments of the SDK's class that registers an object."""
    manifest = rendered.manifest
    if class_name(rendered) == _CUSTOM:
        identity = {"api_version": manifest["apiVersion"], "kind": manifest["kind"]}
        return {**identity, "metadata": manifest["metadata"], "spec": manifest["spec"]}
    fields = ((field, value) for field, value in manifest.items() if field not in {"apiVersion", "kind"})
    return {_ARGUMENTS.get(field, field): value for field, value in fields}


def _timeouts(seconds: int | None) -> pulumi.CustomTimeouts | None:
    return None if seconds is None else pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s")


def _make(name: str, rendered: Rendered, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Register one object under a logical name."""
    return attrgetter(class_name(rendered))(k8s)(name, **arguments(rendered), opts=opts)
