"""The last lines of pods' logs, or the reason why there are none."""

import json

import pytest

from facts import pod_logs
from facts.kubeconfig import KubeAccess
from facts.pod_logs import LogPlace
from tests.support.cluster import loopback
from tests.support.cluster.kubeconfigs import config

PLACE = LogPlace("models", "qwen-1", "vllm")
LOG = "/api/v1/namespaces/models/pods/qwen-1/log?tailLines=20&container=vllm"
FORMER = f"{LOG}&previous=true"


@pytest.fixture
def api(patience, monkeypatch):
    monkeypatch.setattr(pod_logs, "_DEADLINE_SECONDS", 300)
    with loopback.serve({}) as server:
        yield server


def read(server, place=PLACE):
    access = KubeAccess(json.dumps(config(server.url, {"token": "right"})), None)
    return pod_logs.read(access, {"qwen": place})["qwen"]


def test_the_log_of_the_former_run_says_why_it_ended(api):
    api.answers = {FORMER: "out of memory", LOG: "loading"}
    assert read(api) == ['"out of memory"']


def test_without_a_former_run_the_present_one_is_read(api):
    api.answers = {LOG: "loading"}
    api.statuses = {FORMER: 400}
    assert read(api) == ['"loading"']


def test_without_the_name_of_a_container_the_first_is_read(api):
    api.answers = {FORMER.replace("&container=vllm", ""): "ended"}
    assert read(api, PLACE._replace(container="")) == ['"ended"']


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_log_that_cannot_be_read_says_why(api, status):
    api.statuses = {FORMER: status}
    assert read(api) == [f"no log: the cluster could not be read (it answered {status})"]


def test_a_container_that_has_not_started_says_that_there_is_no_log(api):
    api.statuses = {FORMER: 400, LOG: 400}
    assert read(api) == ["no log: the cluster could not be read (it answered 400)"]


def test_a_log_that_does_not_come_is_not_waited_for(api, monkeypatch):
    monkeypatch.setattr(pod_logs, "_DEADLINE_SECONDS", 0.5)
    api.hang = loopback.threading.Event()
    assert read(api) == ["no log: the cluster did not answer within 0.5 seconds"]
