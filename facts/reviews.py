"""Reader of the RBAC rules of the user who runs the program.

The ClusterRole `system:basic-user` lets every authenticated user read the rules that apply to this user.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from facts.connection import Connection
from planning.ground.cluster_facts import Permissions

_VERSION = "authorization.k8s.io/v1"
_KIND = "SelfSubjectRulesReview"
_PATH = f"/apis/{_VERSION}/selfsubjectrulesreviews"
_WHOLE_CLUSTER = ""
_NOWHERE = "no-such-namespace.inference-stacks.io"
"""Namespace that cannot exist, because its name has dots. There, only rules for the whole cluster apply."""


def permissions(api: Connection, namespaces: Iterable[str]) -> Permissions:
    """Return the rules of the user in some namespaces, and in the whole cluster."""
    reviews = {name: _review(api, name or _NOWHERE) for name in (_WHOLE_CLUSTER, *namespaces)}
    rules = {name: tuple(status["resourceRules"] or ()) for name, status in reviews.items()}
    return Permissions(rules, not any(status["incomplete"] for status in reviews.values()))


def _review(api: Connection, namespace: str) -> Mapping[str, Any]:
    review = {"apiVersion": _VERSION, "kind": _KIND, "spec": {"namespace": namespace}}
    return api.ask(_PATH, review)["status"]
