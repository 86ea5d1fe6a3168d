"""The provider: what its inputs say of the cluster, whatever the variables of a workstation are."""

import json

import pytest

from tests.support.program import run_whole
from tests.support.stacks import tree

VARIABLES = {
    "KUBECONFIG": "/home/ann/config",
    "PULUMI_K8S_DELETE_UNREACHABLE": "true",
    "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE": "false",
    "PULUMI_K8S_ENABLE_SECRET_MUTABLE": "false",
    "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY": "false",
    "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE": "true",
    "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS": "true",
    "PULUMI_K8S_UPSERT_EXISTING_OBJECTS": "false",
}
INPUTS = {
    "clusterIdentifier": "prod",
    "deleteUnreachable": "false",
    "enableConfigMapMutable": "true",
    "enableSecretMutable": "true",
    "enableServerSideApply": "true",
    "kubeClientSettings": '{"burst": 2000, "qps": 1000}',
    "skipUpdateUnreachable": "false",
    "suppressDeprecationWarnings": "false",
    "upsertExistingObjects": "true",
}


def provider(**cluster):
    """Return the inputs of the provider under mocks, and its request to the engine."""
    made = run_whole(tree() | {"cluster": {"facts": {"type": "none"}, "name": "prod", **cluster}})
    (request,) = [request for request in made.requests.values() if request.type == "pulumi:providers:kubernetes"]
    return made.made["cluster"].inputs, request


@pytest.mark.parametrize("variables", [{}, VARIABLES], ids=["none", "all"])
def test_no_variable_of_a_workstation_is_in_the_inputs(variables, monkeypatch):
    """See defects L2."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    inputs, _ = provider()
    assert dict(inputs) == INPUTS
    assert json.loads(inputs["kubeClientSettings"])["qps"] == 1000


def test_the_identifier_of_the_cluster_stays_what_the_state_has():
    """See defects L1."""
    _, request = provider()
    assert list(request.ignoreChanges) == ["clusterIdentifier"]


def test_the_context_of_the_configuration_is_the_providers():
    assert provider(context="other")[0]["context"] == "other"
