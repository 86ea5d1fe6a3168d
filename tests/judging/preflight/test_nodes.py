"""Roles without a node for their pods."""

from dataclasses import replace

from judging.preflight import nodes
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.inventory import LiveNode, Nodes, Requested
from tests.support.stacks import lines, plan, tree

L40S = {"nvidia.com/gpu.product": "NVIDIA-L40S"}
NODE = LiveNode("gpu-0", L40S, ready=True, cordoned=False, taints=(), devices={"nvidia.com/gpu": 8})
SERVICE = {"accelerator": "nvidia-l40s", "parallelism": {"tensor": 4}}


def facts(*found, **parts):
    return replace(NOTHING_READ, nodes=Nodes(found), requested=Requested({"gpu-0": {"nvidia.com/gpu": 3}}), **parts)


def told(*found):
    return lines(nodes.judge(plan(tree(qwen=SERVICE)), facts(*found), "strict"), "warning")


def test_what_keeps_pods_away_is_told():
    at = "services.qwen.accelerator:"
    small, closed = replace(NODE, devices={"nvidia.com/gpu": 2}), replace(NODE, name="gpu-1", cordoned=True)
    assert told(NODE, closed) == []
    assert told() == [f"{at} no node has the labels and devices of this class, and pods wait until such a node joins"]
    assert told(small) == [f"{at} a pod takes 4 devices, and no node of this class has more than 2"]
    assert told(small, closed) == [f"{at} no node of this class takes pods (gpu-1: cordoned)"]


def test_unknown_nodes_and_a_check_that_is_skipped_say_nothing():
    assert list(nodes.judge(plan(tree(qwen=SERVICE)), NOTHING_READ, "strict")) == []
    assert list(nodes.judge(plan(tree(qwen=SERVICE)), facts(), "skip")) == []
