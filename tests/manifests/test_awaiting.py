"""The annotations that the provider reads say for what it waits, and nothing else does."""

import json

import pytest

from manifests import awaiting
from manifests.assembly import objects, render
from planning.ground.awaiting import PROVIDER_DEFAULT, Wait
from tests.support.stacks import SHIPPED, as_rendered, plan, shipped
from tests.support.stacks.varied import VARIED

STACKS = {path.stem: shipped(path) for path in SHIPPED} | VARIED
OURS = {"pulumi.com/waitFor", "pulumi.com/skipAwait", "pulumi.com/replaceUnready"}


def annotations(wait, **metadata):
    return awaiting.annotate({"metadata": {"name": "a", **metadata}}, wait)["metadata"].get("annotations")


@pytest.mark.parametrize(
    ("wait", "written"),
    [
        (PROVIDER_DEFAULT, None),
        (Wait(seconds=5), None),
        (Wait(conditions=("a", "b")), {"pulumi.com/waitFor": '["a", "b"]'}),
        (Wait(skip=True), {"pulumi.com/skipAwait": "true"}),
        (Wait(replace_unready=True), {"pulumi.com/replaceUnready": "true"}),
    ],
)
def test_a_wait_is_written_as_annotations(wait, written):
    assert annotations(wait) == written


def test_annotations_of_an_object_stay_before_those_of_its_wait():
    assert list(annotations(Wait(skip=True), annotations={"z": "1"}).items()) == [
        ("z", "1"),
        ("pulumi.com/skipAwait", "true"),
    ]


def test_an_awaited_object_carries_its_wait_and_the_one_before_is_unchanged():
    before = as_rendered({"metadata": {"name": "a"}})
    wait = Wait(5, ("a",))
    after = awaiting.with_wait(before, wait)
    assert after.wait == wait
    assert after.manifest["metadata"] == {"name": "a", "annotations": {"pulumi.com/waitFor": '["a"]'}}
    assert before.manifest == {"metadata": {"name": "a"}}


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS)
def test_no_object_is_annotated_otherwise_than_it_is_awaited(stack):
    planned = plan(stack)
    for item in objects(render(planned, {service.key for service in planned.services})):
        written = item.manifest["metadata"].get("annotations", {})
        assert {key: value for key, value in written.items() if key in OURS} == (annotations(item.wait) or {})
        assert json.loads(written.get("pulumi.com/waitFor", "[]")) == list(item.wait.conditions)
