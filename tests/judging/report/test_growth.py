"""Replicas before, during and after a change, and what a live object has beside its manifest."""

import pytest

from judging.report import growth
from judging.report.growth import Range
from tests.support.stacks import plan, tree

HPA = {"type": "hpa", "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}


def test_a_new_workload_needs_all_of_its_replicas():
    (fixed,) = growth.changes(plan(tree(qwen={"replicas": 3})), {}, {})
    (scaled,) = growth.changes(plan(tree(qwen={"autoscaling": HPA})), {}, {})
    assert (fixed.before.high, fixed.after, fixed.additional) == (0, Range(3, 3), Range(3, 3))
    assert (scaled.after, str(scaled.after)) == (Range(1, 4), "1 to 4")


@pytest.mark.parametrize(
    ("rendered", "live", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": {"b": 1}}, {"a": None}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([1], [1, 2], False),
    ],
)
def test_a_live_value_may_have_more_keys_and_no_more_items(rendered, live, expected):
    assert growth.is_contained(rendered, live) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"f:a": {}}, False),
        ({"f:c": {}}, True),
        ({"f:items": {'k:{"name":"x"}': {"f:port": {}}}}, False),
        ({"f:items": {'k:{"name":"y"}': {}}}, True),
        ({"f:items": {'k:{"name":"x"}': {"f:other": {}}}}, True),
        ({"f:names": {'v:"n"': {}}}, False),
        ({"f:names": {'v:"m"': {}}}, True),
    ],
)
def test_a_field_of_the_live_object_that_is_not_rendered_is_lost(fields, expected):
    rendered = {"a": 1, "items": [{"name": "x", "port": 1}], "names": ["n"]}
    assert growth.lacks(rendered, fields) is expected
