"""The options with which rendered objects are registered, as the engine receives them."""

import pytest
from google.protobuf.json_format import MessageToDict

from components import registration
from manifests.assembly import objects, render
from tests.support.program import as_registered, run_whole
from tests.support.stacks import plan, rendered, tree

STACK = tree(
    qwen={
        "model": {"name": "org/m", "source": "s3://bucket/m", "size": "1Gi"},
        "storage": {"type": "dedicated"},
        "replicas": 3,
        "prefill": {},
        "canary": {"weight": 10},
    }
) | {"cluster": {"facts": {"type": "none"}, "name": "prod"}}


@pytest.fixture
def registered():
    """Return pairs of what is rendered and what the engine is asked for, and the URN of each rendered object."""
    everything, run = list(objects(render(plan(STACK)))), run_whole(STACK)
    urns = {}
    for each in everything:
        _, kind, namespace, name = each.place
        urns[each.id] = run.urn(kind, name, namespace)
    return [(each, run.requests[urns[each.id]]) for each in everything], urns


def test_creating_and_updating_an_object_time_out_with_the_rendered_wait(registered):
    pairs, _ = registered
    waits = {each.id: each.wait.seconds for each, _ in pairs}
    assert len({wait for wait in waits.values() if wait is not None}) > 1
    expected = {key: "" if wait is None else f"{wait}s" for key, wait in waits.items()}
    assert {each.id: request.customTimeouts.create for each, request in pairs} == expected
    assert {each.id: request.customTimeouts.update for each, request in pairs} == expected


def test_an_object_depends_on_what_is_rendered_before_it_and_on_nothing_else(registered):
    pairs, urns = registered
    expected = {each.id: {urns[earlier] for earlier in each.after} for each, _ in pairs}
    assert sum(map(len, expected.values())) > len(expected)
    assert {each.id: set(request.dependencies) for each, request in pairs} == expected


def test_updates_of_every_object_take_over_what_somebody_else_changed_unless_the_user_says_no(registered):
    """See defects A17."""
    pairs, _ = registered
    for each, request in pairs:
        metadata = MessageToDict(request.object)["metadata"]
        assert metadata == as_registered(each.manifest)["metadata"]
        assert metadata["annotations"]["pulumi.com/patchForce"] == "true"
    assert "pulumi.com/patchForce" not in str(rendered(STACK))
    shared = {"pulumi.com/patchForce": "false"}
    manifest = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": shared}}
    assert registration.with_force(manifest)["metadata"]["annotations"] == shared
