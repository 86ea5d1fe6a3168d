"""Properties as the engine sends them: secrets, unknown values, numbers; and which resources are objects."""

import pytest

from planning import outputs
from planning.ground.instances import TYPE
from policy import properties
from policy.rules.trees import UNKNOWN, UnknownValue, at
from tests.support.policies import verdicts
from tests.support.stacks import plan, tree

SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": {"a": "x"}}
STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
URN = "urn:pulumi:dev::p::t::x"


def contract(**changes):
    return {**outputs.of_stack(plan(tree()), None), **changes}


def test_marks_of_the_engine_become_plain_values():
    tree_of_engine = {"secret": SECRET, "whole": 3.0, "part": 1.5, "list": [STRING, "a", None, True]}
    assert properties.plain(tree_of_engine) == {
        "secret": {"a": "x"},
        "whole": 3,
        "part": 1.5,
        "list": [UNKNOWN, "a", None, True],
    }


def test_an_unknown_value_cannot_be_read():
    unknown = properties.plain({"a": {"b": STRING}})
    with pytest.raises(UnknownValue):
        at(unknown, "a", "b")
    with pytest.raises(UnknownValue):
        at(properties.plain({"a": STRING}), "a", "b")


@pytest.mark.parametrize(
    ("kind", "manifest", "is_object"),
    [
        ("kubernetes:apps/v1:Deployment", {"kind": "Deployment"}, True),
        ("kubernetes:apps/v1:DeploymentPatch", {"kind": "Deployment"}, False),
        ("kubernetes:helm.sh/v3:Release", {"chart": "x"}, False),
        ("aws:s3:Bucket", {"kind": "Bucket"}, False),
    ],
)
def test_kubernetes_objects_are_judged_and_other_resources_are_not(kind, manifest, is_object):
    assert (properties.kubernetes_object(kind, URN, manifest) is not None) is is_object


def test_the_outputs_of_the_component_are_the_contract_and_those_of_the_stack_are_not():
    judged = properties.view([("pulumi:pulumi:Stack", "root", contract()), (TYPE, URN, contract())])
    assert [found.urn for found in judged.contracts] == [URN]
    assert verdicts(judged, "release-allowed", releases=["llm-d-0.9"])[0].finding.urn == URN


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"services": UNKNOWN}, "its outputs are unknown before the run (services)"),
        ({"contractVersion": 1}, "deploy that stack again with a newer program"),
        ({"contractVersion": 9}, "use the newer file from the program that deploys that stack"),
    ],
)
def test_outputs_that_cannot_be_read_are_a_question(changes, text):
    judged = properties.view([(TYPE, URN, contract(**changes))])
    (verdict,) = verdicts(judged, "release-allowed")
    assert not verdict.is_refusal
    assert "can't tell: the stack cannot be judged" in str(verdict)
    assert text in str(verdict)


def test_an_unknown_output_of_a_service_is_a_question():
    named = contract()
    service = {**named["services"]["qwen"], "primary": UNKNOWN, "message": UNKNOWN}
    judged = properties.view([(TYPE, URN, {**named, "services": {"qwen": service}})])
    (verdict,) = verdicts(judged, "release-allowed")
    assert str(verdict).startswith("release-allowed: can't tell: services.qwen has an output that is unknown")


def test_outputs_of_an_older_program_do_not_tell_about_patches():
    named = contract()
    del named["services"]["qwen"]["primary"]["patched"]
    (verdict,) = verdicts(properties.view([(TYPE, URN, named)]), "no-patch")
    assert "can't tell: services.qwen has outputs that do not tell about patches" in str(verdict)
