"""Objects of an event log: what a report can read stays, and what has another shape is left out."""

import pytest

from judging.report import shapes
from manifests.assembly import objects, render
from tests.support.stacks import SHIPPED, plan, shipped


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_object_that_a_stack_renders_is_readable_as_it_is(path):
    manifests = [rendered.manifest for rendered in objects(render(plan(shipped(path))))]
    assert manifests
    assert [shapes.readable(manifest) for manifest in manifests] == manifests


@pytest.mark.parametrize(
    ("inputs", "readable"),
    [
        ({"metadata": "unknown", "kind": "Pod"}, {"kind": "Pod"}),
        ({"metadata": {"name": ["x"], "labels": {"a": 1, "b": "c"}}}, {"metadata": {"labels": {"b": "c"}}}),
        ({"spec": {"replicas": 2**31, "hostnames": ["a", 1]}}, {"spec": {"hostnames": ["a"]}}),
        ({"spec": {"replicas": True}}, {"spec": {}}),
        ({"spec": {"rules": [None, {"matches": {}}]}}, {"spec": {"rules": [{}]}}),
        ({"spec": None, "data": {"x": [1]}}, {"data": {"x": [1]}}),
    ],
)
def test_a_value_of_another_shape_is_left_out(inputs, readable):
    """See defects H7."""
    assert shapes.readable(inputs) == readable
