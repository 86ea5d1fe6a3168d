"""The moment from which primary and canary are compared, in captured objects of a real control plane."""

import copy
from datetime import timedelta

import pytest

from judging.status import last_change, topology
from judging.status.last_change import LastChange
from judging.status.records import time
from planning.ground import labels
from planning.ground.snapshot import DEPLOYMENT, Snapshot
from tests.support.living_objects import Living


@pytest.fixture
def living():
    return Living()


def of(living, name="chat"):
    cluster = topology.of(Snapshot(living.read_at, living.objects))
    return last_change.of(next((view for view in cluster.services if view.name == name), None))


def readiness(pod):
    return next(entry for entry in pod["status"]["conditions"] if entry["type"] == "Ready")


def ready_at(living, name, text):
    readiness(living.of("Pod", name))["lastTransitionTime"] = text


def written_at(living, text, fields, manager="kubectl", **more):
    entry = {"manager": manager, "time": text, "fieldsV1": fields, **more}
    living.of("HTTPRoute", "chat")["metadata"]["managedFields"].append(entry)


@pytest.mark.parametrize("name", ["chat-decode-75cd78877f-mr57b", "chat-canary-decode"])
def test_the_newest_pod_of_both_variants_counts(living, name):
    ready_at(living, name, "2026-11-28T05:00:00Z")
    change = of(living)
    assert change.at == time("2026-11-28T05:00:00Z")
    assert change.words.startswith(f"pod {name}")


@pytest.mark.parametrize("name", ["chat-epp", "chat-canary-epp", "open-decode"])
def test_pickers_and_pods_of_other_services_do_not_count(living, name):
    before = of(living)
    ready_at(living, name, "2026-11-28T05:00:00Z")
    assert of(living) == before


def test_the_writer_of_the_rules_counts(living):
    written_at(living, "2026-11-28T05:00:00Z", {"f:spec": {"f:rules": {}}})
    assert of(living) == LastChange(time("2026-11-28T05:00:00Z"), "route chat was written")


def test_writers_of_other_fields_and_of_the_status_do_not_count(living):
    written_at(living, "2026-11-28T04:00:00Z", {"f:spec": {"f:rules": {}}}, manager="pulumi")
    written_at(living, "2026-11-28T05:00:00Z", {"f:metadata": {"f:annotations": {}}})
    written_at(living, "2026-11-28T06:00:00Z", {"f:status": {"f:parents": {}}}, subresource="status")
    assert of(living).at == time("2026-11-28T04:00:00Z")


def test_a_route_without_notes_counts_from_its_creation(living):
    route = living.of("HTTPRoute", "chat")["metadata"]
    route["managedFields"] = []
    route["creationTimestamp"] = "2026-11-28T05:00:00Z"
    assert of(living).at == time("2026-11-28T05:00:00Z")
    route["creationTimestamp"] = "yesterday"
    assert of(living) == LastChange(None, "nobody noted when route chat was written")


def test_a_pod_that_is_not_ready_beside_one_that_is_changes_nothing(living):
    ready_at(living, "chat-decode-75cd78877f-mr57b", "2026-11-28T05:00:00Z")
    assert of(living).at == time("2026-11-28T05:00:00Z")
    ready_at(living, "chat-decode-75cd78877f-fscwx", "2026-11-28T06:00:00Z")
    living.unready("chat-decode-75cd78877f-fscwx")
    assert of(living).at == time("2026-11-28T05:00:00Z")


def test_a_role_without_a_ready_pod_leaves_nothing_to_count_from(living):
    pod = living.of("Pod", "chat-decode-75cd78877f-mr57b")
    pod["metadata"]["labels"][labels.ROLE] = labels.PREFILL
    workload = copy.deepcopy(living.of("Deployment", "chat-decode"))
    workload["metadata"]["name"] = "chat-prefill"
    workload["spec"]["selector"]["matchLabels"][labels.ROLE] = labels.PREFILL
    living.objects[DEPLOYMENT].append(workload)
    living.of("Deployment", "chat-decode")["spec"]["selector"]["matchLabels"][labels.ROLE] = labels.DECODE
    living.of("Pod", "chat-decode-75cd78877f-fscwx")["metadata"]["labels"][labels.ROLE] = labels.DECODE
    assert of(living).at is not None
    living.unready("chat-decode-75cd78877f-mr57b")
    assert of(living) == LastChange(None, "pod chat-decode-75cd78877f-mr57b is not ready")


def test_ready_pods_of_some_roles_are_counted(living):
    cluster = topology.of(Snapshot(living.read_at, living.objects))
    (view,) = [view for view in cluster.services if view.name == "chat"]
    primary = next(variant for variant in view.variants if variant.name == "primary")
    assert last_change.ready_pods(primary, ("decode",)) == 2
    assert last_change.ready_pods(primary, ("prefill",)) == 0
    living.unready("chat-decode-75cd78877f-mr57b")
    assert last_change.ready_pods(primary, ("decode",)) == 1


@pytest.mark.parametrize("name", ["chat-decode", "chat-canary-decode"])
def test_a_variant_without_a_ready_pod_leaves_nothing_to_count_from(living, name):
    living.unready(name)
    change = of(living)
    assert change.at is None
    assert change.words.startswith(f"pod {name}")
    assert change.words.endswith("is not ready")


def test_pods_that_end_or_have_ended_do_not_count(living):
    living.of("Pod", "chat-decode-75cd78877f-mr57b")["metadata"]["deletionTimestamp"] = "2026-11-28T05:00:00Z"
    living.unready("chat-decode-75cd78877f-mr57b")
    assert of(living).at is not None
    pod = living.of("Pod", "chat-canary-decode")
    pod["status"]["phase"] = "Failed"
    assert of(living) == LastChange(None, "the canary has no pod")


def test_a_service_without_a_canary_or_a_route_leaves_nothing_to_count_from(living):
    assert of(living, "plain") == LastChange(None, "the canary is not deployed")
    assert of(living, "other") == LastChange(None, "the service is not deployed")
    living.remove("HTTPRoute", "chat")
    living.remove("Deployment", "chat-epp")
    assert of(living).at is None


def test_the_reading_itself_changes_nothing(living):
    before = of(living)
    living.read_at += timedelta(hours=1)
    assert of(living) == before


@pytest.mark.parametrize("value", [None, 1, "x", [], {}])
def test_strange_values_leave_an_answer(living, value):
    living.of("Pod", "chat-canary-decode")["status"]["phase"] = value
    assert of(living).words
    readiness(living.of("Pod", "chat-canary-decode"))["lastTransitionTime"] = value
    assert of(living).at is None
