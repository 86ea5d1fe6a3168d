"""States of workloads that depend on what could not be read, on who wrote a number, and on texts of refusals."""

import copy
import dataclasses

import pytest

from judging.status import verdict
from judging.status.records import Link, ObjectRef
from judging.status.rejections import rejection
from judging.status.states import Level
from judging.status.verdict import ExitCode
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import AUTOSCALER, DEPLOYMENT, EVENT, JOB, POD, SCALED_OBJECT
from tests.support.cluster.status import marked
from tests.support.healthy import THEN, conditions, whole
from tests.support.stacks import tree

AT = ObjectRef("Deployment", "models", "qwen-decode")


def snapshot(change=None, unread=(), **service):
    """Return the snapshot of a healthy service whose Deployment a function changes."""
    healthy = whole(marked(tree(qwen=service)))
    objects = {kind: copy.deepcopy(list(healthy.of(kind))) for kind in healthy.objects}
    for workload in objects[DEPLOYMENT]:
        if change is not None and workload["metadata"]["name"] == "qwen-decode":
            change(workload)
    return dataclasses.replace(healthy, objects=objects | dict.fromkeys(unread, Unknown("it answered 403")))


def states(whole, link=Link.WORKLOAD):
    (service,) = verdict.of(whole, {}).services
    return {state.state.id: state for part in service.components if part.link is link for state in part.findings}


def owned(workload, manager, *, scale=False, at=THEN):
    """Let a manager own the number of replicas, and the provider the rest."""
    template = {"manager": "pulumi-kubernetes", "time": THEN, "fieldsV1": {"f:spec": {"f:template": {}}}}
    entries = [template]
    if manager:
        entry = {"manager": manager, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
        entries.append(entry | ({"subresource": "scale"} if scale else {"time": at}))
    workload["metadata"]["managedFields"] = entries


def with_replicas(number, manager, **options):
    def change(workload):
        workload["spec"]["replicas"] = number
        owned(workload, manager, **options)

    return change


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        (
            (
                'pods "qwen-x" is forbidden: exceeded quota: gpus, requested: limits.memory=8Gi,'
                "requests.nvidia.com/gpu=1, used: limits.memory=64Gi,requests.nvidia.com/gpu=8, "
                "limited: limits.memory=64Gi,requests.nvidia.com/gpu=8"
            ),
            "quota",
            (
                "a pod asks for 8Gi limits.memory, 64Gi of 64Gi are in use; "
                "a pod asks for 1 requests.nvidia.com/gpu, 8 of 8 are in use"
            ),
        ),
        (
            'Error creating: pods "fill-x" is forbidden: violates PodSecurity "baseline:latest": hostPort',
            "admission",
            'refuses them: violates PodSecurity "baseline:latest": hostPort',
        ),
        (
            (
                'create Pod big-0-1 in StatefulSet big-0 failed error: pods "big-0-1" is forbidden: no PriorityClass '
                "with name high was found"
            ),
            "admission",
            "refuses them: no PriorityClass with name high was found",
        ),
        (
            'admission webhook "policy.example" denied the request: api key hf_abcdefghijklmnopqrstuvwxyzABCDEFGH',
            "admission",
            'refuses them: admission webhook "policy.example" denied the request: api key …',
        ),
        (None, "admission", "refuses them: "),
    ],
)
def test_a_refusal_is_told_without_the_names_of_pods(text, state, words):
    finding = rejection(text, AT, None)
    assert finding.state.id == state
    assert finding.words.endswith(words)


@pytest.mark.parametrize(("manager", "state"), [("pulumi-kubernetes", "asleep"), ("kubectl", "scaled-by-hand")])
def test_who_set_a_number_of_nothing_decides_whether_that_is_wrong(manager, state):
    found = states(snapshot(with_replicas(0, manager)))
    assert {"asleep", "scaled-by-hand"} & {*found} == {state}


def test_a_number_of_nothing_that_nobody_owns_was_set_at_the_scale():
    found = states(snapshot(with_replicas(0, "")))
    assert found["scaled-by-hand"].words == "has 0 replicas, as somebody has set it"


