"""Drain and other names of a model through Istio, a picker and an engine."""

import contextlib
import signal
import time

import pytest

from local.gateway import objects
from tests.support.engine.engines import KILLED, MODEL, SHUTDOWN, USAGE, Stream, make_model
from tests.support.engine.listing import VERSION
from tests.support.engine.path import EnginePath
from tests.support.stacks import rendered, tree
from tests.support.traffic.istio import Istio
from tests.support.waits import eventually

pytestmark = pytest.mark.engine

NAMESPACE = "engines"
ALIAS = "old/model"
TOKENS = 300
"""Length of a stream. It ends within the drain if the engine makes seven tokens a second."""
CHAT = {
    "engine": {"image": f"vllm/vllm-openai:v{VERSION.name}"},
    "rewrites": [{"model": ALIAS, "targets": [{"model": MODEL}]}],
    "endpointPicker": {"image": "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.1"},
}
STACK = tree(chat=CHAT) | {"namespace": NAMESPACE, "namespaceOptions": {"create": True}, "release": "gie-1.3"}


@pytest.fixture(scope="module")
def path(deploy_for_all, loopback_plane, tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    model = make_model(folder / "model")
    front = Istio(tools, folder / "istio", loopback_plane)
    manifests = rendered(STACK)
    path = EnginePath(loopback_plane, tools, NAMESPACE, folder / "path", front, model)
    with contextlib.ExitStack() as ends:
        ends.callback(front.end)
        ends.callback(path.end)
        front.start(objects.listeners(manifests), objects.service_ports(manifests))
        deploy_for_all(STACK, loopback_plane).up()
        path.start()
        eventually(lambda: path.ask("chat").status == 200)
        yield path


def test_another_name_of_the_model_is_known_to_the_gateway_alone(path):
    answer = path.ask("chat", model=ALIAS, max_tokens=2)
    assert answer.status == 200
    (engine,) = path.engines.values()
    assert engine.complete("why", ALIAS).status == 404
    assert path.ask("chat", model="no/model").status == 404


def stream_over_deletion(path):
    """Delete the pod while it streams an answer of `TOKENS`, and return the stream.

    The engine core is stopped while the preStop hook runs, so that the stream is not over at SIGTERM. An engine that
    does not end in time is killed, as kubelet does it.
    """
    (name,) = path.names()
    engine = path.engines[name]
    body = {"max_tokens": TOKENS, "ignore_eos": True} | USAGE
    with path.asked("chat", "/v1/completions", headers=None, host="llm.example.com", **body) as response:
        stream = Stream(response)
        eventually(stream.begun)
        core = engine.core
        core.signal(signal.SIGSTOP)
        path.delete(name)
        assert not stream.has_ended
        core.signal(signal.SIGCONT)
        until = time.monotonic() + KILLED
        while not stream.has_ended and time.monotonic() < until:
            time.sleep(0.2)
        engine.end()
        stream.join(60)
    return stream


def test_a_client_gets_a_whole_stream_although_its_pod_is_deleted(path):
    assert stream_over_deletion(path).tokens == TOKENS


def test_without_the_shutdown_timeout_the_client_gets_a_part(path):
    eventually(lambda: len(path.names()) == 1 and path.engines.keys().isdisjoint(path.names()))
    (name,) = path.names()
    path.serve(name, change=lambda container: container["args"].remove(SHUTDOWN))
    path.sync()
    eventually(lambda: path.ask("chat").status == 200)
    assert stream_over_deletion(path).tokens != TOKENS
