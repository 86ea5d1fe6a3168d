"""The interceptor may list Services where it searches for them, and nothing else."""

from tests.support.stacks import exactly, rendered
from tests.support.stacks.varied_metering import metered

ROLE = "phoebe-interceptor-services-inference-stacks.dev"


def pod(stack):
    return exactly(rendered(stack), "Deployment", "phoebe-interceptor")["spec"]["template"]["spec"]


def test_a_role_in_the_models_namespace_lets_the_account_list_services():
    """See phoebe 8.1, 8.2, 4.1, 4.3."""
    everything = rendered(metered())
    role, binding = (exactly(everything, manifest, ROLE) for manifest in ("Role", "RoleBinding"))
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "models"
    ((rule,),) = (role["rules"],)
    assert (rule["apiGroups"], rule["resources"]) == ([""], ["services"])
    assert {"list"} <= {*rule["verbs"]} <= {"get", "list"}
    assert "resourceNames" not in rule
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "phoebe-interceptor", "namespace": "metering"}]
    assert not [manifest for manifest in everything if manifest["kind"].startswith("ClusterRole")]


def test_mode_header_has_no_rights_and_no_token():
    """See phoebe 8.3."""
    everything = rendered(metered("header"))
    assert not [manifest for manifest in everything if manifest["kind"] in {"Role", "RoleBinding"}]
    assert exactly(everything, "ServiceAccount", "phoebe-interceptor")["automountServiceAccountToken"] is False
    assert [pod(metered(mode))["automountServiceAccountToken"] for mode in ("label", "header")] == [True, False]
