"""The status of deployed stacks for programs: logs without credentials, and what a stack expects and lacks."""

import json

import pytest

from composition import Composition, Given, compose, status
from facts import hosts, live_objects
from facts.kubeconfig import KubeAccess
from judging.status import verdict
from planning.ground.cluster_facts import NOTHING_READ, Unknown
from planning.ground.snapshot import CLUSTER_SCOPED, KINDS, POD, Snapshot
from tests.support.captured_objects import NOW, programmed
from tests.support.cluster import loopback
from tests.support.cluster.kubeconfigs import config
from tests.support.stacks import NAME, tree

ACCESS = KubeAccess("{}", None)
KEY = "hf_" + "a1B2" * 9


def expected(**services):
    composition = compose(tree(**services), Given(NOTHING_READ), NAME)
    assert isinstance(composition, Composition), composition
    return status.expectations(composition, NAME)


def test_a_stack_expects_its_services_replicas_and_namespaces():
    stack = expected(qwen={"replicas": 3}, bert={"namespace": "chat"})
    assert stack.namespaces == ("chat", "models")
    assert stack.services == {"qwen": ("models", "qwen"), "bert": ("chat", "bert")}
    assert stack.workloads["models", "qwen-decode"].replicas == 3


def test_what_the_cluster_lacks_is_missing_unless_it_could_not_be_read():
    stack = expected(qwen={}, bert={})
    empty = verdict.of(Snapshot(NOW, {}), {})
    assert status.missing(stack, empty) == ("bert", "qwen")
    unread = verdict.of(Snapshot(NOW, dict.fromkeys(KINDS, Unknown("it answered 500"))), {})
    assert status.missing(stack, unread) == ()


class Lists(dict):
    """Answers of an API server to lists in the namespace `capture`, whatever the parameters of the list are."""

    def __init__(self, objects):
        namespaces = {kind: "" if kind in CLUSTER_SCOPED else "capture" for kind in KINDS}
        super().__init__({live_objects.path(kind, namespaces[kind]): {"items": objects.get(kind)} for kind in KINDS})

    def get(self, path, *_):
        return super().get(path.partition("?")[0])

    def __contains__(self, path):
        return super().__contains__(path.partition("?")[0])


def of_stack(objects, stack, *keys):
    """Return the status of a stack in a cluster with these objects."""
    with loopback.serve(Lists(objects)) as server:
        return status.of_stack(KubeAccess(json.dumps(config(server.url, {"token": "right"})), None), stack, keys)


CAPTURED = {key: {"namespace": "capture"} for key in ("busy", "chat", "group", "late", "scaled", "stored")}


def test_live_objects_of_kinds_that_the_edited_file_lacks_are_judged(nobody):
    result = of_stack(programmed(), expected(**CAPTURED), "group", "scaled")
    group, scaled = (service.view.variants[0].roles[0] for service in result.services)
    assert group.kind == "LeaderWorkerSet"
    assert scaled.scaled_object["metadata"]["name"] == "scaled-decode"


def test_a_status_is_that_of_the_services_that_are_asked_for(monkeypatch):
    monkeypatch.setattr(status.reader, "read", lambda *_: Snapshot(NOW, programmed()))
    assert [service.view.name for service in status.read(ACCESS, ["chat", "late"]).services] == ["chat", "late"]
    assert len(status.read(ACCESS).services) == 6


LATE = ("capture", "late")


@pytest.fixture
def culprit(monkeypatch):
    """Return a status whose one culprit is a pod, and the places whose logs are read."""
    places = {}

    def read(_, asked):
        places.update(asked)
        return {name: [f"token={KEY}", "\x1b[31mout of memory"] for name in asked}

    monkeypatch.setattr(status.pod_logs, "read", read)
    return verdict.of(Snapshot(NOW, programmed()), {}).only(None, ["chat", "late"]), places


def test_logs_are_those_of_culprits_that_are_pods_without_credentials_and_control_characters(culprit):
    whole, places = culprit
    texts = status.logs(ACCESS, whole)
    assert texts.keys() == {LATE}
    assert places["/".join(LATE)][:2] == ("capture", "late-decode-78fbd98468-99559")
    first, second = texts[LATE]
    assert KEY not in first
    assert first.startswith("token=")
    assert "\x1b" not in second
    assert "out of memory" in second


def test_offline_neither_the_cluster_nor_a_service_is_asked(monkeypatch):
    monkeypatch.setenv(hosts.OFFLINE, "true")
    result = status.read(ACCESS)
    assert (result.exit_code, result.services) == (1, ())
    assert result.unread[POD] == "this run is offline"


def test_a_private_key_in_a_log_is_hidden_to_its_end(culprit, monkeypatch):
    whole, _ = culprit
    lines = ["loads", "-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA7bq", "-----END RSA PRIVATE KEY-----"]
    monkeypatch.setattr(status.pod_logs, "read", lambda _, asked: dict.fromkeys(asked, lines))
    (shown,) = status.logs(ACCESS, whole).values()
    assert shown[0] == "loads"
    assert "MIIEpAIBAAKCAQEA7bq" not in "\n".join(shown)
