"""Services without a gateway: requests reach them through the real proxy beside a real picker, both as deployed."""

import functools
import http.client
import json
import signal
import time

import pytest
import yaml

from judging.report import events, paths
from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import read
from tests.support.stacks import tree
from tests.support.traffic.data_path import data_path, named
from tests.support.traffic.picker_proxy import PickerProxy
from tests.support.traffic.vllm_api import WORDS
from tests.support.waits import DEADLINE, eventually

pytestmark = pytest.mark.real

NAMESPACE = "proxied"
CHAT = {"replicas": 2, "endpointPicker": {"proxy": {}, "logLevel": 3}}
PLAIN = {
    "engine": {"port": 8123},
    "endpointPicker": {"proxy": {"port": 8082}, "port": 9100, "tls": {"type": "none"}},
}
ASKED = "x-went-into-resp-headers"
"""Header that a picker adds to the answers to its requests."""
PICKED = "x-gateway-destination-endpoint"
"""Header with which a picker names the chosen pod."""
SERVICE = "routing-qwen-proxy-service"
TIMES = 24
"""How often a pick is made: one of two that is made by chance is the same this often once in eight million times."""


def stack():
    settings = {"namespace": NAMESPACE, "namespaceOptions": {"create": True}, "release": "gie-1.3"}
    whole = tree(chat=CHAT, plain=PLAIN) | settings
    del whole["gateway"]
    return whole


@pytest.fixture(scope="module")
def deployed(deploy_for_all, loopback_plane):
    return deploy_for_all(stack(), loopback_plane)


@pytest.fixture(scope="module")
def path(deployed, tools, tmp_path_factory):
    front = functools.partial(PickerProxy, name="chat-epp")
    with data_path(deployed, tools, tmp_path_factory.mktemp("path"), NAMESPACE, front) as chat_path:
        yield chat_path


def ask(path, prompt="why", under="/v1/completions", **more):
    """Send a request as a client of the proxy's Service does."""
    return path.ask("chat", under, at="", host=f"chat-proxy.{NAMESPACE}", prompt=prompt, **more)


def pods_of(path, times=TIMES, **more):
    """Return the pods that answer prompts of which none is like another."""
    return {ask(path, f"question {number} {time.monotonic_ns()}", **more).seen["pod"] for number in range(times)}


def scraped(servers):
    """Wait until the picker knows what the servers tell now."""
    before = [server.scrapes for server in servers]
    eventually(lambda: all(server.scrapes >= count + 3 for server, count in zip(servers, before, strict=True)))


def test_the_service_of_the_proxy_leads_to_it(path):
    assert path.gateway.behind(NAMESPACE, "chat-proxy") == path.gateway.port


def test_the_pod_answers_that_the_picker_names(path):
    answer = ask(path)
    assert answer.headers[ASKED] == "true"
    (identity,) = (value for name, value in answer.seen["headers"] if name == "x-request-id")

    def handled():
        lines = [line for line in path.pickers["chat-epp"].lines() if line.get("x-request-id") == identity]
        return [line["endpoint"] for line in lines if line["msg"] == "Request handled"]

    eventually(handled)
    (server,) = (server for server in path.of("chat") if server.pod == answer.seen["pod"])
    assert handled() == [":".join(map(str, server.server_address))]
    assert ask(path, under="/v1/models").seen["path"] == "/v1/models"


def test_a_client_chooses_no_pod_by_the_header_of_the_picker(path):
    idle, busy = servers = path.of("chat")
    assert pods_of(path) == named(servers)
    busy.gauges["vllm:kv_cache_usage_perc"] = 0.9
    try:
        scraped(servers)
        address = ":".join(map(str, busy.server_address))
        assert pods_of(path, headers={PICKED: address}) == {idle.pod}
    finally:
        busy.gauges["vllm:kv_cache_usage_perc"] = 0.0
        scraped(servers)


def test_a_stream_arrives_while_it_is_made(path):
    with path.asked("chat", "/v1/completions", headers=None, host="chat-proxy", at="", stream=True) as response:
        assert response.getheader("content-type") == "text/event-stream"
        first = json.loads(response.readline().removeprefix(b"data: "))
        (server,) = (server for server in path.of("chat") if server.pod == first["seen"]["pod"])
        assert not server.released.is_set()
        server.released.set()
        *parts, end = [line.removeprefix(b"data: ") for line in response.read().split(b"\n") if line]
    words = [json.loads(part)["choices"][0]["text"] for part in parts]
    assert (first["choices"][0]["text"], *words) == WORDS
    assert end == b"[DONE]"


def test_a_long_prompt_arrives_whole(path):
    seen = ask(path, "why? " * 300_000).seen
    assert seen["length"] > 2**20


def test_a_client_connects_anew_for_each_request(path):
    """A picker that ends takes no more requests, though its proxy still finishes those that run."""
    connection = http.client.HTTPConnection("127.0.0.1", path.gateway.port, timeout=DEADLINE)
    connection.request("GET", "/v1/models")
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.getheader("connection") == "close"


