"""The package gives a picker for pods, and a route to a pool, that somebody else made: by keys of `InferenceStack`."""

import pytest

from tests.support import package_process
from tests.support.package_process import Engine, Monitor
from tests.support.stacks.existing import existing, of_pool

CLUSTER = {"facts": {"type": "none"}, "name": "prod"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Start the process."""
    engine = Engine()
    folder = tmp_path_factory.mktemp("program")
    with package_process.served(engine) as (_, address), package_process.running(folder, engine, address) as package:
        yield package


@pytest.fixture
def run():
    """Begin a run of a program."""
    monitor = Monitor()
    with package_process.served(monitor) as (_, address):
        monitor.address = address
        yield monitor


def registered(run):
    """Return the kinds of all Kubernetes objects that a run registers."""
    types = (request.type for request in run.requests.values())
    return {kind.rpartition(":")[2] for kind in types if kind.startswith("kubernetes:")}


def test_a_picker_alone_has_a_pool_and_no_workload_of_pods(package, run):
    package.construct(run.address, "chat", existing() | {"cluster": CLUSTER})
    names = {request.name for request in run.requests.values()}
    assert {"chat-qwen-epp", "chat-routing"} <= names
    assert "chat-qwen-decode" not in names
    assert {"InferencePool", "Deployment", "HTTPRoute"} <= registered(run)


def test_a_route_alone_is_one_object(package, run):
    package.construct(run.address, "chat", of_pool() | {"cluster": CLUSTER})
    assert registered(run) == {"HTTPRoute"}


def test_a_mistake_has_its_path(package, run):
    refused = package.refusal(run.address, "chat", of_pool(replicas=2) | {"cluster": CLUSTER})
    what = "has no effect on a pool that somebody else made (existingPool)"
    assert f"chat.services.qwen.replicas: {what}; remove it" in refused
