"""Requests through Envoy with Istio's own configuration: only the addresses of pods and pickers are ours."""

import contextlib
import hashlib
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.gateway import objects
from models.routing import Gateway
from planning.ground import gateways
from tests.support.stacks import GATEWAY, rendered, tree
from tests.support.traffic.data_path import POOLS, DataPath, named
from tests.support.traffic.istio import Istio
from tests.support.waits import eventually

pytestmark = pytest.mark.real

NAMESPACE = "mesh"
CANARY = {"x-canary": "always"}
HOST = "code.example.com"
MODEL = "x-gateway-base-model-name"
OBJECTIVE = "x-gateway-inference-objective"
BY_MODEL = {MODEL: "org/model"}
REQUESTS = 2000
DEVIATIONS = 3
HTTP = "envoy.filters.network.http_connection_manager"
EXTENSIONS = "type.googleapis.com/envoy.extensions.filters.http"
ROUTER = "envoy.filters.http.router"
CODE_ROUTE = {
    "hostnames": [HOST],
    "setHeaders": {"x-tier": "gold"},
    "removeHeaders": ["x-debug"],
    "mirror": {"service": "named"},
    "timeouts": {"request": "1s"},
}
STACK = tree(
    chat={
        "replicas": 2,
        "canary": {"weight": 10, "headers": CANARY, "replicas": 1},
        "endpointPicker": {"logLevel": 3},
    },
    code={"route": CODE_ROUTE, "endpointPicker": {"port": 9100, "tls": {"type": "none"}}},
    named={"route": {"matches": [{"model": "org/model", "path": "/v1"}], "replacePrefixMatch": "/v1"}},
    sorted={
        "replicas": 2,
        "objectives": {"batch": {"priority": -1}, "chat": {"priority": 1}},
        "rewrites": [{"model": "old/model", "targets": [{"model": "org/model"}]}],
        "endpointPicker": {"image": "registry.k8s.io/gateway-api-inference-extension/epp:v1.3.1"},
    },
) | {
    "namespace": NAMESPACE,
    "namespaceOptions": {"create": True},
    "release": "gie-1.3",
    "gateway": GATEWAY | {"bodyRouter": True},
}


def http_filter(kind, before=None, **settings):
    """Return the patch that adds a filter to the proxy: before the filter of that name, or else before all filters."""
    connections = {"name": HTTP} | ({} if before is None else {"subFilter": {"name": before}})
    match = {"context": "GATEWAY", "listener": {"filterChain": {"filter": connections}}}
    value = {"name": "control", "typed_config": {"@type": f"{EXTENSIONS}.{kind}"} | settings}
    patch = {"operation": "INSERT_BEFORE", "value": value}
    return {"applyTo": "HTTP_FILTER", "match": match, "patch": patch}


