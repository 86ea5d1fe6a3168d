"""Numbers of pods and devices of workloads, as their controllers count them."""

import pytest

from policy.rules import workloads
from tests.support.policies import lines, raw, view
from tests.support.stacks import tree

GPU = "nvidia.com/gpu"


def pod(*containers, init=()):
    spec = {"containers": list(containers)}
    if init:
        spec["initContainers"] = list(init)
    return {"metadata": {"labels": {}}, "spec": spec}


def container(limits=None, requests=None, **more):
    return {"name": "c", "image": "i", "resources": {"limits": limits or {}, "requests": requests or {}}, **more}


def counted(kind, spec):
    manifest = {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "w", "namespace": "n"}, "spec": spec}
    (workload,) = workloads.all_of(raw(manifest))
    return workload.devices()


GPUS = pod(container({GPU: "4"}))


@pytest.mark.parametrize(
    ("kind", "spec", "devices"),
    [
        ("Deployment", {"replicas": 3, "template": GPUS}, 12),
        ("Deployment", {"template": GPUS}, 4),
        ("Deployment", {"replicas": 0, "template": GPUS}, 0),
        ("StatefulSet", {"replicas": 2, "template": GPUS}, 8),
        ("ReplicaSet", {"replicas": 2, "template": GPUS}, 8),
        ("DaemonSet", {"replicas": 9, "template": GPUS}, 4),
        ("Job", {"parallelism": 2, "template": GPUS}, 8),
        ("CronJob", {"jobTemplate": {"spec": {"parallelism": 3, "template": GPUS}}}, 12),
        ("LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": GPUS}}, 24),
        (
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"size": 3, "leaderTemplate": pod(container({GPU: 1})), "workerTemplate": GPUS}},
            9,
        ),
    ],
)
def test_devices_are_those_of_all_pods(kind, spec, devices):
    assert counted(kind, spec).get(GPU, 0) == devices


@pytest.mark.parametrize(
    ("template", "devices"),
    [
        (pod(container({GPU: 2}), container({GPU: 1})), 3),
        (pod(container({GPU: 2}), init=[container({GPU: 1})]), 2),
        (pod(container({GPU: 2}), init=[container({GPU: 3})]), 3),
        (pod(container({GPU: 2}), init=[container({GPU: 3}, restartPolicy="Always")]), 5),
        (pod(container(requests={GPU: "2"})), 2),
        (pod(container({"cpu": "4", "hugepages-2Mi": "1", "example.kubernetes.io/x": "1"})), 0),
        (pod(container({GPU: "1k"})), 1000),
        (pod(container({GPU: "many"})), 0),
    ],
)
def test_devices_of_a_pod_are_those_of_its_containers_together_or_of_the_largest_init_container(template, devices):
    assert sum(counted("Deployment", {"template": template}).values()) == devices


def test_a_scaled_object_without_a_maximum_has_that_of_keda():
    scaled = {
        "kind": "ScaledObject",
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {"scaleTargetRef": {"name": "w"}},
    }
    target = {"kind": "Deployment", "metadata": {"name": "w", "namespace": "n"}, "spec": {"template": GPUS}}
    assert lines(raw(scaled, target), "replicas-max", replicas=100) == []
    assert len(lines(raw(scaled, target), "replicas-max", replicas=99)) == 1
    scaled["metadata"]["namespace"] = "other"
    assert lines(raw(scaled, target), "replicas-max", replicas=1) == []


def test_the_contract_has_the_devices_of_a_stack():
    stack = tree(qwen={"replicas": 2, "parallelism": {"tensor": 4}, "canary": {"weight": 5}, "prefill": {}})
    judged = view(stack)
    assert lines(judged, "device-budget", devices=20) == []
    assert "takes most of 20 devices" in lines(judged, "device-budget", devices=19)[0]
    bare = raw(*(item.manifest for item in judged.objects))
    assert len(lines(bare, "device-budget", devices=19)) == 1
    assert lines(bare, "device-budget", devices=20) == []
