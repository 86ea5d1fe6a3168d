"""Services of one stack may have several release channels: each gets what it gets in a stack of its channel alone."""

import json

import pytest

from models.stack import Stack
from planning import outputs
from planning.releases import channel, offered_channels
from tests.support.stacks import lines, plan, rendered, tree

STACK_RELEASE = Stack.model_fields["release"].default
OTHERS = [name for name in offered_channels() if name != STACK_RELEASE]
BUSY = {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "picker-running-requests", "target": 5}]}
SERVICE = {"objectives": {"batch": {"priority": -1}}, "endpointPicker": {"replicas": 2}, "autoscaling": BUSY}
CACHES = {"caches": {"m": {"source": "s3://bucket/m", "size": "10Gi"}}}
CACHED = {"model": {"name": "org/m"}, "storage": {"type": "shared", "cache": "m"}}


def service(release, **keys):
    """Return a service of a channel, with prefill if the channel has it."""
    prefill = {"prefill": {}} if channel(release).sidecar is not None else {}
    return {"release": release, **SERVICE, **prefill, **keys}


def alone(name, stack):
    """Return the objects of a service, by kind and name, in a stack of this service's channel alone."""
    keys = dict(stack["services"][name])
    release = keys.pop("release")
    return placed({**stack, "release": release, "services": {name: keys}})


def placed(stack):
    return {
        (manifest["kind"], manifest["metadata"]["name"]): manifest
        for manifest in rendered(json.loads(json.dumps(stack)))
    }


def test_a_stack_of_all_channels_has_the_objects_of_a_stack_of_each():
    stack = tree(**{f"s{index}": service(name) for index, name in enumerate(offered_channels())})
    expected = {}
    for name in stack["services"]:
        expected |= alone(name, stack)
    assert placed(stack) == expected


@pytest.mark.parametrize("release", OTHERS)
def test_a_canary_of_another_channel_has_pods_pool_and_picker_of_that_channel(release):
    """A new line of releases is tried beside the one that runs, with its own picker."""
    stack = tree(qwen={**SERVICE, "canary": {"weight": 10, "release": release}})
    new, old = placed(stack | {"release": release}), placed(tree(qwen={**SERVICE, "canary": {"weight": 10}}))
    for (kind, name), manifest in placed(stack).items():
        is_canarys = "canary" in name or manifest.get("subjects", [{}])[0].get("name", "").startswith("qwen-canary")
        assert manifest == (new if is_canarys else old)[kind, name], (kind, name)
    changed = {kind for (kind, name), manifest in new.items() if "canary" in name and old.get((kind, name)) != manifest}
    assert "Deployment" in changed


@pytest.mark.parametrize("release", OTHERS)
def test_the_defaults_give_every_service_and_canary_a_channel(release):
    services = {"qwen": {**SERVICE, "canary": {"weight": 10}}, "bert": SERVICE}
    of_defaults = tree(**services) | {"defaults": {"release": release}}
    assert placed(of_defaults) == placed(tree(**services) | {"release": release})
    mixed = tree(qwen={"release": STACK_RELEASE}, bert={}) | {"defaults": {"release": release}}
    assert plan(mixed).own_releases == {"bert": release, "qwen": STACK_RELEASE}


@pytest.mark.parametrize("release", OTHERS)
def test_a_cache_is_filled_by_the_channel_of_the_stack(release):
    stack = tree(qwen={**CACHED, "release": release}, bert=CACHED) | CACHES
    (job,) = [manifest for manifest in rendered(stack) if manifest["kind"] == "Job"]
    assert job in rendered(tree(bert=CACHED) | CACHES)


def test_a_channel_that_is_named_as_the_stacks_changes_no_object():
    named = tree(qwen={**SERVICE, "release": STACK_RELEASE, "canary": {"weight": 10}})
    assert placed(named) == placed(tree(qwen={**SERVICE, "canary": {"weight": 10}}))


@pytest.mark.parametrize("release", OTHERS)
def test_outputs_and_previews_name_the_channel_of_each_variant(release):
    planned = plan(tree(qwen={"canary": {"weight": 10, "release": release}}, bert={}))
    contract = outputs.of_stack(planned, None)
    assert contract["release"] == STACK_RELEASE
    qwen = contract["services"]["qwen"]
    assert qwen["canary"] is not None
    assert (qwen["primary"]["release"], qwen["canary"]["release"]) == (STACK_RELEASE, release)
    bert, shown = (service.preview_inputs() for service in planned.services)
    assert "release" not in bert
    assert ("release" in shown, shown["canary"]["release"]) == (False, release)


def test_unproven_facts_are_those_of_the_channels_in_use():
    stack = tree(qwen={"accelerator": "cpu"}, bert={"accelerator": "nvidia", "release": "gie-1.3"})
    assert unproven(stack) == []
    stack["services"]["bert"]["accelerator"] = "cpu"
    (line,) = unproven(stack)
    assert line.startswith("release gie-1.3: images.engine.cpu is unproven")
    assert unproven(stack | {"release": "gie-1.3"}) == [line]


def unproven(stack):
    return [line for line in lines(plan(stack).warnings, "warning") if "is unproven" in line]