def test_a_pod_that_is_gone_is_asked_until_it_is_not_ready_and_again_when_it_is(path):
    server, other = path.of("chat")
    assert pods_of(path) == {server.pod, other.pod}
    server.end()
    eventually(lambda: ask(path, f"gone? {time.monotonic_ns()}").status == http.client.SERVICE_UNAVAILABLE)
    path.tell(server.pod, ready=False)
    eventually(lambda: ask(path, f"gone? {time.monotonic_ns()}").status == http.client.OK)
    assert pods_of(path) == {other.pod}
    path.serve(server.pod)
    path.tell(server.pod, ready=True)
    eventually(lambda: server.pod in pods_of(path, times=4))


def test_a_picker_that_names_several_pods_gets_no_answer_by_the_proxy(path):
    """Such a configuration is refused together with a proxy."""
    config = yaml.safe_load(path.listed("configmap/chat-epp")[0]["data"]["config.yaml"])
    (plugin,) = (plugin for plugin in config["plugins"] if plugin["type"] == "max-score-picker")
    plugin["parameters"] = {"maxNumOfEndpoints": 2}
    operation = {"op": "replace", "path": "/data/config.yaml", "value": yaml.safe_dump(config)}
    path.stop_pickers("chat-epp")
    try:
        with path.altered("configmap", "chat-epp", operation, field="data"):
            path.start_pickers("chat-epp")
            assert ask(path).status == http.client.SERVICE_UNAVAILABLE
            path.stop_pickers("chat-epp")
    finally:
        path.start_pickers("chat-epp")
    assert ask(path).status == http.client.OK


def test_without_its_picker_the_proxy_sends_no_request(path):
    path.stop_pickers("chat-epp")
    try:
        answer = ask(path)
        assert answer.status == http.client.INTERNAL_SERVER_ERROR
        assert ASKED not in answer.headers
    finally:
        path.start_pickers("chat-epp")
    assert ask(path).status == http.client.OK


def test_a_stream_that_runs_ends_whole_while_its_picker_ends_and_takes_no_further_request(path):
    for server in path.of("chat"):
        server.released.clear()
    with path.asked("chat", "/v1/completions", headers=None, host="chat-proxy", at="", stream=True) as response:
        first = json.loads(response.readline().removeprefix(b"data: "))
        (server,) = (server for server in path.of("chat") if server.pod == first["seen"]["pod"])
        path.pickers["chat-epp"].process.send_signal(signal.SIGTERM)
        eventually(lambda: ask(path).status == http.client.INTERNAL_SERVER_ERROR)
        server.released.set()
        assert response.read().endswith(b"data: [DONE]\n\n")
    path.stop_pickers("chat-epp")
    path.start_pickers("chat-epp")
    assert ask(path).status == http.client.OK


def test_a_proxy_asks_a_picker_without_tls_on_another_port_for_an_engine_on_another_port(path, tools, tmp_path):
    proxy = PickerProxy(tools["envoy"].path, tmp_path / "plain", path.plane, "plain-epp")
    try:
        with path.through(proxy):
            assert ask(path).seen["port"] == 8123
    finally:
        proxy.end()


def test_a_new_generation_takes_over_the_address_once_it_can_serve(deploy_for_all, loopback_plane):
    def whole(**service):
        stack = in_namespace("handed", qwen={"prefill": {}, "endpointPicker": {"proxy": {}}, **service})
        del stack["gateway"]
        return stack

    deployed = deploy_for_all(whole(), loopback_plane)
    deployed.up()
    before = deployed.get("service", "qwen-proxy", "handed")
    (former,) = deployed.named("inferencepools", "handed")
    deployed.write(whole(kvCache={"blockSize": 128}))
    operations = deployed.operate()
    assert operations.of(SERVICE).op == "update"
    created = operations.that("create")
    operations.assert_order(
        {name for name in created if name.endswith(("-decode", "-prefill", "-deployment"))}, {SERVICE}
    )
    operations.assert_order({SERVICE}, operations.that("delete"))
    after = deployed.get("service", "qwen-proxy", "handed")
    assert after["spec"]["clusterIP"] == before["spec"]["clusterIP"]
    assert after["spec"]["selector"] != before["spec"]["selector"]
    (pool,) = deployed.named("inferencepools", "handed").values()
    log = (deployed.engine.directory / "events.json").read_text(encoding="utf-8").splitlines()
    (change,) = paths.changes(events.read(log).changes)
    assert (change.operation, change.address) == ("update", "qwen-proxy.handed.svc")
    assert change.text == f"{former} → {pool['metadata']['name']}"
    identity = ("inference-stacks.io/generation", "inference-stacks.io/variant")
    for label in identity:
        assert after["spec"]["selector"][label] == pool["spec"]["selector"]["matchLabels"][label]
    deployed.destroy()


def test_a_further_preview_is_empty_and_nothing_remains_of_what_is_destroyed(path, deployed):
    """The namespace enforces the level `restricted`, and the API server has admitted the pods with the proxy."""
    namespace = deployed.get("namespace", NAMESPACE, "")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    containers = {
        pod["metadata"]["labels"]["app.kubernetes.io/name"]: [item["name"] for item in pod["spec"]["containers"]]
        for pod in path.listed("pods")
        if "proxy" in [item["name"] for item in pod["spec"]["containers"]]
    }
    assert containers == {"chat": ["epp", "proxy"], "plain": ["epp", "proxy"]}
    deployed.assert_unchanged()
    deployed.destroy()
    eventually(lambda: NAMESPACE not in {item["metadata"]["name"] for item in read(path.plane, "namespaces")})
    assert deployed.state().get("resources", []) == []
