"""A running picker treats objectives, rewrites and flow control as the stack says.

Each test runs with the picker of gie-1.3 and with the picker that its warning names. If a picker of llm-d is on PATH,
each test runs with that picker, too.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from planning.releases import channel
from tests.support.cluster.plane import serve_moved_kinds
from tests.support.stacks import tree
from tests.support.traffic import exposition, llm_d
from tests.support.traffic.pickers import METRICS
from tests.support.waits import eventually

pytestmark = pytest.mark.real

FULL = 100.0
"""A queue that is longer than any picker calls free by default."""
SERVICES = {
    "sorted": {
        "replicas": 2,
        "objectives": {"batch": {"priority": -1}, "chat": {"priority": 1}},
        "rewrites": [{"model": "old/model", "targets": [{"model": "org/model"}]}],
        "endpointPicker": {"metricsAuth": False},
    },
    "queued": {"endpointPicker": {"flowControl": {}, "metricsAuth": False}},
}
RARE = {"poll_errors", "extract_errors", "tpot"}
"""Metrics that a picker shows only after an error, or after a stream."""
READER = "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.1"
"""The picker that reads objectives and rewrites by the release's own warning."""
PICKERS = [
    ("gie-1.3", {}, None),
    ("gie-1.3", {"image": READER}, None),
    *([] if llm_d.found() is None else [(llm_d.found()[0], {}, llm_d.found()[1])]),
]


@pytest.fixture(scope="module", params=PICKERS, ids=lambda picker: picker[1].get("image", picker[0]))
def path(request, new_path, loopback_plane, tools):
    """Return the data path, the facts of its release, and whether its picker reads objectives and rewrites."""
    release, options, picker = request.param
    if picker is not None:
        serve_moved_kinds(loopback_plane, tools)
    namespace = "reader" if options else release.replace(".", "-")
    services = {
        key: service | {"endpointPicker": service.get("endpointPicker", {}) | options}
        for key, service in SERVICES.items()
    }
    settings = {"namespace": namespace, "namespaceOptions": {"create": True}, "release": release}
    facts = channel(release).picker
    return new_path(tree(**services) | settings, picker), facts, bool(options) or facts.unread_requests is None


@pytest.fixture
def full(path):
    """Return a function that fills the queues of a service, which are empty afterwards."""
    filled = []

    def start(service):
        filled.append(service)
        path[0].queue(service, FULL)

    yield start
    for service in filled:
        path[0].queue(service, 0.0)


def test_objectives_decide_who_is_refused_while_every_pod_is_busy(path, full):
    """A picker that does not read them refuses nobody."""
    asked, facts, reads = path
    header = facts.headers.objective
    statuses = {name: asked.ask("sorted", headers={header: f"sorted-{name}"}).status for name in ("batch", "chat")}
    assert statuses == {"batch": 200, "chat": 200}
    full("sorted")
    refused = 429 if reads else 200
    assert asked.ask("sorted", headers={header: "sorted-batch"}).status == refused
    assert asked.ask("sorted", headers={header: "sorted-chat"}).status == 200
    assert asked.ask("sorted").status == 200


def test_rewrites_decide_which_model_the_engine_is_asked_for(path):
    """A picker that does not read them rewrites no name."""
    asked, _, reads = path
    served = "org/model" if reads else "old/model"
    assert asked.ask("sorted", model="old/model").seen["model"] == served
    assert asked.ask("sorted", model="other/model").seen["model"] == "other/model"


def test_flow_control_holds_a_request_until_a_pod_is_free(path, full):
    asked, _, _ = path
    full("queued")
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(asked.ask, "queued")
        time.sleep(2)
        assert not held.done()
        asked.queue("queued", 0.0)
        assert held.result().status == 200


def shown(path, service):
    """Return the metrics of the picker of a service."""
    return exposition.read(path.pickers[f"{service}-epp"].ports[METRICS])


@pytest.mark.parametrize(("service", "gates"), [("sorted", {None}), ("queued", {None, "flowControl"})])
def test_the_picker_shows_the_metrics_of_the_catalogue_and_those_of_a_gate_only_behind_it(path, service, gates):
    asked, facts, _ = path
    assert asked.ask(service).status == 200
    assert asked.ask(service, model=7).status == 400
    catalogue = facts.metrics.catalogue
    expected = {metric.name for name, metric in catalogue.items() if metric.gate in gates and name not in RARE}
    eventually(lambda: expected <= shown(asked, service).keys())
    metrics = shown(asked, service)
    for name, metric in catalogue.items():
        if metric.gate not in gates:
            assert metric.name not in metrics, name
        elif metric.name in metrics:
            assert metrics[metric.name].kind == metric.kind, name
            assert metrics[metric.name].labels == set(metric.labels), name
            assert metrics[metric.name].bounds == set(metric.bounds), name


def test_a_refused_request_counts_as_an_error_alone(path):
    """Scheduled requests and refused ones have a counter each, so that all requests are the sum of both."""
    asked, facts, _ = path
    catalogue = facts.metrics.catalogue

    def counts():
        metrics = shown(asked, "sorted")
        return [metrics[catalogue[name].name].value for name in ("requests", "request_errors")]

    assert asked.ask("sorted", model=7).status == 400
    assert asked.ask("sorted").status == 200
    eventually(lambda: catalogue["request_errors"].name in shown(asked, "sorted"))
    scheduled, refused = counts()
    assert asked.ask("sorted", model=7).status == 400
    eventually(lambda: counts() == [scheduled, refused + 1])
    assert asked.ask("sorted").status == 200
    eventually(lambda: counts() == [scheduled + 1, refused + 1])