@pytest.mark.parametrize("kind", [AUTOSCALER, SCALED_OBJECT])
def test_a_number_of_nothing_is_nobodys_fault_while_autoscalers_are_unread(kind):
    status = verdict.of(snapshot(with_replicas(0, ""), unread=[kind]), {})
    assert "scaled-by-hand" not in states(snapshot(with_replicas(0, ""), unread=[kind]))
    assert status.exit_code in {ExitCode.UNKNOWN, ExitCode.DEGRADED}


def test_a_number_that_an_autoscaler_has_set_a_moment_ago_leaves_time_to_make_the_pods():
    change = with_replicas(3, "kube-controller-manager", scale=True)
    assert states(snapshot(change))["pods-awaited"].level is Level.NORMAL


def test_a_number_that_was_set_long_ago_and_whose_pods_are_not_made_is_wrong():
    change = with_replicas(3, "pulumi-kubernetes")
    assert states(snapshot(change))["pods-not-made"].words == "lacks 2 of 3 pods, which its controller has not made"


def test_a_pod_that_is_gone_is_made_anew_in_a_moment():
    missing = snapshot()
    objects = {**missing.objects, POD: []}
    assert "pods-awaited" in states(dataclasses.replace(missing, objects=objects))


def test_without_pods_a_workload_is_unknown():
    (service,) = verdict.of(snapshot(unread=[POD]), {}).services
    (workload,) = [part for part in service.components if part.link is Link.WORKLOAD]
    assert (workload.is_broken, workload.ready, workload.findings) == (None, None, ())


STORED = {
    "model": {"name": "org/model", "source": "hf://org/model@v1", "size": "16Gi"},
    "storage": {"type": "dedicated", "storageClassName": "fast"},
}


def pending(whole):
    """Return the snapshot with an unbound claim."""
    kind = "v1/PersistentVolumeClaim"
    claims = [claim | {"status": {"phase": "Pending"}} for claim in whole.of(kind)]
    return dataclasses.replace(whole, objects={**whole.objects, kind: claims})


def test_a_pending_claim_has_no_state_while_events_are_unread():
    assert set(states(pending(snapshot(**STORED)), Link.CLAIM)) == {"claim-waits"}
    assert set(states(pending(snapshot(unread=[EVENT], **STORED)), Link.CLAIM)) == set()


def test_a_bound_claim_is_unknown_while_jobs_are_unread():
    (service,) = verdict.of(snapshot(unread=[JOB], **STORED), {}).services
    (claim,) = [part for part in service.components if part.link is Link.CLAIM]
    assert claim.is_broken is None


def test_new_pods_are_those_that_agree_with_the_template():
    """The old pods are younger than the new ones: a rollout was undone while it went on."""

    def change(workload):
        workload["status"] |= {"replicas": 2, "updatedReplicas": 1}
        workload["spec"]["replicas"] = 2

    whole = snapshot(change)
    (new,) = [pod for pod in whole.of(POD) if pod["metadata"]["name"].startswith("qwen-decode")]
    old = copy.deepcopy(new)
    new["status"] |= {"phase": "Pending", "conditions": unscheduled(), "containerStatuses": []}
    del new["spec"]["nodeName"]
    old["metadata"] |= {"name": "qwen-decode-old", "creationTimestamp": "2026-11-28T11:00:00Z"}
    old["metadata"]["labels"]["pod-template-hash"] = "old"
    old["spec"]["containers"][0]["image"] = "registry.example/other:v1"
    objects = {**whole.objects, POD: [*whole.of(POD), old]}
    fails = states(dataclasses.replace(whole, objects=objects))["rollout-fails"]
    assert "1 of 2 are new, and the new ones fail: Pod models/qwen-decode-5d9c7-0" in fails.words


def unscheduled():
    message = "0/5 nodes are available: 5 Insufficient nvidia.com/gpu."
    (entry,) = conditions(PodScheduled="Unschedulable")
    return [entry | {"status": "False", "message": message}]
