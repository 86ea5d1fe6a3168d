"""The new pods of a rollout."""

import copy

from planning.ground.snapshot import POD
from tests.support.healthy import conditions, replaced, service, states


def test_new_pods_are_those_that_agree_with_the_template():
    """The old pods are younger than the new ones: a rollout was undone while it went on."""

    def change(workload):
        workload["status"] |= {"replicas": 2, "updatedReplicas": 1}
        workload["spec"]["replicas"] = 2

    ready = service(change)
    (new,) = [pod for pod in ready.of(POD) if pod["metadata"]["name"].startswith("qwen-decode")]
    old = copy.deepcopy(new)
    new["status"] |= {"phase": "Pending", "conditions": unscheduled(), "containerStatuses": []}
    del new["spec"]["nodeName"]
    old["metadata"] |= {"name": "qwen-decode-old", "creationTimestamp": "2026-11-28T11:00:00Z"}
    old["metadata"]["labels"]["pod-template-hash"] = "old"
    old["spec"]["containers"][0]["image"] = "registry.example/other:v1"
    fails = states(replaced(ready, **{POD: [*ready.of(POD), old]}))["rollout-fails"]
    assert "1 of 2 are new, and the new ones fail: Pod models/qwen-decode-5d9c7-0" in fails.words


def unscheduled():
    message = "0/5 nodes are available: 5 Insufficient nvidia.com/gpu."
    (entry,) = conditions(PodScheduled="Unschedulable")
    return [entry | {"status": "False", "message": message}]
