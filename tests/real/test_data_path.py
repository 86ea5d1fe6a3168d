"""Requests on their way to a pod: through a real proxy and real pickers, as what is deployed says."""

import hashlib
import json
import math

import pytest

from tests.support.stacks import tree
from tests.support.traffic.data_path import named
from tests.support.traffic.vllm_api import WORDS
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "paths"
CANARY = {"x-canary": "always"}
HOST = "code.example.com"
ASKED = "x-went-into-resp-headers"
"""Headers that a picker puts on the answers to requests for which it was asked."""
CHANCE = 1e-6
"""How often a share may look wrong by chance."""
CHAT = {
    "replicas": 2,
    "canary": {"weight": 10, "headers": CANARY, "replicas": 1},
    "endpointPicker": {"logLevel": 3},
}
BERT = {"canary": {"weight": 0, "headers": CANARY}}
CODE = {
    "engine": {"port": 8123},
    "replicas": 2,
    "route": {"hostnames": [HOST]},
    "endpointPicker": {
        "failureMode": "FailOpen",
        "failOpenReason": "any pod will do",
        "port": 9100,
        "tls": {"type": "none"},
    },
}
WIDE = {
    "accelerator": "amd-mi300x",
    "engine": {"image": "registry.example/vllm-openai-rocm:v0.23.0"},
    "parallelism": {"data": 8, "loadBalancing": "external", "expert": True},
}
COPIES = range(8000, 8008)


@pytest.fixture(scope="module")
def path(new_path):
    settings = {"namespace": NAMESPACE, "namespaceOptions": {"create": True}, "release": "gie-1.3"}
    return new_path(tree(chat=CHAT, bert=BERT, code=CODE, wide=WIDE) | settings)


def copies(path, times=200):
    """Return the ports of the copies that answered; one of eight is missed by chance once in 30 billion times."""
    return {path.ask("wide", prompt=f"question {number}").seen["port"] for number in range(times)}


def bounds(times, share):
    """Return between which counts a share lies but for chance."""
    odds = [math.comb(times, count) * share**count * (1 - share) ** (times - count) for count in range(times + 1)]
    below = next(count for count in range(times) if sum(odds[: count + 1]) > CHANCE)
    above = next(count for count in range(times, 0, -1) if sum(odds[count:]) > CHANCE)
    return below, above


def test_each_service_answers_under_its_own_path_with_the_prefix_taken_off(path):
    for service in ("chat", "bert"):
        seen = path.ask(service).seen
        assert seen["pod"].startswith(f"{service}-")
        assert seen["path"] == "/v1/completions"
    assert path.ask("chat", "/v1/models").seen["path"] == "/v1/models"
    messages = [{"role": "user", "content": "why"}]
    talked = path.ask("chat", "/v1/chat/completions", prompt=None, messages=messages)
    assert talked.seen["path"] == "/v1/chat/completions"
    assert path.ask("chatter").status == 404


def test_a_header_leads_to_the_canary(path):
    assert set(path.served("chat", 20, headers=CANARY)) == named(path.of("chat-canary"))
    assert path.ask("bert", headers={"x-canary": "never"}).seen["pod"].startswith("bert-decode-")


def test_a_host_leads_to_the_service_that_names_it_on_the_engines_own_port(path):
    answer = path.ask("code", host=HOST)
    assert answer.seen["pod"].startswith("code-")
    assert answer.headers[ASKED] == "true"
    assert path.ask("code", host=f"{HOST}:8080").status == 200
    assert path.ask("code").status == 404
    assert {server.server_port for server in path.of("code")} == {8123}


def test_a_canary_gets_its_share(path):
    canary = named(path.of("chat-canary"))
    below, above = bounds(400, 0.1)
    assert below <= sum(pod in canary for pod in path.served("chat", 400)) <= above


def test_a_weight_of_0_gets_nothing_but_what_asks_for_it(path):
    assert set(path.served("bert", 200)) == named(path.of("bert"))
    assert path.ask("bert", headers=CANARY).seen["pod"].startswith("bert-canary-")


def test_without_its_weight_of_0_a_canary_gets_requests(path):
    canary = named(path.of("bert-canary"))
    place = "/spec/rules/1/backendRefs"
    with path.altered("httproute", "bert", *({"op": "remove", "path": f"{place}/{index}/weight"} for index in (0, 1))):
        below, above = bounds(100, 0.5)
        assert below <= sum(pod in canary for pod in path.served("bert", 100)) <= above


def test_a_pod_that_is_gone_is_asked_until_it_is_not_ready_and_again_when_it_is(path):
    server, other = path.of("chat")
    share = named(path.of("chat-canary"))
    assert {server.pod, other.pod} <= set(path.served("chat", 100)) <= {server.pod, other.pod} | share
    server.end()
    eventually(lambda: path.ask("chat").status == 503)
    path.tell(server.pod, ready=False)
    eventually(lambda: other.pod in path.served("chat", 1))
    assert set(path.served("chat", 100)) == {other.pod} | share
    path.serve(server.pod)
    path.tell(server.pod, ready=True)
    eventually(lambda: server.pod in path.served("chat", 10))


