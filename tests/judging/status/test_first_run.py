"""States of a service that a run is still making: its pool is there, and what comes after the pool is not."""

import copy
import dataclasses
from datetime import timedelta

import pytest

from judging.status import verdict
from judging.status.states import Level
from judging.status.verdict import ExitCode
from planning.ground.snapshot import DEPLOYMENT, JOB, POD, POOL, ROUTE
from tests.support.cluster.status import marked
from tests.support.healthy import NOW, whole
from tests.support.stacks import tree

RECENTLY = (NOW - timedelta(seconds=5)).isoformat()
LATER = timedelta(minutes=5)
STORED = {
    "model": {"name": "org/model", "source": "hf://org/model@v1", "size": "16Gi"},
    "storage": {"type": "dedicated", "storageClassName": "fast"},
}


def beginning(without, **service):
    """Return the snapshot of a service without a route and without some Deployments, whose pool is new."""
    healthy = whole(marked(tree(qwen=service)))
    objects = copy.deepcopy({kind: list(healthy.of(kind)) for kind in healthy.objects}) | {ROUTE: []}
    for item in (*objects[POOL], *objects[JOB]):
        item["metadata"]["creationTimestamp"] = RECENTLY
    for kind in (DEPLOYMENT, POD):
        objects[kind] = [item for item in objects[kind] if not item["metadata"]["name"].startswith(without)]
    return dataclasses.replace(healthy, objects=objects)


def culprit(snapshot, later=timedelta()):
    status = verdict.of(dataclasses.replace(snapshot, read_at=snapshot.read_at + later), {})
    (service,) = status.services
    assert service.culprit is not None
    return service.culprit, status.exit_code


@pytest.mark.parametrize(
    ("without", "state"),
    [(("qwen-decode", "qwen-epp"), "workload-awaited"), (("qwen-decode",), "workload-awaited")],
)
def test_what_a_run_makes_after_the_pool_is_awaited_for_a_moment(without, state):
    finding, exit_code = culprit(beginning(without))
    assert finding.level is Level.NORMAL
    assert exit_code is ExitCode.DEGRADED
    states = {state.state.id for state in all_states(beginning(without))}
    assert state in states


@pytest.mark.parametrize(
    ("without", "awaited", "missing", "code"),
    [
        ("qwen-decode", "workload-awaited", "workload-missing", ExitCode.FAILS),
        # Without a route, requests are for the Service, which needs no picker.
        ("qwen-epp", "picker-awaited", "picker-missing", ExitCode.DEGRADED),
    ],
)
def test_what_does_not_come_is_missed(without, awaited, missing, code):
    snapshot = beginning((without,))
    assert awaited in {state.state.id for state in all_states(snapshot)}
    finding, exit_code = culprit(snapshot, LATER)
    assert finding.state.id == missing
    assert exit_code is code


def test_the_picker_of_a_new_generation_is_awaited_for_a_moment_while_the_route_leads_to_the_former_pool():
    healthy = whole(marked(tree(qwen={"prefill": {}})))
    (former,) = healthy.of(POOL)
    new = copy.deepcopy(former)
    new["metadata"] |= {"name": "qwen-0ab1c", "creationTimestamp": RECENTLY}
    new["spec"]["endpointPickerRef"]["name"] = "qwen-0ab1c-epp"
    snapshot = dataclasses.replace(healthy, objects={**healthy.objects, POOL: [former, new]})
    assert [state.state.id for state in all_states(snapshot)] == ["picker-awaited"]
    assert [state.state.id for state in all_states(snapshot, LATER)] == ["picker-missing"]


def test_while_weights_are_fetched_the_job_is_why_the_workload_does_not_exist():
    snapshot = beginning(("qwen-decode",), **STORED)
    for job in snapshot.of(JOB):
        job["status"] = {"active": 1, "startTime": RECENTLY}
    finding, exit_code = culprit(snapshot, LATER)
    assert finding.state.id == "fill-running"
    assert exit_code is ExitCode.DEGRADED


def test_a_route_whose_pool_istio_does_not_know_yet_is_normal_for_a_moment():
    snapshot = whole(marked(tree()))
    (route,) = snapshot.of(ROUTE)
    route["metadata"]["creationTimestamp"] = RECENTLY
    (parent,) = route["status"]["parents"]
    unresolved = {"status": "False", "reason": "BackendNotFound", "message": "backend(qwen) not found"}
    parent["conditions"] = [
        entry | unresolved if entry["type"] == "ResolvedRefs" else entry for entry in parent["conditions"]
    ]
    assert {state.state.id for state in all_states(snapshot)} >= {"route-resolving"}
    assert {state.state.id for state in all_states(snapshot, LATER)} >= {"route-unresolved"}


def all_states(snapshot, later=timedelta()):
    (service,) = verdict.of(dataclasses.replace(snapshot, read_at=snapshot.read_at + later), {}).services
    return [state for part in service.components for state in part.findings]
