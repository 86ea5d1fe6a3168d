"""The document of a status names what is wrong, and depends on the time of reading in one key alone."""

import json
from datetime import timedelta
from string import Formatter

import pytest

from judging.status import document, states, verdict
from judging.status.verdict import ExitCode, Status
from planning.ground import labels
from planning.ground.snapshot import DEPLOYMENT, NODE, POD, Snapshot
from tests.support import status_documents
from tests.support.status_documents import SERVICES
from tests.support.statuses import READ_AT


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_the_state_that_its_parts_have(name):
    assert document.state(SERVICES[name]) == name


def test_the_states_of_all_services_give_the_exit_code():
    codes = {name: status_documents.of(name)["exitCode"] for name in SERVICES}
    assert codes == {"healthy": 0, "degraded": 4, "starting": 4, "asleep": codes["asleep"], "broken": 5, "unknown": 1}


def test_two_readings_differ_in_the_time_of_reading_alone():
    first = status_documents.of(*SERVICES)
    later = status_documents.of(*SERVICES, seconds=3600)
    assert first != later
    assert {**first, "readAt": None} == {**later, "readAt": None}


def test_the_culprit_has_id_object_role_time_words_and_remedy():
    (service,) = status_documents.of("broken")["services"]
    culprit = service["culprit"]
    assert (culprit["id"], culprit["role"], culprit["since"]) == ("no-devices", "decode", "2026-11-23T18:41:00Z")
    assert culprit["object"] == {"kind": "Pod", "namespace": "team", "name": "x"}
    assert culprit["words"] == "is in the state no-devices"
    assert culprit.keys() >= {"do", "count", "level"}
    assert service["since"] == culprit["since"]
    assert [finding["id"] for finding in service["others"]] == ["no-endpoints"]


def test_a_link_that_follows_from_the_culprit_names_it():
    (service,) = status_documents.of("broken")["services"]
    causes = {entry["link"]: entry["followsFrom"] for entry in service["components"]}
    at = {"kind": "Pod", "namespace": "team", "name": "x"}
    assert causes == {"route": None, "pool": {"id": "no-devices", "object": at}, "workload": None}


def test_links_are_in_the_order_of_the_chain_with_their_replicas():
    (service,) = status_documents.of("degraded")["services"]
    assert [entry["link"] for entry in service["components"]] == ["route", "pool", "scaling", "workload"]
    assert [(entry["ready"], entry["desired"]) for entry in service["components"]] == [
        (None, None),
        (2, None),
        (None, None),
        (2, 2),
    ]
    assert service["replicas"] == [
        {"variant": "primary", "role": "decode", "ready": 2, "desired": 2, "min": 1, "max": 4}
    ]


def test_gateways_have_their_addresses_and_the_service_its_urls():
    (service,) = status_documents.of("healthy")["services"]
    assert service["gateways"] == [{"namespace": "gateways", "name": "inference", "addresses": ["10.0.0.1"]}]
    assert service["urls"] == ["http://10.0.0.1/team/qwen"]


def test_the_words_of_other_systems_are_there():
    (service,) = status_documents.of("starting")["services"]
    heritage = service["heritage"]
    assert heritage["otterscale"]["reason"] == "PodsStarting"
    assert heritage["aimEngine"]["status"] == "Starting"
    assert not heritage["zerfoo"]["ready"]


def test_kinds_that_could_not_be_read_are_listed_by_name():
    tree = status_documents.of(unread={"v1/Pod": "403", "v1/Event": "slow"})
    assert tree["unread"] == [{"kind": "v1/Event", "reason": "slow"}, {"kind": "v1/Pod", "reason": "403"}]
    assert tree["exitCode"] == 1


def test_logs_and_answers_are_there_only_if_somebody_asked_for_them():
    (plain,) = status_documents.of("broken")["services"]
    (asked,) = status_documents.of(
        "broken", logs={status_documents.PLACE: ["out of memory"]}, answers={status_documents.PLACE: "503"}
    )["services"]
    assert (plain["log"], plain["answer"]) == (None, None)
    assert (asked["log"], asked["answer"]) == (["out of memory"], "503")


def test_a_document_is_plain_json():
    tree = status_documents.of(*SERVICES, not_deployed=["b", "a"])
    assert json.loads(json.dumps(tree)) == tree
    assert tree["notDeployed"] == ["a", "b"]


def test_a_cluster_without_services_has_an_empty_document():
    tree = document.of(Status((), READ_AT, Snapshot(READ_AT, {}).unread()), ExitCode.SERVES)
    assert (tree["services"], tree["exitCode"], tree["readAt"]) == ([], 0, "2026-11-23T19:04:12Z")


def test_no_words_of_a_document_have_a_duration_that_grows():
    growing = {"elapsed", "progress"}
    for name, state in states.by_id().items():
        words = state.steady or state.words
        fields = {field for _, field, _, _ in Formatter().parse(words + state.remedy) if field}
        assert not fields & growing, name
    assert any(state.steady for state in states.by_id().values())


def loading(read_at):
    """Return the document of a service whose only pod loads its model."""
    pod_labels = {labels.SERVICE: "qwen", labels.ROLE: "decode"}
    parts = {**labels.PART_OF, "app.kubernetes.io/name": "qwen", "app.kubernetes.io/component": "model-server"}
    about = {"namespace": "team", "name": "qwen-decode", "labels": parts}
    container = {"name": "vllm", "startupProbe": {"periodSeconds": 10, "failureThreshold": 180}}
    deployment = {
        "metadata": {**about, "creationTimestamp": "2026-11-23T18:40:00Z"},
        "spec": {"replicas": 1, "selector": {"matchLabels": pod_labels}},
    }
    pod = {
        "metadata": {"namespace": "team", "name": "qwen-decode-x", "labels": {**parts, **pod_labels}},
        "spec": {"nodeName": "a", "containers": [container]},
        "status": {
            "phase": "Running",
            "startTime": "2026-11-23T18:40:00Z",
            "conditions": [{"type": "PodScheduled", "status": "True"}],
            "containerStatuses": [
                {"name": "vllm", "started": False, "state": {"running": {"startedAt": "2026-11-23T18:41:00Z"}}}
            ],
        },
    }
    node = {"metadata": {"name": "a"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    snapshot = Snapshot(read_at, {DEPLOYMENT: [deployment], POD: [pod], NODE: [node]})
    status = verdict.of(snapshot, {})
    return document.of(status, status.exit_code)


def test_two_readings_of_a_pod_that_loads_differ_in_the_time_of_reading_alone():
    first = loading(READ_AT)
    later = loading(READ_AT + timedelta(minutes=2))
    assert "loading" in json.dumps(first)
    assert first["readAt"] != later["readAt"]
    assert {**first, "readAt": None} == {**later, "readAt": None}
