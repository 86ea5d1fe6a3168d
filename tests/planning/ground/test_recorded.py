"""Identities of resources in Pulumi's state."""

import pytest

from planning.ground.recorded import RecordedIdentity, identity

STACK = "inference-stacks:index:InferenceStack"
SERVICE = "inference-stacks:index:ModelServiceStack"
KIND = "kubernetes:apps/v1:Deployment"


@pytest.mark.parametrize(
    ("types", "component"),
    [
        (f"{STACK}${SERVICE}${KIND}", SERVICE),
        (f"{SERVICE}${KIND}", SERVICE),
        (f"acme:index:Team${STACK}${SERVICE}${KIND}", SERVICE),
        (f"{STACK}${KIND}", ""),
        (f"acme:index:Team${KIND}", ""),
        (KIND, ""),
    ],
)
def test_an_identity_leaves_out_what_contains_the_inference_stack(types, component):
    assert identity(f"urn:pulumi:dev::project::{types}::qwen-decode") == RecordedIdentity(
        component, KIND, "qwen-decode"
    )


def test_a_logical_name_may_have_colons():
    assert identity(f"urn:pulumi:dev::project::{KIND}::a::b") == RecordedIdentity("", KIND, "a::b")
