"""Tolerations follow the rules of the Kubernetes API."""

import pytest

from models.kubernetes import Toleration
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("toleration", "message"),
    [
        (
            {"key": "gpu", "operator": "Exists", "value": "a"},
            "has a value that operator Exists never compares (a); remove value, or write operator: Equal",
        ),
        ({"value": "a"}, "compares a value without a key; add key, or write operator: Exists"),
        (
            {"key": "gpu", "effect": "NoSchedule", "tolerationSeconds": 5},
            "has tolerationSeconds without effect NoExecute (5); write effect: NoExecute, or remove tolerationSeconds",
        ),
    ],
)
def test_a_toleration_that_the_api_server_refuses_is_refused(toleration, message):
    stack = tree(qwen={"pod": {"tolerations": [toleration]}})
    assert mistakes(stack) == [f"services.qwen.pod.tolerations[0]: {message}"]


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"operator": "Exists", "value": ""},
        {"key": "gpu"},
        {"key": "gpu", "effect": "NoExecute", "tolerationSeconds": 0},
    ],
)
def test_a_toleration_that_the_api_server_takes_is_taken(toleration):
    spec = Toleration.model_validate(toleration)
    assert spec.model_dump(by_alias=True, exclude_unset=True) == toleration


def test_a_toleration_compares_values_if_it_names_no_operator():
    assert Toleration.model_validate({"key": "gpu"}).operator == "Equal"
