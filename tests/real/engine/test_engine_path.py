"""Drain and other names of a model through Istio, a picker and an engine."""

import contextlib

import pytest

from local.gateway import objects
from tests.support.engine.engines import MODEL, QWEN, Stream, make_model
from tests.support.engine.path import EnginePath
from tests.support.stacks import rendered, tree
from tests.support.traffic.data_path import eventually
from tests.support.traffic.istio import Istio

pytestmark = pytest.mark.engine

NAMESPACE = "engines"
ALIAS = "old/model"
SHUTDOWN = "--shutdown-timeout=45"
CONTEXT = 32768
AFTER_SIGTERM = 10.0
"""Seconds for which a stream has tokens after SIGTERM, if the engine stays as fast as it was."""
CHAT = {
    "rewrites": [{"model": ALIAS, "targets": [{"model": MODEL}]}],
    "endpointPicker": {"image": "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.1"},
}
STACK = tree(chat=CHAT) | {"namespace": NAMESPACE, "namespaceOptions": {"create": True}, "release": "gie-1.3"}


@pytest.fixture(scope="module")
def path(deploy_for_all, loopback_plane, tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    model = make_model(folder / "model", QWEN | {"max_position_embeddings": CONTEXT})
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
    """Delete the pod while it streams an answer that ends after SIGTERM. Return the stream and its expected length."""
    name = path.pod()
    engine = path.engines[name]
    pause = engine.container["lifecycle"]["preStop"]["sleep"]["seconds"]
    tokens = engine.tokens_in(pause + AFTER_SIGTERM)
    body = {"max_tokens": tokens, "ignore_eos": True, "stream": True}
    with path.asked("chat", "/v1/completions", headers=None, host="llm.example.com", **body) as response:
        stream = Stream(response)
        eventually(stream.begun)
        path.delete(name)
        assert not stream.has_ended, f"{tokens} tokens ended before SIGTERM"
        stream.join(60)
    eventually(engine.server.has_ended, 60)
    return stream, tokens


def test_a_client_gets_a_whole_stream_although_its_pod_is_deleted(path):
    stream, tokens = stream_over_deletion(path)
    assert stream.is_whole
    assert len(stream.events) >= tokens


def test_without_the_shutdown_timeout_the_client_gets_a_part(path):
    eventually(lambda: path.pod() not in path.engines)
    path.serve(path.pod(), change=lambda container: container["args"].remove(SHUTDOWN))
    path.sync()
    eventually(lambda: path.ask("chat").status == 200)
    stream, tokens = stream_over_deletion(path)
    assert len(stream.events) < tokens
