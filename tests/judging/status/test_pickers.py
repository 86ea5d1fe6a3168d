from datetime import timedelta

import pytest

from judging.status.evidence import RouteExpectation
from judging.status.records import Link
from judging.status.states import Level
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import LEASE, POD, POOL, ROUTE
from tests.support.living_objects import NAMESPACE, Living

NOW = timedelta()
ONE_PICKER = RouteExpectation({"chat": 50, "chat-canary": 50}, asks_each_picker=False)


@pytest.fixture
def living():
    return Living()


def running(living, name, started):
    """Let pods run since a time, and be not ready."""
    living.unready(name)
    for pod in living.objects[POD]:
        if pod["metadata"]["name"].startswith(name):
            state = {"running": {"startedAt": f"{started:%Y-%m-%dT%H:%M:%SZ}"}}
            pod["status"]["containerStatuses"] = [{"name": "epp", "state": state, "ready": False, "restartCount": 0}]


def test_a_picker_that_runs_is_waited_for_a_minute_and_blamed_later(living):
    running(living, "chat-epp", living.read_at)
    assert living.status("chat", NOW).culprit.level is Level.NORMAL
    assert living.status("chat", NOW).serves is False
    assert living.status("chat").culprit.state.id == "picker-slow"


def test_the_standby_of_a_leader_is_no_fault(living):
    status = living.status("pair")
    (picker,) = (component for component in status.components if component.link is Link.PICKER)
    assert (picker.ready, picker.desired, picker.findings) == (1, 1, ())
    assert " leads since " in picker.note


def test_pickers_that_all_wait_have_no_leader_once_the_lease_ran_out(living):
    running(living, "pair-epp", living.read_at - timedelta(hours=1))
    lease = living.of("Lease", "epp-")
    assert living.culprit("pair") == (f"Lease {NAMESPACE}/{lease['metadata']['name']}", "no-leader")
    living.remove("Lease", "epp-")
    assert living.culprit("pair") == (f"Lease {NAMESPACE}/epp-{NAMESPACE}-pair.", "no-leader")
    living.unread[LEASE] = Unknown("it answered 403")
    assert living.status("pair").serves is None


def test_a_picker_of_a_pool_that_fails_open_only_degrades(living):
    living.remove("Deployment", "open-epp")
    status = living.status("open")
    assert (status.serves, living.culprit("open")) == (True, (f"Deployment {NAMESPACE}/open-epp", "picker-missing"))
    assert "fail-open" in living.states("open")


def test_a_pool_that_fails_open_is_normal_while_a_run_makes_its_picker(living):
    living.remove("Deployment", "open-epp")
    living.objects[ROUTE] = []
    for pool in living.objects[POOL]:
        pool["metadata"]["creationTimestamp"] = living.read_at.isoformat()
    states = living.states("open", NOW)
    assert "picker-awaited" in states
    assert "fail-open" not in states


def test_a_canarys_picker_is_needed_only_by_gateways_that_ask_it(living):
    living.remove("Deployment", "chat-canary-epp")
    assert living.status("chat").serves is False
    living.routes[NAMESPACE, "chat"] = ONE_PICKER
    assert living.status("chat").serves is True
    assert living.status("chat").culprit.state.id == "picker-missing"


def test_a_picker_that_refuses_its_configuration_is_quoted_by_its_last_line(living):
    living.unready("chat-epp")
    ended = {"exitCode": 1, "message": "begin\nunknown plugin", "finishedAt": "2026-11-28T02:00:00Z"}
    crash = {"name": "epp", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}
    living.of("Pod", "chat-epp")["status"]["containerStatuses"] = [crash]
    assert living.status("chat").culprit.words == "ends with exit code 1: unknown plugin"


def test_a_pool_that_asks_another_port_than_its_pickers_is_blamed(living):
    living.of("InferencePool", "pair")["spec"]["endpointPickerRef"]["port"]["number"] = 9999
    status = living.status("pair")
    assert (status.serves, status.culprit.words) == (
        False,
        "asks its picker on port 9999, and the picker listens on 9002",
    )


@pytest.mark.parametrize("kind", [POD, POOL])
def test_without_pods_or_pools_nothing_is_told(kind, living):
    living.unread[kind] = Unknown("it answered 403")
    status = living.status("pair")
    assert (status.serves, status.culprit) == (None, None)


def test_a_pool_that_selects_nobody_is_told_from_one_whose_workload_is_missing(living):
    labels = living.of("InferencePool", "pair")["spec"]["selector"]["matchLabels"]
    labels["inference-stacks.io/service"] = "nobody"
    assert living.culprit("pair") == (f"InferencePool {NAMESPACE}/pair", "selects-nothing")
    labels.update({"inference-stacks.io/service": "pair", "inference-stacks.io/generation": "3f2a1"})
    assert living.culprit("pair") == (f"InferencePool {NAMESPACE}/pair", "other-generation")
    living.remove("Deployment", "pair-decode")
    assert living.culprit("pair") == (f"Deployment {NAMESPACE}/pair-decode", "workload-missing")


@pytest.mark.parametrize(("name", "workload"), [("plain", "plain-decode"), ("chat", "chat-canary-decode")])
def test_a_variant_of_which_nothing_is_left_is_missing(name, workload, living):
    base = workload.removesuffix("-decode")
    for kind in ("Deployment", "InferencePool"):
        living.remove(kind, base)
    missing = {"plain": ("Deployment", "workload-missing"), "chat": ("InferencePool", "pool-missing")}
    kind, state = missing[name]
    living_name = workload if kind == "Deployment" else base
    assert living.culprit(name) == (f"{kind} {NAMESPACE}/{living_name}", state)
    assert living.status(name).serves is False


def test_a_pool_that_a_gateway_refuses_is_quoted(living):
    (parent,) = living.of("InferencePool", "pair")["status"]["parents"]
    parent["conditions"][1].update(status="False", reason="InvalidExtensionRef", message="not found")
    assert living.status("pair").culprit.words == "is refused at the Gateway gateway: InvalidExtensionRef not found"
    assert living.status("pair").serves is False
