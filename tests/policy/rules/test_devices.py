"""Budgets of devices and money, at the bounds of each limit, in scopes, and for objects of others."""

from dataclasses import replace

import pytest

from policy.rules import contracts
from tests.support.policies import lines, raw, verdicts, view
from tests.support.stacks import tree


def deployment(name="d", replicas=2, namespace="n", labels=None, limits=None, kind="Deployment"):
    container = {"name": "c", "image": "i", "resources": {"limits": limits or {"nvidia.com/gpu": "4", "cpu": "8"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    spec = {"replicas": replicas, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("devices", "refused"), [(8, False), (7, True), (7.0, True)])
def test_the_budget_counts_devices_of_all_replicas(devices, refused):
    assert bool(lines(raw(deployment()), "device-budget", devices=devices)) is refused


def test_a_scope_counts_its_workloads_together_and_no_others():
    judged = raw(
        deployment("a", labels={"team": "search"}),
        deployment("b", labels={"team": "search"}),
        deployment("c", labels={"team": "ads"}),
        deployment("d", namespace="other"),
    )
    assert lines(judged, "device-budget", scopes=[{"label": "team=search", "devices": 16}]) == []
    (line,) = lines(judged, "device-budget", scopes=[{"label": "team=search", "devices": 15}])
    assert (
        "takes most of 16 devices of team=search, which has 15; lower spec.replicas until at most 15 devices remain"
        in line
    )
    (line,) = lines(judged, "device-budget", scopes=[{"namespace": "other", "devices": 7}])
    assert "Deployment other/d takes most of 8 devices of namespace other" in line
    both = [{"namespace": "other", "label": "team=search", "devices": 0}]
    assert lines(judged, "device-budget", scopes=both) == []


def test_the_highest_number_of_an_autoscaler_counts():
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {"maxReplicas": 5, "scaleTargetRef": target},
    }
    judged = raw(deployment(), scaler)
    assert lines(judged, "device-budget", devices=20) == []
    assert len(lines(judged, "device-budget", devices=19)) == 1
    assert lines(judged, "replicas-max", replicas=5) == []
    (line,) = lines(judged, "replicas-max", replicas=4)
    assert "lower the highest number of replicas of HorizontalPodAutoscaler n/s to 4" in line


def test_an_autoscaler_of_a_stack_is_lowered_by_its_key():
    scaling = {"type": "hpa", "minReplicas": 1, "maxReplicas": 6, "metrics": [{"type": "queue-size", "target": 5}]}
    judged = view(tree(qwen={"autoscaling": scaling}))
    assert lines(judged, "replicas-max", replicas=6) == []
    assert "lower autoscaling.maxReplicas of service qwen to 5" in lines(judged, "replicas-max", replicas=5)[0]


def test_the_narrowest_scope_of_a_maximum_comes_first():
    judged = raw(deployment("a", replicas=3), deployment("b", replicas=3, namespace="other"))
    scopes = [{"namespace": "other", "replicas": 2}]
    assert len(lines(judged, "replicas-max", replicas=3, scopes=scopes)) == 1
    assert len(lines(judged, "replicas-max", replicas=2, scopes=[{"namespace": "other", "replicas": 3}])) == 1
    assert lines(judged, "replicas-max") == []


def test_devices_of_others_are_named_by_resource_and_device_class():
    claims = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "n"},
        "spec": {
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.x", "count": 3}}]}}
        },
    }
    claiming = deployment(limits={"cpu": "1"})
    claiming["spec"]["template"]["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": "t"}]
    judged = raw(claims, claiming)
    assert lines(judged, "allowed-accelerators", accelerators=["gpu.x"]) == []
    assert (
        "uses a device that is not allowed in the stack (gpu.x)"
        in lines(judged, "allowed-accelerators", accelerators=["y"])[0]
    )
    assert lines(judged, "device-budget", devices=6) == []
    assert len(lines(judged, "device-budget", devices=5)) == 1
    plain = raw(deployment())
    assert lines(plain, "allowed-accelerators", accelerators=["nvidia.com/gpu"]) == []
    assert "(nvidia.com/gpu)" in lines(plain, "allowed-accelerators", accelerators=["amd.com/gpu"])[0]
    assert lines(plain, "allowed-accelerators") == []


@pytest.mark.parametrize(("budget", "refused"), [(5840, False), (5839.9, True)])
def test_money_is_the_price_of_730_hours(budget, refused):
    judged = view(tree(qwen={"replicas": 2}))
    assert bool(lines(judged, "money", prices={"nvidia": 4.0}, perMonth=budget)) is refused


def test_a_class_without_a_price_leaves_the_budget_open():
    (verdict,) = verdicts(view(tree()), "money", perMonth=1)
    assert not verdict.is_refusal
    assert "can't tell: the stack has devices without a price (nvidia); add nvidia to the prices" in str(verdict)


def test_money_counts_services_of_a_label_alone():
    judged = view(tree(a={"labels": {"team": "search"}}, b={}))
    scopes = [{"label": "team=search", "perMonth": 2920}]
    assert lines(judged, "money", prices={"nvidia": 4.0}, scopes=scopes) == []
    scopes[0]["perMonth"] = 2919
    assert len(lines(judged, "money", prices={"nvidia": 4.0}, scopes=scopes)) == 1


def test_money_counts_all_inference_stacks_of_a_program_together():
    judged = view(tree())
    twice = replace(judged, contracts=judged.contracts * 2)
    assert lines(twice, "money", prices={"nvidia": 4.0}, perMonth=5840) == []
    assert "costs most of 5840 in a month" in lines(twice, "money", prices={"nvidia": 4.0}, perMonth=5839)[0]


def test_money_of_outputs_that_cannot_be_read_is_a_question():
    bare = raw(*(item.manifest for item in view(tree()).objects))
    (verdict,) = verdicts(bare, "money", perMonth=1)
    assert "can't tell: the stack has no outputs of an inference stack" in str(verdict)
    unread = replace(bare, contracts=(contracts.read({"contractVersion": 1}),))
    (verdict,) = verdicts(unread, "money", perMonth=1)
    assert "can't tell: the stack cannot be judged; the inference stack follows version 1" in str(verdict)
    assert verdicts(unread, "money") == []
