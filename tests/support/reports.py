"""Reports on a change from one stack to another, on nodes with H100."""

import copy
from dataclasses import replace

from judging.report import events, summary
from judging.report.summary import ComposedStack
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.inventory import LiveNode, Nodes, Quotas, Requested
from tests.support.events import log
from tests.support.stacks import plan, tree

H100, GPU = "nvidia-h100-80gb", "nvidia.com/gpu"
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
MODEL = {"name": "org/model", "source": "kit://registry.example/org/model:v1", "size": "140Gi"}
SERVICE = {"model": MODEL, "accelerator": H100, "parallelism": {"tensor": 4}, "replicas": 2}
MONEY = {
    "prices": {"perDeviceHour": {H100: 4.10}},
    "budgets": {"by": "team", "limits": {"search": {"perMonth": 10000000}}},
    "labels": {"team": "search"},
}


def nodes(count, requested=0):
    found = [
        LiveNode(f"gpu-{number}", LABELS, ready=True, cordoned=False, taints=(), devices={GPU: 8})
        for number in range(count)
    ]
    used = Requested({node.name: {GPU: requested} for node in found})
    return replace(NOTHING_READ, nodes=Nodes(tuple(found)), requested=used, quotas=Quotas(()))


def made(before, after, facts, *messages):
    composed = ComposedStack(load(after).stack, plan(after), facts)
    return summary.summarize(events.read(log(before, after, *messages)), composed)


def changed(number, service):
    """Return a service after the change, by its number: an outage, a rolling restart, more replicas, another path."""
    found = copy.deepcopy(service)
    match number % 4:
        case 0:
            found |= {"replicas": 1, "engine": {"image": "registry.example/vllm-openai:v0.22.0"}}
        case 1:
            found["model"]["maxModelLen"] = 65536
        case 2:
            found["replicas"] = 3
        case _:
            found["route"] = {"matches": [{"path": f"/moved/{number}"}]}
    return found


def stacks(count):
    before = {f"model-{number}": {**SERVICE, "replicas": 1 if number % 4 == 0 else 2} for number in range(count)}
    after = {key: changed(number, service) for number, (key, service) in enumerate(before.items())}
    if count > 1:
        before["old"] = SERVICE
        after["new"] = SERVICE
    return tree(**before) | MONEY, tree(**after) | MONEY
