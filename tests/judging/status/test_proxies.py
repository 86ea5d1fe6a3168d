"""A service that clients reach through the proxy beside its picker alone: without a route."""

import dataclasses
from datetime import timedelta

import pytest

from judging.status import verdict
from judging.status.records import Link
from judging.status.states import Level
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import DEPLOYMENT, NODE, POD, POOL, SERVICE
from tests.support.cluster.status import marked
from tests.support.healthy import NOW, THEN, conditions, whole
from tests.support.stacks import tree

JUST_NOW = f"{NOW - timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"


class Proxied:
    """Objects of a service with a proxy, all ready, which a test edits."""

    def __init__(self, *, routed=False, **picker):
        stack = tree(qwen={"endpointPicker": {"proxy": {}, **picker}})
        if not routed:
            del stack["gateway"]
        self.snapshot = whole(marked(stack))
        node = {
            "metadata": {"name": "node-0", "creationTimestamp": THEN},
            "status": {"conditions": conditions("Ready")},
        }
        self.snapshot.objects[NODE].append(node)

    def of(self, kind, name):
        (item,) = (item for item in self.snapshot.of(kind) if item["metadata"]["name"].startswith(name))
        return item

    def remove(self, kind, name):
        items = self.snapshot.objects[kind]
        items[:] = [item for item in items if not item["metadata"]["name"].startswith(name)]

    def unready(self, container, pod="qwen-epp", **state):
        """Let a container of a pod be in another state, and the pod not ready."""
        status = self.of(POD, pod)["status"]
        for condition in status["conditions"]:
            condition["status"] = str(condition["type"] not in {"Ready", "ContainersReady"})
        (entry,) = (entry for entry in status["containerStatuses"] if entry["name"] == container)
        entry |= {"ready": False, **state}

    def status(self, *unread):
        objects = {**self.snapshot.objects, **dict.fromkeys(unread, Unknown("it answered 403"))}
        (status,) = verdict.of(dataclasses.replace(self.snapshot, objects=objects), {}).services
        return status

    def culprit(self):
        """Return object and state of the culprit of a service that does not serve."""
        status = self.status()
        assert status.serves is False
        return str(status.culprit.object), status.culprit.state.id


def test_requests_go_through_the_proxy_to_the_pool_and_the_address_is_said():
    status = Proxied().status()
    assert (status.serves, status.level, status.culprit) == (True, Level.NORMAL, None)
    links = {component.link: component for component in status.components}
    assert links.keys() == {Link.POOL, Link.PICKER, Link.WORKLOAD}
    assert str(links[Link.POOL].object) == "InferencePool models/qwen"
    assert links[Link.PICKER].note.endswith(" answers at qwen-proxy.models.svc")


@pytest.mark.parametrize("mode", [{}, {"failureMode": "FailOpen", "failOpenReason": "any pod will do"}])
def test_without_its_picker_nobody_is_answered_whatever_the_pool_tells_gateways(mode):
    proxied = Proxied(**mode)
    proxied.remove(POD, "qwen-epp")
    assert proxied.culprit() == ("Deployment models/qwen-epp", "picker-down")
    proxied.remove(DEPLOYMENT, "qwen-epp")
    assert proxied.culprit() == ("Deployment models/qwen-epp", "picker-missing")
    states = {state.state.id for component in proxied.status().components for state in component.findings}
    assert "fail-open" not in states


def test_without_a_proxy_clients_ask_the_service_of_the_pods():
    """The control: there a picker is in nobody's way."""
    stack = tree(qwen={})
    del stack["gateway"]
    plain = Proxied()
    plain.snapshot = whole(marked(stack))
    plain.remove(POD, "qwen-epp")
    assert plain.status().serves is True


def test_a_proxy_that_ends_again_and_again_is_blamed_by_its_name():
    proxied = Proxied()
    ended = {"exitCode": 1, "reason": "Error", "startedAt": THEN, "finishedAt": THEN, "message": "begin\nno such file"}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 40s"}
    proxied.unready("proxy", state={"waiting": waiting}, lastState={"terminated": ended}, restartCount=9)
    assert proxied.culprit() == ("Pod models/qwen-epp-5d9c7-0", "crash")
    culprit = proxied.status().culprit
    assert culprit.words == 'has the container proxy, which ended with exit code 1 (an error): "no such file"'
    assert culprit.remedy.endswith("-c proxy`")
    assert culprit.values["container"] == "proxy"


def test_a_picker_that_ends_again_and_again_refuses_its_configuration():
    """The control."""
    proxied = Proxied()
    ended = {"exitCode": 1, "startedAt": THEN, "finishedAt": THEN, "message": "unknown plugin"}
    proxied.unready("epp", state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState={"terminated": ended})
    assert proxied.culprit() == ("Pod models/qwen-epp-5d9c7-0", "picker-refuses")


