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
from tests.support.cluster.status import marked as marked_objects
from tests.support.healthy import whole
from tests.support.stacks import NAME, PIN, tree
from tests.support.stacks.dashboards import drawn
from tests.support.stacks.varied_metering import LABEL_IMAGE

ACCESS = KubeAccess("{}", None)
KEY = "hf_" + "a1B2" * 9


def expected(formerly=(), **services):
    composition = compose(tree(**services) | {"formerly": [*formerly]}, Given(NOTHING_READ), NAME)
    assert isinstance(composition, Composition), composition
    return status.expectations(composition)


def test_a_stack_expects_its_services_replicas_and_namespaces():
    stack = expected(qwen={"replicas": 3}, bert={"namespace": "chat"})
    assert stack.namespaces == ("chat", "models")
    assert stack.services == {"qwen": ("models", "qwen"), "bert": ("chat", "bert")}
    assert stack.workloads["models", "qwen-decode"].replicas == 3
    assert stack.workloads["models", "qwen-decode"].manifest["metadata"]["name"] == "qwen-decode"


METERED = {"defaults": {"endpointPicker": {"enabled": False}}, "interceptor": {"mode": "label", "namespace": "meters"}}


def test_a_stack_expects_its_interceptor_in_a_namespace_that_may_be_that_of_others():
    composition = compose(tree(qwen={}) | METERED, Given(NOTHING_READ), NAME)
    stack = status.expectations(composition)
    assert (stack.namespaces, stack.interceptors) == (("models",), ("meters",))
    assert expected(qwen={}).interceptors == ()


@pytest.mark.parametrize("ready", ["True", "False"])
def test_an_interceptor_that_another_stack_has_deployed_elsewhere_is_judged(nobody, ready):
    composition = compose(tree(qwen={}) | METERED, Given(NOTHING_READ), NAME)
    shared = whole([*marked_objects(tree(qwen={}) | METERED), *_interceptor()])
    answers = Lists({})
    for kind in KINDS:
        for namespace in ("models", "meters"):
            items = [item for item in shared.of(kind) if item["metadata"]["namespace"] == namespace]
            answers[live_objects.path(kind, namespace)] = {"items": items}
    for pod in answers[live_objects.path(POD, "meters")]["items"]:
        for condition in pod["status"]["conditions"]:
            condition["status"] = ready
    with loopback.serve(answers) as server:
        access = KubeAccess(json.dumps(config(server.url, {"token": "right"})), None)
        (service,) = status.of_stack(access, status.expectations(composition)).services
    states = {finding.state.id for component in service.components for finding in component.findings}
    assert ("interceptor-down" in states) is (ready == "False")


def _interceptor():
    """Return the Deployment of an interceptor that another stack has deployed."""
    deploying = METERED | {"interceptor": METERED["interceptor"] | {"deploy": {"image": LABEL_IMAGE}}}
    objects = marked_objects(tree(bert={}) | deploying)
    return [item for item in objects if item["kind"] == "Deployment" and item["metadata"]["namespace"] == "meters"]


def stored(source, **model):
    service = {"storage": {"type": "dedicated"}, "model": {"name": "org/m", "source": source, **model}}
    composition = compose(tree(qwen=service), Given(NOTHING_READ), NAME, asks_sources=False)
    assert isinstance(composition, Composition), composition
    (workload,) = status.expectations(composition).workloads.values()
    return workload


@pytest.mark.parametrize("source", ["hf://org/m@" + "d1" * 20, "s3://models/m", f"kit://registry.example/m@{PIN}"])
def test_a_size_that_nobody_is_asked_for_is_not_expected(source, nobody):
    unknown = stored(source)
    assert (unknown.weights, unknown.fetch_seconds, unknown.load_seconds) == (None, None, None)
    assert unknown.replicas == 1
    assert stored(source, size="1Gi").weights == 2**30


def test_what_the_cluster_lacks_is_missing_unless_it_could_not_be_read():
    stack = expected(qwen={}, bert={})
    empty = verdict.of(Snapshot(NOW, {}), {})
    assert status.missing(stack, empty) == ("bert", "qwen")
    unread = verdict.of(Snapshot(NOW, dict.fromkeys(KINDS, Unknown("it answered 500"))), {})
    assert status.missing(stack, unread) == ()


class Lists(dict):
    """Answers of an API server to lists, whatever their parameters are: objects are in the namespace `capture`."""

    def __init__(self, objects):
        super().__init__()
        for kind in KINDS:
            places = ("",) if kind in CLUSTER_SCOPED else ("models", "capture")
            self |= {live_objects.path(kind, place): {"items": []} for place in places}
            self[live_objects.path(kind, places[-1])] = {"items": objects.get(kind)}

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


MARK = "inference-stacks.io/stack"


def marked(label, annotation):
    """Return the captured objects with other marks; None for a part of the mark that they do not have."""
    objects = programmed()
    for metadata in (item["metadata"] for items in objects.values() for item in items):
        if metadata.get("labels", {}).pop(MARK, None):
            del metadata["annotations"][MARK]
            metadata["labels"] |= {MARK: label} if label else {}
            metadata["annotations"] |= {MARK: annotation} if annotation else {}
    return objects


def names(result):
    return [service.view.name for service in result.services]


EARLIER = ("inference-stacks.staging", "organization/inference-stacks/staging")


def test_objects_with_the_mark_of_an_earlier_name_are_those_of_the_stack(nobody):
    renamed = of_stack(marked(*EARLIER), expected(**CAPTURED, formerly=["inference-stacks/staging"]))
    assert names(renamed) == sorted(CAPTURED)
    assert {service.view.stack for service in renamed.services} == {NAME.label}
    assert renamed.exit_code == of_stack(programmed(), expected(**CAPTURED)).exit_code
    assert names(of_stack(marked(*EARLIER), expected(**CAPTURED))) == []


def test_a_stack_of_another_organization_with_the_same_label_is_another(nobody):
    assert names(of_stack(marked(NAME.label, "others/inference-stacks/dev"), expected(**CAPTURED))) == []


def test_objects_without_a_mark_are_those_of_the_stack_that_plans_them(nobody):
    planned = {key: CAPTURED[key] for key in ("chat", "group")}
    result = of_stack(marked(None, None), expected(**planned))
    assert names(result) == ["chat", "group"]
    whole = of_stack(programmed(), expected(**planned))
    assert [service.serves for service in result.services] == [
        service.serves for service in whole.services if service.view.name in planned
    ]
    assert all(service.view.routes for service in result.services)


def test_no_namespace_is_read_that_has_dashboards_alone():
    composition = compose(drawn({"namespace": "monitoring"}, qwen={}), Given(NOTHING_READ), NAME)
    assert isinstance(composition, Composition), composition
    assert status.expectations(composition).namespaces == ("models",)


def test_services_with_equal_names_in_two_namespaces_are_told_apart(nobody):
    stack = expected(here={"namespace": "capture", "name": "chat"}, there={"namespace": "models", "name": "chat"})
    assert names(of_stack(programmed(), stack, "here")) == ["chat"]
    assert names(of_stack(programmed(), stack, "there")) == []


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