@pytest.fixture(scope="module")
def path(deploy_for_all, loopback_plane, tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mesh")
    front = Istio(tools, folder / "istio", loopback_plane)
    manifests = rendered(STACK)
    found = DataPath(loopback_plane, tools, NAMESPACE, folder / "path", front)
    with contextlib.ExitStack() as ends:
        ends.callback(front.end)
        ends.callback(found.end)
        front.start(objects.listeners(manifests), objects.service_ports(manifests))
        deploy_for_all(STACK, loopback_plane).up()
        found.start()
        ways = {"chat": {}, "sorted": {}, "code": {"host": HOST}, "named": {"at": "", "headers": BY_MODEL}}
        for service, more in ways.items():
            eventually(lambda service=service, more=more: found.ask(service, **more).status == 200)
        yield found


def is_expected(count, share, times=REQUESTS):
    """Tell whether a count is within three standard deviations of a share."""
    return abs(count - times * share) <= DEVIATIONS * math.sqrt(times * share * (1 - share))


def canarys_count(path):
    canary = named(path.of("chat-canary"))
    return sum(pod in canary for pod in path.served("chat", REQUESTS))


def test_the_proxy_takes_all_that_istio_configures(path):
    assert path.gateway.rejections() == {}


def test_a_path_leads_to_its_service_with_the_prefix_taken_off(path):
    seen = path.ask("chat").seen
    assert seen["pod"].startswith("chat-")
    assert seen["path"] == "/v1/completions"
    assert path.ask("chatter").status == 404
    place = "/spec/rules/1/matches/0/path/value"
    with path.altered("httproute", "chat", {"op": "replace", "path": place, "value": "/elsewhere"}):
        eventually(lambda: path.ask("chat", at="/elsewhere").status == 200)
        assert path.ask("chat").status == 404
    eventually(lambda: path.ask("chat").status == 200)


def test_metrics_of_the_proxy_name_a_pool_as_the_table_of_gateways_says(path):
    """Istio's own build of Envoy writes these names into the labels of `istio_requests_total`; the build here has none.

    Also a request that the picker refuses belongs to the pool.
    """
    facts = gateways.facts(Gateway.model_validate(GATEWAY)).requests
    pools = {pool["metadata"]["name"] for pool in path.listed(POOLS)}
    services = path.gateway.services(NAMESPACE)
    matchers = {pool: facts.of_pool(NAMESPACE, pool, 8000) for pool in pools}
    named_services = {(row["name"], row["namespace"]) for rows in services.values() for row in rows[:1]}
    assert {"chat", "chat-canary", "code"} <= pools
    for pool in pools:
        labels = matchers[pool]
        service = (labels["destination_service_name"], labels["destination_service_namespace"])
        assert service in named_services, pool
    assert path.ask("code", host=HOST, model=7).status == 400
    refused = matchers["code"]["destination_service_name"]
    clusters = {name for name, rows in services.items() if rows[0]["name"] == refused}
    eventually(lambda: any(line["status"] == 400 and line["cluster"] in clusters for line in path.gateway.log()))


def test_a_header_leads_to_the_canary(path):
    assert set(path.served("chat", 40, headers=CANARY)) == named(path.of("chat-canary"))
    place = "/spec/rules/0/matches/0/headers/0/value"
    with path.altered("httproute", "chat", {"op": "replace", "path": place, "value": "never"}):
        eventually(lambda: set(path.served("chat", 8, headers={"x-canary": "never"})) == named(path.of("chat-canary")))
        assert set(path.served("chat", 40, headers=CANARY)) & named(path.of("chat"))


def test_a_host_leads_to_the_service_that_names_it(path):
    assert path.ask("code", host=HOST).seen["pod"].startswith("code-")
    assert path.ask("code", host="llm.example.com").status == 404
    with path.altered(
        "httproute", "code", {"op": "replace", "path": "/spec/hostnames/0", "value": "other.example.com"}
    ):
        eventually(lambda: path.ask("code", host="other.example.com").status == 200)
        assert path.ask("code", host=HOST).status == 404


def test_a_model_that_a_processor_wrote_into_a_header_leads_to_its_service(path):
    seen = path.ask("named", at="", headers=BY_MODEL).seen
    assert seen["pod"].startswith("named-")
    assert seen["path"] == "/v1/completions"
    assert path.ask("named", at="", headers={MODEL: "org/other"}).status == 404
    assert path.ask("named", at="").status == 404


def test_a_canary_gets_its_share(path):
    """A share is drawn by lot: one that is off is drawn again, and is off twice by chance once in 130,000 times."""
    assert any(is_expected(canarys_count(path), 0.1) for _ in range(2))
    weights = [("/spec/rules/1/backendRefs/0/weight", 20), ("/spec/rules/1/backendRefs/1/weight", 80)]
    with path.altered("httproute", "chat", *({"op": "replace", "path": at, "value": weight} for at, weight in weights)):
        eventually(lambda: not is_expected(canarys_count(path), 0.1))
        assert any(is_expected(canarys_count(path), 0.2) for _ in range(2))


def test_the_picker_chooses_the_pod(path):
    """The picker of a rule is that of the last backend, which is the primary's."""
    idle, busy = path.of("chat")
    busy.gauges["vllm:num_requests_waiting"] = 50.0
    try:
        before = busy.scrapes
        eventually(lambda: busy.scrapes > before + 2)
        assert set(path.served("chat", 100)) <= {idle.pod} | named(path.of("chat-canary"))
    finally:
        busy.gauges["vllm:num_requests_waiting"] = 0.0
    eventually(lambda: busy.pod in path.served("chat", 20))


def test_without_the_rule_that_encrypts_it_the_picker_is_not_understood(path):
    with path.altered("destinationrule", "chat-epp", {"op": "remove", "path": "/spec/trafficPolicy"}):
        eventually(lambda: path.ask("chat").status == 500)
    eventually(lambda: path.ask("chat").status == 200)


def test_a_wrong_port_of_the_picker_which_istio_does_not_judge_is_found_by_a_request(path):
    port = {"op": "replace", "path": "/spec/endpointPickerRef/port/number", "value": 9999}
    with path.altered("inferencepool", "code", port):
        eventually(lambda: path.ask("code", host=HOST).status == 500)
    eventually(lambda: path.ask("code", host=HOST).status == 200)


@pytest.mark.parametrize("field", ["port", "targetPort"])
def test_a_wrong_port_of_the_pickers_service_which_istio_does_not_judge_is_found_by_a_request(field, path):
    with path.altered("service", "code-epp", {"op": "replace", "path": f"/spec/ports/0/{field}", "value": 9002}):
        eventually(lambda: path.ask("code", host=HOST).status == 500)
    eventually(lambda: path.ask("code", host=HOST).status == 200)


def test_an_objective_decides_who_is_refused_while_every_pod_is_busy(path):
    def status(objective):
        return path.ask("sorted", headers={OBJECTIVE: f"sorted-{objective}"}).status

    assert (status("batch"), status("chat")) == (200, 200)
    path.queue("sorted", 100.0)
    try:
        eventually(lambda: status("batch") == 429)
        assert status("chat") == 200
        priority = {"op": "replace", "path": "/spec/priority", "value": 0}
        with path.altered("inferenceobjective", "sorted-batch", priority):
            eventually(lambda: status("batch") == 200)
    finally:
        path.queue("sorted", 0.0)
    eventually(lambda: status("batch") == 200)


def test_a_rewrite_decides_which_model_the_engine_is_asked_for(path):
    def model(asked):
        return path.ask("sorted", model=asked).seen["model"]

    assert (model("old/model"), model("other/model")) == ("org/model", "other/model")
    ((rewrite,),) = [path.listed("inferencemodelrewrites")]
    place = "/spec/rules/0/matches/0/model/value"
    with path.altered(
        "inferencemodelrewrite", rewrite["metadata"]["name"], {"op": "replace", "path": place, "value": "other/model"}
    ):
        eventually(lambda: (model("old/model"), model("other/model")) == ("old/model", "org/model"))
    eventually(lambda: model("old/model") == "org/model")


def test_a_pod_that_is_gone_costs_no_request_because_istio_tries_the_next_pod(path):
    """The control takes Istio's retry after a refused connection away."""
    gone, other = path.of("sorted")
    assert set(path.served("sorted", 100)) == {gone.pod, other.pod}
    address = ":".join(map(str, gone.server_address))
    gone.end()
    assert set(path.served("sorted", 100)) == {other.pod}
    assert any(line["picked"] == address != line["endpoint"] for line in path.gateway.log())
    retries = {"route": {"retry_policy": {"retry_on": "retriable-4xx"}}}
    patch = {
        "applyTo": "HTTP_ROUTE",
        "match": {"context": "GATEWAY"},
        "patch": {"operation": "MERGE", "value": retries},
    }
    with path.gateway.patched(GATEWAY["namespace"], patch):
        eventually(lambda: path.ask("sorted").status == 503)
        path.tell(gone.pod, ready=False)
        eventually(lambda: path.served("sorted", 100) == [other.pod] * 100)
    path.serve(gone.pod)
    path.tell(gone.pod, ready=True)
    eventually(lambda: gone.pod in path.served("sorted", 10))


def test_headers_are_set_and_removed_on_the_way(path):
    sent = {"x-tier": "silver", "x-debug": "yes"}
    changed, unchanged = (
        dict(path.ask(service, headers=sent, **more).seen["headers"])
        for service, more in (("code", {"host": HOST}), ("chat", {}))
    )
    assert (changed["x-tier"], changed.get("x-debug")) == ("gold", None)
    assert (unchanged["x-tier"], unchanged.get("x-debug")) == ("silver", "yes")


def test_copies_of_requests_go_to_the_mirror(path):
    def copies(prompt):
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        return [seen for server in path.of("named") for seen in server.seen if seen["prompt"] == digest]

    assert path.ask("chat", prompt="not copied").status == 200
    assert path.ask("code", host=HOST, prompt="copied").status == 200
    eventually(lambda: copies("copied"))
    assert copies("not copied") == []


def test_a_request_that_takes_longer_than_its_limit_is_cut(path):
    (server,) = path.of("code")
    server.free.clear()
    try:
        assert path.ask("code", host=HOST).status == 504
        with path.altered(
            "httproute", "code", {"op": "replace", "path": "/spec/rules/0/timeouts/request", "value": "9s"}
        ):
            threading.Timer(2.0, server.free.set).start()
            eventually(lambda: path.ask("code", host=HOST).status == 200)
            server.free.clear()
            threading.Timer(2.0, server.free.set).start()
            assert path.ask("code", host=HOST).status == 200
    finally:
        server.free.set()


def is_streamed(path):
    """Tell whether the first event arrives before the server goes on, which it does two seconds later."""
    (server,) = path.of("named")
    server.released.clear()
    timer = threading.Timer(2.0, server.released.set)
    timer.start()
    with path.asked(
        "named", "/v1/completions", headers=BY_MODEL, host="any.example.com", at="", stream=True
    ) as response:
        assert json.loads(response.readline().removeprefix(b"data: "))["seen"]["pod"] == server.pod
        is_early = not server.released.is_set()
        server.released.set()
        assert response.read().split() != []
    timer.cancel()
    return is_early


def test_a_stream_arrives_while_it_is_made(path):
    assert is_streamed(path)
    whole = http_filter(
        "lua.v3.Lua", default_source_code={"inline_string": "function envoy_on_response(answer) answer:body() end"}
    )
    with path.gateway.patched(GATEWAY["namespace"], whole):
        eventually(lambda: not is_streamed(path))
    eventually(lambda: is_streamed(path))


def test_a_long_prompt_arrives_whole(path):
    prompt = "why? " * 300_000
    seen = path.ask("chat", prompt=prompt).seen
    assert seen["prompt"] == hashlib.sha256(prompt.encode()).hexdigest()
    assert seen["length"] > 2**20
    with path.gateway.patched(GATEWAY["namespace"], http_filter("buffer.v3.Buffer", max_request_bytes=2**20)):
        eventually(lambda: path.ask("chat", prompt=prompt).status == 413)
        assert path.ask("chat").status == 200
    eventually(lambda: path.ask("chat", prompt=prompt).status == 200)


def test_proxy_and_picker_log_the_same_id_of_a_request(path):
    """The control gives requests another id behind the picker."""

    def proxys(identity):
        return [line for line in path.gateway.log() if line["id"] == identity]

    def pickers(identity):
        lines = ((name, line) for name, picker in path.pickers.items() for line in picker.lines())
        return [
            (name, line["endpoint"])
            for name, line in lines
            if line.get("x-request-id") == identity and line["msg"] == "Request handled"
        ]

    def new_identity():
        seen = path.ask("chat", prompt="which?", headers=CANARY).seen
        (identity,) = (value for name, value in seen["headers"] if name == "x-request-id")
        return identity

    identity = new_identity()
    eventually(lambda: proxys(identity) and pickers(identity))
    (line,) = proxys(identity)
    assert line["picked"] == line["endpoint"]
    assert pickers(identity) == [("chat-canary-epp", line["picked"])]
    script = "function envoy_on_request(request) request:headers():replace('x-request-id', 'another') end"
    patch = http_filter("lua.v3.Lua", before=ROUTER, default_source_code={"inline_string": script})
    with path.gateway.patched(GATEWAY["namespace"], patch):
        eventually(lambda: new_identity() == "another")
        eventually(lambda: proxys("another"))
        assert pickers("another") == []


def failures(path):
    """Return how many of 200 requests are answered 503; the others are answered."""
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(path.ask, "chat", prompt=f"question {number}") for number in range(200)]
        statuses = [each.result().status for each in asked]
    assert set(statuses) <= {200, 503}
    return statuses.count(503)


def test_a_canary_without_pods_costs_its_own_share_as_long_as_the_primary_stands_last(path):
    """The control is the other order, for which the canary's picker answers all requests."""
    (canary,) = path.of("chat-canary")
    path.tell(canary.pod, ready=False)
    try:
        eventually(lambda: failures(path) > 0)
        assert any(is_expected(failures(path), 0.1, times=200) for _ in range(2))
        backends = path.listed("httproute/chat")[0]["spec"]["rules"][1]["backendRefs"]
        place = "/spec/rules/1/backendRefs"
        with path.altered("httproute", "chat", {"op": "replace", "path": place, "value": backends[::-1]}):
            eventually(lambda: failures(path) == 200)
    finally:
        path.tell(canary.pod, ready=True)
    eventually(lambda: failures(path) == 0)
