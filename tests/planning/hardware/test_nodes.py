"""Nodes matched to the accelerator classes of a stack, with what keeps pods away."""

from dataclasses import replace

import pytest

from planning.ground.cluster_facts import NOTHING_READ, Unknown
from planning.ground.inventory import LiveNode, Nodes, Requested, Slice, Slices, Taint
from planning.hardware.nodes import ClassNode
from planning.hardware.nodes import of_class as nodes_of_class
from tests.support.stacks import plan, tree

L40S = {"nvidia.com/gpu.product": "NVIDIA-L40S"}
NODE = LiveNode("gpu-0", L40S, ready=True, cordoned=False, taints=(), devices={"nvidia.com/gpu": 8})
SERVICE = {"accelerator": "nvidia-l40s", "parallelism": {"tensor": 4}}
REPELLED = Taint("team", "search", "NoSchedule")
CLAIM = {"type": "resource-claim", "deviceClassName": "gpu.nvidia.com"}
PAIRS = {
    "type": "resource-claim",
    "requests": [
        {"name": "gpu", "deviceClassName": "gpu.nvidia.com"},
        {"name": "nic", "deviceClassName": "mrdma.google.com"},
    ],
}


def facts(*found, **parts):
    return replace(NOTHING_READ, nodes=Nodes(found), requested=Requested({"gpu-0": {"nvidia.com/gpu": 3}}), **parts)


def of_class(found, stack=None):
    (service,) = plan(stack or tree(qwen=SERVICE)).services
    (workload,) = service.workloads
    return nodes_of_class(workload.accelerator, workload.placement, found)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NODE, [ClassNode("gpu-0", 8, 3, ())]),
        (replace(NODE, name="gpu-1"), [ClassNode("gpu-1", 8, 0, ())]),
        (replace(NODE, labels={"nvidia.com/gpu.product": "NVIDIA-A10"}), []),
        (replace(NODE, labels={}), []),
        (replace(NODE, devices={"amd.com/gpu": 8}), []),
        (replace(NODE, ready=False), [ClassNode("gpu-0", 8, 3, ("not ready",))]),
        (replace(NODE, cordoned=True), [ClassNode("gpu-0", 8, 3, ("cordoned",))]),
        (replace(NODE, taints=(REPELLED,)), [ClassNode("gpu-0", 8, 3, ("taint team",))]),
        (replace(NODE, taints=(replace(REPELLED, effect="PreferNoSchedule"),)), [ClassNode("gpu-0", 8, 3, ())]),
        (replace(NODE, taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),)), [ClassNode("gpu-0", 8, 3, ())]),
    ],
)
def test_a_node_is_of_a_class_by_its_labels_and_devices(node, expected):
    assert [*of_class(facts(node))] == expected


@pytest.mark.parametrize(
    ("toleration", "is_tolerated"),
    [
        ({"key": "team", "value": "search"}, True),
        ({"key": "team", "value": "search", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "search", "effect": "NoExecute"}, False),
        ({"key": "team", "value": "chat"}, False),
        ({"key": "team", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
    ],
)
def test_a_toleration_of_the_pods_lets_them_in(toleration, is_tolerated):
    stack = tree(qwen={**SERVICE, "pod": {"tolerations": [toleration]}})
    (node,) = of_class(facts(replace(NODE, taints=(REPELLED,))), stack)
    assert (node.obstacles == ()) is is_tolerated


def test_devices_of_claims_are_those_of_slices():
    stack = tree(qwen={**SERVICE, "accelerator": "claimed"}) | {
        "accelerators": {"claimed": {"vendor": "nvidia", "allocation": CLAIM}}
    }
    slices = Slices((Slice("gpu", "gpu-0", "gpu-0", 4), Slice("gpu", "more", "gpu-0", 2), Slice("gpu", "all", None, 9)))
    found = facts(NODE, replace(NODE, name="bare"), slices=slices)
    assert [*of_class(found, stack)] == [ClassNode("gpu-0", 6, None, ())]
    assert of_class(replace(found, slices=Unknown("no")), stack) == Unknown("no")


def test_devices_of_claims_are_those_of_the_driver_that_the_device_class_is_called_like():
    stack = tree(qwen={**SERVICE, "accelerator": "claimed"}) | {
        "accelerators": {"claimed": {"vendor": "nvidia", "allocation": PAIRS}}
    }
    gpus = Slice("gpu.nvidia.com", "gpus", "gpu-0", 4)
    nics = Slice("mrdma.google.com", "nics", "gpu-0", 8)
    assert [*of_class(facts(NODE, slices=Slices((gpus, nics))), stack)] == [ClassNode("gpu-0", 4, None, ())]
    another = replace(gpus, driver="another")
    assert [*of_class(facts(NODE, slices=Slices((another, nics))), stack)] == [ClassNode("gpu-0", 12, None, ())]


def test_devices_of_an_existing_template_are_those_of_all_drivers():
    stack = tree(qwen={**SERVICE, "accelerator": "claimed"}) | {
        "accelerators": {"claimed": {"vendor": "nvidia", "allocation": {"type": "resource-claim", "template": "two"}}}
    }
    both = Slices((Slice("gpu", "gpus", "gpu-0", 4), Slice("nic", "nics", "gpu-0", 2)))
    assert [*of_class(facts(NODE, slices=both), stack)] == [ClassNode("gpu-0", 6, None, ())]


def test_a_class_without_devices_runs_on_every_node():
    stack = tree(qwen={"accelerator": "cpu"})
    assert [node.name for node in of_class(facts(replace(NODE, devices={})), stack)] == ["gpu-0"]


def test_unknown_nodes_are_not_judged():
    assert of_class(NOTHING_READ) == NOTHING_READ.nodes
    assert of_class(replace(facts(NODE), requested=Unknown("no"))) == (ClassNode("gpu-0", 8, None, ()),)
