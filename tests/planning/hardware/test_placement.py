"""Terms of a node affinity that cannot carry the labels of the accelerator class are refused."""

import pytest

import planning
from models.load import load
from models.problems import ConfigError
from tests.support.stacks import NAME, tree

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def messages(service):
    with pytest.raises(ConfigError) as error:
        planning.plan(load(tree(qwen=service)), NAME)
    return str(error.value).splitlines()


@pytest.mark.parametrize("role", ["pod", "endpointPicker.pod"])
def test_an_empty_list_of_terms_is_refused(role):
    """See defects C12."""
    pod = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}}
    service = {"pod": pod} if role == "pod" else {"endpointPicker": {"pod": pod}}
    (line,) = messages(service | {"accelerator": "nvidia-h100-80gb"})
    at = f"services.qwen.{role}.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    assert line == f"{at}: is empty, so no node matches; add a term, or remove {REQUIRED}"


@pytest.mark.parametrize(
    ("affinity", "at", "what"),
    [
        ({"nodeAffinity": "zone"}, "nodeAffinity", "is not a mapping"),
        ({"nodeAffinity": {REQUIRED: []}}, f"nodeAffinity.{REQUIRED}", "is not a mapping"),
        ({"nodeAffinity": {REQUIRED: {}}}, f"nodeAffinity.{REQUIRED}.nodeSelectorTerms", "is missing"),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": {}}}},
            f"nodeAffinity.{REQUIRED}.nodeSelectorTerms",
            "is not a list",
        ),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": ["zone"]}}},
            f"nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]",
            "is not a mapping",
        ),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": "zone"}]}}},
            f"nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions",
            "is not a list",
        ),
    ],
)
def test_terms_of_another_shape_are_a_message(affinity, at, what):
    """See defects C12."""
    (line,) = messages({"accelerator": "nvidia-h100-80gb", "pod": {"affinity": affinity}})
    assert line.startswith(f"services.qwen.pod.affinity.{at}: {what}")