def test_a_stream_arrives_while_it_is_made(path):
    with path.asked("bert", "/v1/completions", headers=None, host="any.example.com", stream=True) as response:
        assert response.getheader("content-type") == "text/event-stream"
        first = json.loads(response.readline().removeprefix(b"data: "))
        (server,) = (server for server in path.of("bert") if server.pod == first["seen"]["pod"])
        assert not server.released.is_set()
        server.released.set()
        *parts, end = [line.removeprefix(b"data: ") for line in response.read().split(b"\n") if line]
    words = [json.loads(part)["choices"][0]["text"] for part in parts]
    assert (first["choices"][0]["text"], *words) == WORDS
    assert end == b"[DONE]"


def test_a_long_prompt_arrives_whole(path):
    prompt = "why? " * 300_000
    seen = path.ask("bert", prompt=prompt).seen
    assert seen["prompt"] == hashlib.sha256(prompt.encode()).hexdigest()
    assert seen["length"] > 2**20


def test_proxy_and_picker_log_the_same_id_of_a_request(path):
    answer = path.ask("chat", prompt="which?")
    (identity,) = (value for name, value in answer.seen["headers"] if name == "x-request-id")
    eventually(lambda: [line for line in path.gateway.log() if line["id"] == identity])
    (logged,) = (line for line in path.gateway.log() if line["id"] == identity)
    name = "chat-epp" if logged["cluster"] == f"pool/{NAMESPACE}/chat" else "chat-canary-epp"
    lines = [line for line in path.pickers[name].lines() if line.get("x-request-id") == identity]
    assert [line["endpoint"] for line in lines if line["msg"] == "Request handled"] == [logged["picked"]]
    assert logged["picked"] == logged["endpoint"]


def test_a_pool_that_selects_other_pods_serves_nobody(path):
    label = {"op": "replace", "path": "/spec/selector/matchLabels/inference-stacks.io~1service", "value": "other"}
    with path.altered("inferencepool", "bert", label):
        eventually(lambda: b"failed to find candidate pods" in path.ask("bert").body)
        assert path.ask("bert").status == 503
    eventually(lambda: path.ask("bert").status == 200)


def test_a_pool_of_another_port_serves_nobody(path):
    (server,) = path.of("bert")
    address, _ = server.server_address
    with path.altered("inferencepool", "bert", {"op": "replace", "path": "/spec/targetPorts/0/number", "value": 8001}):
        assert path.ask("bert").status == 503
        eventually(lambda: {"endpoint": f"{address}:8001", "flags": "UF"}.items() <= path.gateway.log()[-1].items())
    eventually(lambda: path.ask("bert").status == 200)


@pytest.mark.parametrize(("field", "value"), [("port", 9003), ("targetPort", 9003)])
def test_a_picker_behind_another_port_is_not_asked(field, value, path):
    with path.altered("service", "bert-epp", {"op": "replace", "path": f"/spec/ports/0/{field}", "value": value}):
        assert path.ask("bert").status == 500
    assert path.ask("bert").status == 200


def test_without_the_rule_that_encrypts_it_the_picker_is_not_understood(path):
    removed = {"op": "remove", "path": "/spec/trafficPolicy"}
    with path.altered("destinationrule", "bert-epp", removed):
        assert path.ask("bert").status == 500
    assert path.ask("bert").status == 200


def test_without_its_picker_a_pool_is_closed_or_open_as_it_says(path):
    path.stop_pickers("bert-epp", "code-epp")
    try:
        assert path.ask("bert").status == 500
        assert ASKED not in path.ask("code", host=HOST).headers
        assert set(path.served("code", 40, host=HOST)) == named(path.of("code"))
    finally:
        path.start_pickers("bert-epp", "code-epp")
    assert path.ask("bert").status == 200


def test_every_copy_of_a_pod_is_reached_on_a_port_of_its_own(path):
    """See defects A23."""
    (pod,) = {server.pod for server in path.of("wide")}
    limits = path.listed(f"pod/{pod}")[0]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["amd.com/gpu"] == "8"
    assert copies(path) == {*COPIES}


def test_the_picker_knows_how_busy_each_copy_is(path):
    """See defects A23."""
    idle, *busy = servers = path.of("wide")
    try:
        for server in busy:
            server.gauges["vllm:num_requests_waiting"] = 8.0
        before = [server.scrapes for server in servers]
        eventually(lambda: all(server.scrapes >= count + 3 for server, count in zip(servers, before, strict=True)))
        assert copies(path, 40) == {idle.server_port}
    finally:
        for server in busy:
            server.gauges["vllm:num_requests_waiting"] = 0.0


def test_a_copy_whose_port_the_pool_lacks_is_not_reached(path):
    """See defects A23."""
    with path.altered("inferencepool", "wide", {"op": "remove", "path": "/spec/targetPorts/7"}):
        eventually(lambda: copies(path, 40) <= {*COPIES[:-1]})
        assert copies(path) == {*COPIES[:-1]}
