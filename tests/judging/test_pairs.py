"""Fields of workloads whose change replaces pods, in one form."""

import pytest

from judging.pairs import pod_fields


def deployment(**container):
    return {"spec": {"template": {"spec": {"containers": [{"name": "engine", **container}]}}}}


@pytest.mark.parametrize(
    ("written", "recorded"),
    [
        ({"resources": {"limits": {"cpu": "0.5"}}}, {"resources": {"limits": {"cpu": "500m"}}}),
        ({"resources": {"requests": {"memory": "1024Mi"}}}, {"resources": {"requests": {"memory": "1Gi"}}}),
        ({"resources": {"requests": {"cpu": 1}}}, {"resources": {"requests": {"cpu": "1"}}}),
        ({}, {"resources": {}}),
        ({"env": [{"name": "A", "value": ""}]}, {"env": [{"name": "A"}]}),
        ({"tty": False, "startupProbe": {"initialDelaySeconds": 0}}, {}),
        ({"startupProbe": {"periodSeconds": 5}}, {"startupProbe": {"periodSeconds": 5.0}}),
    ],
)
def test_two_spellings_of_a_container_are_one(written, recorded):
    assert pod_fields("Deployment", deployment(**written)) == pod_fields("Deployment", deployment(**recorded))


@pytest.mark.parametrize(
    ("written", "recorded"),
    [
        ({"resources": {"limits": {"cpu": "0.5"}}}, {"resources": {"limits": {"cpu": "5"}}}),
        ({"resources": {"limits": {"cpu": "0"}}}, {}),
        ({"env": [{"name": "A", "value": "0.5"}]}, {"env": [{"name": "A", "value": "500m"}]}),
        ({"securityContext": {"allowPrivilegeEscalation": False}}, {}),
        ({"tty": True}, {}),
        ({"args": ["", "a"]}, {"args": ["a"]}),
    ],
)
def test_two_containers_are_two(written, recorded):
    assert pod_fields("Deployment", deployment(**written)) != pod_fields("Deployment", deployment(**recorded))


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ({"nodeSelector": {"node-role.kubernetes.io/gpu": ""}}, {}),
        ({"nodeSelector": {"a": ""}}, {"nodeSelector": {"a": "", "b": ""}}),
        ({"topologySpreadConstraints": [{"labelSelector": {}}]}, {"topologySpreadConstraints": [{}]}),
        ({"overhead": {"cpu": "0.5"}}, {"overhead": {"cpu": "5"}}),
    ],
)
def test_two_pods_are_two(written, other):
    pods = [{"spec": {"template": {"spec": spec}}} for spec in (written, other)]
    first, second = (pod_fields("Deployment", pod) for pod in pods)
    assert first != second


def test_an_empty_label_of_a_pod_is_a_label():
    pods = [{"spec": {"template": {"metadata": {"labels": labels}}}} for labels in ({"a": ""}, {})]
    first, second = (pod_fields("Deployment", pod) for pod in pods)
    assert first != second


def test_two_spellings_of_an_overhead_are_one():
    pods = [{"spec": {"template": {"spec": {"overhead": {"cpu": cpu}}}}} for cpu in ("0.5", "500m")]
    first, second = (pod_fields("Deployment", pod) for pod in pods)
    assert first == second


def test_a_group_is_all_its_templates():
    group = {
        "spec": {"replicas": 1, "networkConfig": {"subdomainPolicy": "Shared"}, "leaderWorkerTemplate": {"size": 2}}
    }
    scaled = {"spec": {**group["spec"], "replicas": 2}}
    larger = {"spec": {**group["spec"], "leaderWorkerTemplate": {"size": 3}}}
    assert pod_fields("LeaderWorkerSet", group) == pod_fields("LeaderWorkerSet", scaled)
    assert pod_fields("LeaderWorkerSet", group) != pod_fields("LeaderWorkerSet", larger)