def test_a_proxy_that_runs_is_waited_for_a_minute_and_blamed_later():
    proxied = Proxied()
    proxied.unready("proxy")
    assert proxied.culprit() == ("Pod models/qwen-epp-5d9c7-0", "proxy-slow")
    culprit = proxied.status().culprit
    assert culprit.words == "has the container proxy, which runs but does not become ready"
    assert culprit.remedy == "read its log: `kubectl logs -n models qwen-epp-5d9c7-0 -c proxy`"
    proxied.unready("proxy", state={"running": {"startedAt": JUST_NOW}})
    assert proxied.status().culprit.level is Level.NORMAL
    proxied = Proxied()
    proxied.unready("epp")
    assert proxied.culprit() == ("Pod models/qwen-epp-5d9c7-0", "picker-slow")


def test_a_service_of_the_proxies_that_does_not_exist_is_blamed_once_a_run_has_had_time_to_make_it():
    proxied = Proxied()
    proxied.remove(SERVICE, "qwen-proxy")
    assert proxied.culprit() == ("Service models/qwen-proxy", "proxy-unreached")
    assert proxied.status().culprit.words == "does not lead to the proxy beside the picker: it does not exist"
    for condition in proxied.of(POD, "qwen-decode")["status"]["conditions"]:
        condition["lastTransitionTime"] = JUST_NOW
    assert proxied.culprit() == ("Service models/qwen-proxy", "proxy-awaited")
    assert proxied.status().culprit.level is Level.NORMAL


def test_nobody_is_blamed_while_a_run_waits_for_the_pods():
    proxied = Proxied()
    proxied.remove(SERVICE, "qwen-proxy")
    running = {"running": {"startedAt": JUST_NOW}}
    proxied.unready("vllm", pod="qwen-decode", started=False, state=running)
    assert proxied.culprit() == ("Pod models/qwen-decode-5d9c7-0", "starting")
    assert proxied.status().culprit.level is Level.NORMAL
    proxied.remove(POD, "qwen-decode")
    proxied.remove(DEPLOYMENT, "qwen-decode")
    proxied.of(POOL, "qwen")["metadata"]["creationTimestamp"] = JUST_NOW
    assert proxied.culprit() == ("Deployment models/qwen-decode", "workload-awaited")
    assert proxied.status().culprit.level is Level.NORMAL


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("selector", {"inference-stacks.io/endpoint-picker": "other"}, "it selects no pod of the picker"),
        ("ports", [{"port": 80, "targetPort": 9002}], "none of its ports is one of the proxy"),
    ],
)
def test_a_service_that_leads_elsewhere_is_blamed(field, value, text):
    proxied = Proxied()
    proxied.of(SERVICE, "qwen-proxy")["spec"][field] = value
    assert proxied.culprit() == ("Service models/qwen-proxy", "proxy-unreached")
    assert proxied.status().culprit.words.endswith(f": {text}")


def test_a_picker_of_a_former_generation_is_in_nobodys_way():
    proxied = Proxied()
    for kind in (POOL, DEPLOYMENT):
        former = [item for item in proxied.snapshot.of(kind) if item["metadata"]["name"] in {"qwen", "qwen-epp"}]
        for item in former:
            copied = {**item, "metadata": {**item["metadata"], "name": f"{item['metadata']['name']}-old"}}
            copied["spec"] = {**item["spec"], "selector": {"matchLabels": {"inference-stacks.io/generation": "0ff1c"}}}
            if kind == POOL:
                copied["spec"]["endpointPickerRef"] = {"name": "qwen-epp-old"}
            proxied.snapshot.objects[kind].append(copied)
    assert proxied.status().serves is True


def test_without_its_pool_nobody_is_answered():
    proxied = Proxied()
    proxied.remove(POOL, "qwen")
    assert proxied.culprit() == ("InferencePool models/qwen", "pool-missing")


def test_what_is_unread_is_not_told():
    proxied = Proxied()
    status = proxied.status(SERVICE)
    assert (status.serves, status.culprit) == (None, None)
    assert proxied.status(POD).serves is None
    proxied.remove(DEPLOYMENT, "qwen-epp")
    assert proxied.status(SERVICE).serves is None
    proxied = Proxied()
    proxied.remove(POD, "qwen-epp")
    assert proxied.status(SERVICE).serves is False


def test_a_service_with_a_route_serves_whatever_leads_to_its_proxy():
    proxied = Proxied(routed=True)
    proxied.remove(SERVICE, "qwen-proxy")
    assert proxied.status().serves is True
