"""Selectors that Kubernetes refuses are refused before."""

import pytest

from models.paths import Path
from planning.refusals import selectors
from tests.support.stacks import lines


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"operator": "In", "values": ["a"]}, None),
        ({"operator": "in", "values": ["a"]}, "operator: is not known to Kubernetes (in)"),
        ({"operator": "In", "values": []}, "values: is empty, and In compares with values"),
        ({"operator": "Exists", "values": ["a"]}, "values: has no meaning with Exists, which compares no values"),
        ({"operator": "In", "values": ["a b"]}, "values[0]: is not a label value (a b)"),
    ],
)
def test_an_operator_has_the_values_that_it_compares_with(expression, message):
    selector = {"matchExpressions": [{"key": "app", **expression}]}
    messages = [
        line.removeprefix("at.matchExpressions[0].")
        for line in lines(selectors.label_selector(Path("at"), selector), "error")
    ]
    assert [line[: len(message or "")] for line in messages] == ([] if message is None else [message])


def test_numbers_are_compared_on_nodes_alone():
    expression = {"key": "cores", "operator": "Gt", "values": ["many"]}
    (line,) = lines(selectors.node_term(Path("at"), {"matchExpressions": [expression]}, strict=True), "error")
    assert line.startswith("at.matchExpressions[0].values[0]: is not a whole number, and Gt compares numbers (many)")
    (line,) = lines(selectors.label_selector(Path("at"), {"matchExpressions": [expression]}), "error")
    assert line.startswith("at.matchExpressions[0].operator: is not known to Kubernetes (Gt)")


def test_the_keys_of_a_selector_are_those_of_labels_and_expressions():
    selector = {"matchLabels": {"app": "vllm"}, "matchExpressions": [{"key": "team"}]}
    assert selectors.keys(selector) == {"app", "team"}
    assert selectors.keys("no selector") == set()
