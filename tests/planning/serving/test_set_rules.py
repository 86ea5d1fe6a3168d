"""Sets of pods: keys that every workload has for itself, and what the pods of one pool have in common."""

import pytest

from models.problems import ConfigError
from tests.support.stacks import plan, tree

DECODE = {"decode": {"sets": {"a": {}, "b": {}}}}
PREFILL = {"prefill": {"sets": {"a": {}, "b": {}}}}


def refusals(stack):
    with pytest.raises(ConfigError) as error:
        plan(stack)
    return str(error.value).splitlines()


@pytest.mark.parametrize("key", [{"replicas": 2}, {"patch": {"spec": {"minReadySeconds": 3}}}])
def test_a_key_of_a_workload_is_a_mistake_beside_sets_and_not_in_the_defaults(key):
    (name,) = key
    (refusal,) = refusals(tree(qwen=DECODE | key))
    assert refusal.startswith(f"services.qwen.{name}: has no effect, because each set of decode has its own")
    workloads = plan(tree(qwen=DECODE) | {"defaults": key}).services[0].workloads
    assert [(workload.replicas, dict(workload.patch)) for workload in workloads] == [(1, {}), (1, {})]


def test_a_key_of_a_workload_beside_sets_of_prefill_is_a_mistake_of_prefill():
    (refusal,) = refusals(tree(qwen={"prefill": {**PREFILL["prefill"], "replicas": 2}}))
    assert refusal.startswith("services.qwen.prefill.replicas: has no effect, because each set of prefill has its own")
    assert [workload.replicas for workload in plan(tree(qwen=PREFILL | {"replicas": 2})).services[0].workloads] == [
        2,
        1,
        1,
    ]


def test_a_canary_with_the_sets_of_its_service_has_no_number_of_its_own():
    (refusal,) = refusals(tree(qwen=DECODE | {"canary": {"weight": 10, "replicas": 2, "engine": {"maxNumSeqs": 4}}}))
    assert refusal.startswith("services.qwen.canary.replicas: has no effect")
    undivided = {"weight": 10, "replicas": 2, "engine": {"maxNumSeqs": 4}, "decode": None}
    canary = plan(tree(qwen=DECODE | {"canary": undivided})).services[0].canary
    assert canary is not None
    assert [(workload.role, workload.replicas) for workload in canary.workloads] == [("decode", 2)]


@pytest.mark.parametrize(
    ("pods", "key"), [({"port": 8001}, "port"), ({"type": "custom", "image": "registry.example/server:v1"}, "type")]
)
def test_sets_of_decode_have_the_port_and_the_engine_of_their_service(pods, key):
    (refusal,) = refusals(tree(qwen={"decode": {"sets": {"a": {"engine": pods}, "b": {}}}}))
    assert refusal.startswith(f"services.qwen.decode.sets.a.engine.{key}: ")
    both = {"engine": pods, "decode": {"sets": {"a": {}, "b": {}}}}
    assert len(plan(tree(qwen=both)).services[0].workloads) == 2


@pytest.mark.parametrize("section", ["decode", "prefill"])
@pytest.mark.parametrize("name", ["0", "17", "a-0", "a-b-12"])
def test_no_set_is_named_like_a_statefulset_of_another_workload(section, name):
    """The controller of a LeaderWorkerSet names StatefulSets by the workload and the index of the replica."""
    with pytest.raises(ConfigError, match=f"sets.{name}: would name a workload like the StatefulSet"):
        plan(tree(qwen={section: {"sets": {name: {}, "b": {}}}}))
    assert plan(tree(qwen={section: {"sets": {f"{name}k": {}, "a0": {}, "0a": {}, "tp8": {}}}}))


@pytest.mark.parametrize("section", ["decode", "prefill"])
def test_a_label_has_room_for_the_longest_name_of_a_set(section):
    longest = "a" * 40
    (workload,) = [
        workload
        for workload in plan(tree(qwen={section: {"sets": {longest: {}}}})).services[0].workloads
        if workload.set_name == longest
    ]
    assert len(workload.role) <= 63
    with pytest.raises(ConfigError, match="is 41 characters long; write at most 40"):
        plan(tree(qwen={section: {"sets": {f"{longest}a": {}}}}))


def test_sets_of_decode_may_be_on_devices_of_two_vendors_unless_prefill_hands_them_its_cache():
    vendors = {"decode": {"sets": {"a": {"accelerator": "amd"}, "b": {}}}}
    assert [workload.accelerator.vendor for workload in plan(tree(qwen=vendors)).services[0].workloads] == [
        "amd",
        "nvidia",
    ]
    (refusal,) = refusals(tree(qwen=vendors | {"prefill": {}}))
    assert refusal.startswith(
        "services.qwen.decode.sets.a.accelerator: is of another vendor than prefill's accelerator"
    )
