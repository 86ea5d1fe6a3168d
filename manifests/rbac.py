"""Manifests of role-based access control: service accounts, roles and bindings."""

from collections.abc import Iterable, Mapping
from typing import Any

_GROUP = "rbac.authorization.k8s.io"


def service_account(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ServiceAccount."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def role(metadata: Mapping[str, Any], rules: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a Role. Its rules apply in its namespace."""
    return {"apiVersion": f"{_GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)}


def cluster_role(metadata: Mapping[str, Any], rules: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a ClusterRole. Its rules can apply in every namespace and to cluster-scoped resources."""
    return {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)}


def role_binding(metadata: Mapping[str, Any], role_name: str, subjects: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Return a RoleBinding. It gives the subjects a Role of the binding's namespace."""
    return _binding("Role", metadata, role_name, subjects)


def cluster_role_binding(
    metadata: Mapping[str, Any], role_name: str, subjects: Iterable[Mapping[str, str]]
) -> dict[str, Any]:
    """Return a ClusterRoleBinding. It gives the subjects a ClusterRole in every namespace."""
    return _binding("ClusterRole", metadata, role_name, subjects)


def subject(name: str, namespace: str) -> dict[str, str]:
    """Return a service account as the subject of a binding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def _binding(
    kind: str, metadata: Mapping[str, Any], role_name: str, subjects: Iterable[Mapping[str, str]]
) -> dict[str, Any]:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role_name},
        "subjects": list(subjects),
    }
