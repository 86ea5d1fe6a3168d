"""Drain and other names of a model through Istio, a picker and an engine."""

import contextlib
import time

import pytest

from local.gateway import objects
from tests.support.engine.engines import MODEL, QWEN, USAGE, Stream, make_model
from tests.support.engine.listing import VERSION
from tests.support.engine.path import EnginePath
from tests.support.stacks import rendered, tree
from tests.support.traffic.data_path import eventually
from tests.support.traffic.istio import Istio

pytestmark = pytest.mark.engine

NAMESPACE = "engines"
ALIAS = "old/model"
SHUTDOWN = "--shutdown-timeout=45"
CONTEXT = 65536
SECONDS = (6, 12, 24, 48, 96)
"""Duration of each stream, if the engine stays as fast as it was. The engine gets SIGTERM after 15 seconds, and has 45
more: one of the streams ends in this time, even if the machine becomes several times as busy, or as idle."""
KILLED = 60.0
"""Seconds from SIGTERM to SIGKILL: `terminationGracePeriodSeconds` without the preStop hook."""
CHAT = {
    "engine": {"image": f"vllm/vllm-openai:v{VERSION.name}"},
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


def streams_over_deletion(path, limit):
    """Delete the pod while it streams answers. Return those that still ran at SIGTERM, each with its whole length.

    An engine that still streams `limit` seconds after SIGTERM is killed, as kubelet does it.
    """
    (name,) = path.names()
    engine = path.engines[name]
    with contextlib.ExitStack() as responses:
        streams = {}
        longest = min(engine.tokens_in(SECONDS[-1]), CONTEXT - 100)
        for seconds in SECONDS:
            tokens = longest * seconds // SECONDS[-1]
            body = {"max_tokens": tokens, "ignore_eos": True} | USAGE
            asked = path.asked("chat", "/v1/completions", headers=None, host="llm.example.com", **body)
            streams[Stream(responses.enter_context(asked))] = tokens
        path.delete(name)
        running = [(stream, tokens) for stream, tokens in streams.items() if not stream.has_ended]
        until = time.monotonic() + limit
        while time.monotonic() < until and not all(stream.has_ended for stream in streams):
            time.sleep(0.2)
        engine.end()
        for stream in streams:
            stream.join(60)
    assert running, f"answers of {[*streams.values()]} tokens ended before SIGTERM"
    return running


def test_a_client_gets_a_whole_stream_although_its_pod_is_deleted(path):
    assert [tokens for stream, tokens in streams_over_deletion(path, KILLED) if stream.tokens == tokens]


def test_without_the_shutdown_timeout_the_client_gets_a_part(path):
    eventually(lambda: len(path.names()) == 1 and path.engines.keys().isdisjoint(path.names()))
    (name,) = path.names()
    path.serve(name, change=lambda container: container["args"].remove(SHUTDOWN))
    path.sync()
    eventually(lambda: path.ask("chat").status == 200)
    assert not [tokens for stream, tokens in streams_over_deletion(path, KILLED) if stream.tokens == tokens]
