"""A running picker treats objectives, rewrites and flow control as the stack says.

Each test runs with the picker that is built here, and with one of llm-d if it is on PATH.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from planning.releases import channel
from tests.support.cluster.plane import serve_moved_kinds
from tests.support.stacks import tree
from tests.support.traffic import llm_d
from tests.support.traffic.data_path import eventually

pytestmark = pytest.mark.real

QUEUE = "vllm:num_requests_waiting"
FULL = 100.0
"""A queue that is longer than any picker calls free by default."""
SERVICES = {
    "sorted": {
        "replicas": 2,
        "objectives": {"batch": {"priority": -1}, "chat": {"priority": 1}},
        "rewrites": [{"model": "old/model", "targets": [{"model": "org/model"}]}],
    },
    "queued": {"endpointPicker": {"flowControl": {}}},
}
BUILT = [("gie-1.3", None), *([] if llm_d.found() is None else [llm_d.found()])]


@pytest.fixture(scope="module", params=BUILT, ids=lambda picker: picker[0])
def path(request, new_path, loopback_plane, tools):
    release, picker = request.param
    if picker is not None:
        serve_moved_kinds(loopback_plane, tools)
    namespace = release.replace(".", "-")
    settings = {"namespace": namespace, "namespaceOptions": {"create": True}, "release": release}
    return new_path(tree(**SERVICES) | settings, picker), channel(release)


def fill(path, service, length):
    """Let every server of a service tell of a queue, and wait until the picker knows."""
    servers = path.of(service)
    for server in servers:
        server.gauges[QUEUE] = length
    before = [server.scrapes for server in servers]
    eventually(lambda: all(server.scrapes >= count + 3 for server, count in zip(servers, before, strict=True)))


@pytest.fixture
def full(path):
    """Return a function that fills the queues of a service, which are empty afterwards."""
    filled = []

    def start(service):
        filled.append(service)
        fill(path[0], service, FULL)

    yield start
    for service in filled:
        fill(path[0], service, 0.0)


def test_objectives_decide_who_is_refused_while_every_pod_is_busy(path, full):
    """A picker of a release that does not read them, by the table, refuses nobody."""
    asked, release = path
    header = release.picker.headers.objective
    statuses = {name: asked.ask("sorted", headers={header: f"sorted-{name}"}).status for name in ("batch", "chat")}
    assert statuses == {"batch": 200, "chat": 200}
    full("sorted")
    refused = 429 if release.picker.unread_requests is None else 200
    assert asked.ask("sorted", headers={header: "sorted-batch"}).status == refused
    assert asked.ask("sorted", headers={header: "sorted-chat"}).status == 200
    assert asked.ask("sorted").status == 200


def test_rewrites_decide_which_model_the_engine_is_asked_for(path):
    """A picker of a release that does not read them, by the table, rewrites no name."""
    asked, release = path
    served = "org/model" if release.picker.unread_requests is None else "old/model"
    assert asked.ask("sorted", model="old/model").seen["model"] == served
    assert asked.ask("sorted", model="other/model").seen["model"] == "other/model"


def test_flow_control_holds_a_request_until_a_pod_is_free(path, full):
    asked, _ = path
    full("queued")
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(asked.ask, "queued")
        time.sleep(2)
        assert not held.done()
        fill(asked, "queued", 0.0)
        assert held.result().status == 200
