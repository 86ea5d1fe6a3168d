"""States of a proxy beside a picker, in the pods of the real API server and controllers; kubelets are played."""

import json
from datetime import UTC, datetime

import pytest

from judging.status.records import Link
from judging.status.states import Level
from tests.support.cluster import status
from tests.support.cluster.server import read
from tests.support.cluster.status import LATER, SECONDS
from tests.support.waits import eventually

pytestmark = pytest.mark.real


@pytest.fixture
def proxied(space):
    """Return a namespace with a service that clients reach through its proxy alone, as soon as it serves."""
    stack = status.in_namespace(space.name, qwen={"endpointPicker": {"proxy": {}}})
    del stack["gateway"]
    status.apply(space.plane, stack)
    eventually(lambda: space.status().services and space.service().serves, SECONDS)
    return space


def culprit(proxied, **when):
    blamed = proxied.service(**when).culprit
    return None if blamed is None else (str(blamed.object).replace(proxied.name, "<namespace>"), blamed.state.id)


@pytest.mark.states("proxy-awaited", "proxy-unreached")
def test_the_service_of_a_proxy_is_awaited_after_its_pods_and_missed_later(proxied):
    assert culprit(proxied, later=LATER) is None
    proxied.kubectl("delete", "service", "qwen-proxy")
    assert culprit(proxied) == ("Service <namespace>/qwen-proxy", "proxy-awaited")
    assert proxied.service().culprit.level is Level.NORMAL
    assert culprit(proxied, later=LATER) == ("Service <namespace>/qwen-proxy", "proxy-unreached")
    assert proxied.service(later=LATER).serves is False


@pytest.mark.states("proxy-unreached")
def test_a_service_of_a_proxy_that_selects_nobody_is_named_with_the_time_of_the_change(proxied):
    proxied.patch("service/qwen-proxy", {"spec": {"selector": {"inference-stacks.io/endpoint-picker": "other"}}})
    blamed = proxied.service(later=LATER).culprit
    assert blamed.state.id == "proxy-unreached"
    assert blamed.words.endswith(": it selects no pod of the picker")
    assert blamed.since is not None
    proxied.patch("service/qwen-proxy", {"spec": {"selector": {"inference-stacks.io/endpoint-picker": "qwen"}}})
    assert culprit(proxied, later=LATER) is None


@pytest.mark.states("proxy-slow", "crash")
def test_a_proxy_that_hangs_or_ends_is_named_and_not_the_picker_beside_it(proxied):
    tell(proxied, {"state": {"running": {"startedAt": now()}}, "started": True})
    assert proxied.service().culprit.level is Level.NORMAL
    name = f"Pod <namespace>/{pod(proxied)['metadata']['name']}"
    assert culprit(proxied, later=LATER) == (name, "proxy-slow")
    ended = {"exitCode": 1, "reason": "Error", "startedAt": now(), "finishedAt": now(), "message": "no such file"}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}
    tell(proxied, {"state": {"waiting": waiting}, "lastState": {"terminated": ended}, "restartCount": 3})
    assert culprit(proxied, later=LATER) == (name, "crash")
    words = proxied.service(later=LATER).culprit.words
    assert words == 'has the container proxy, which ended with exit code 1 (an error): "no such file"'
    (picker,) = proxied.components(Link.PICKER, later=LATER)
    assert (picker.is_broken, picker.ready) == (True, 0)


def pod(proxied):
    (item,) = read(proxied.plane, "pods", proxied.name, "inference-stacks.io/endpoint-picker=qwen")
    return item


def tell(proxied, container):
    """Say of the picker's pod what its kubelet would, if its proxy is in a state in which it is not ready."""
    item = pod(proxied)
    entries = {entry["name"]: entry for entry in item["status"]["containerStatuses"]}
    entries["proxy"] = {"name": "proxy", "image": "played", "imageID": "", "restartCount": 0, "lastState": {}}
    entries["proxy"] |= {"ready": False, **container}
    conditions = [
        {"type": kind, "status": "False", "reason": "ContainersNotReady", "lastTransitionTime": now()}
        for kind in ("Ready", "ContainersReady")
    ]
    fields = {"status": {"conditions": conditions, "containerStatuses": list(entries.values())}}
    text = json.dumps(fields)
    proxied.kubectl("patch", "pod", item["metadata"]["name"], "--subresource=status", f"--patch={text}")


def now():
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
