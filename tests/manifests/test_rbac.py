"""Roles and bindings have the form of Kubernetes, and a binding names a role of its own kind."""

import pytest

from manifests import rbac

METADATA = {"name": "reader"}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]


def test_a_service_account_is_nothing_but_its_name():
    assert rbac.service_account(METADATA) == {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": METADATA}


@pytest.mark.parametrize(
    ("role", "binding", "kind"),
    [(rbac.role, rbac.role_binding, "Role"), (rbac.cluster_role, rbac.cluster_role_binding, "ClusterRole")],
)
def test_a_binding_names_a_role_of_its_kind(role, binding, kind):
    group = "rbac.authorization.k8s.io"
    common = {"apiVersion": f"{group}/v1", "metadata": METADATA}
    assert role(METADATA, iter(RULES)) == {**common, "kind": kind, "rules": RULES}
    assert binding(METADATA, "reader", iter([rbac.subject("picker", "models")])) == {
        **common,
        "kind": f"{kind}Binding",
        "roleRef": {"apiGroup": group, "kind": kind, "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "picker", "namespace": "models"}],
    }
