"""Role-based access control: accounts, what a role may do, and who has it."""

from collections.abc import Iterable, Mapping
from typing import Any

_GROUP = "rbac.authorization.k8s.io"


def service_account(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return an account for pods."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about}


def role(about: Mapping[str, Any], rules: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is allowed in one namespace."""
    return {"apiVersion": f"{_GROUP}/v1", "kind": "Role", "metadata": about, "rules": list(rules)}


def cluster_role(about: Mapping[str, Any], rules: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is allowed in every namespace, or outside of all."""
    return {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": about, "rules": list(rules)}


def role_binding(about: Mapping[str, Any], role_name: str, subjects: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Give the subjects a role of the binding's namespace."""
    return _binding("Role", about, role_name, subjects)


def cluster_role_binding(
    about: Mapping[str, Any], role_name: str, subjects: Iterable[Mapping[str, str]]
) -> dict[str, Any]:
    """Give the subjects a cluster role in every namespace."""
    return _binding("ClusterRole", about, role_name, subjects)


def subject(name: str, namespace: str) -> dict[str, str]:
    """Return a service account as the subject of a binding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def _binding(
    kind: str, about: Mapping[str, Any], role_name: str, subjects: Iterable[Mapping[str, str]]
) -> dict[str, Any]:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": about,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role_name},
        "subjects": list(subjects),
    }
