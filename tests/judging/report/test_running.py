"""Pods of a workload before a change."""

import pytest

from judging.report import running
from planning.hardware import accelerators

CLASSES = accelerators.classes({})
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def pod(devices, labels):
    limits = {"nvidia.com/gpu": devices, "cpu": "8"}
    return {"spec": {"containers": [{"resources": {"limits": limits}}], "nodeSelector": labels}}


def test_pods_of_a_deployment_have_the_class_whose_labels_they_require():
    content = {"spec": {"replicas": 3, "template": pod(4, H100)}}
    found = running.of_object("Deployment", content, CLASSES)
    assert (found.replicas, found.pods_per_replica, found.devices_per_pod) == (3, 1, 4)
    assert (found.accelerator, found.is_of_any_product) == ("nvidia-h100-80gb", False)


def test_a_class_without_labels_is_of_any_product():
    content = {"spec": {"template": pod(1, {})}}
    found = running.of_object("Deployment", content, CLASSES)
    assert (found.replicas, found.accelerator, found.is_of_any_product) == (None, "nvidia", True)


def test_a_group_has_the_size_of_its_spec_and_the_devices_of_its_workers():
    groups = {"size": 2, "workerTemplate": pod(8, H100), "leaderTemplate": {"metadata": {"labels": {"a": "b"}}}}
    content = {"spec": {"replicas": 1, "leaderWorkerTemplate": groups}}
    found = running.of_object("LeaderWorkerSet", content, CLASSES)
    assert (found.pods_per_replica, found.devices_per_pod) == (2, 8)
    assert running.leader_labels("LeaderWorkerSet", content) == {"a": "b"}


@pytest.mark.parametrize(("kind", "content"), [("Service", {"spec": {}}), ("Deployment", {})])
def test_what_is_no_workload_has_no_pods(kind, content):
    assert running.of_object(kind, content, CLASSES) is None
