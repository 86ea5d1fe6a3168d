"""The gateway of `make try`: which listeners it has, where requests go, and how a choice is explained."""

import http.client
import json
import shlex

import pytest

from local.gateway import addresses, decision, model_server, objects, requests
from local.gateway.addresses import Listing, Substitute
from tests.support.stacks import GATEWAY, find, rendered, tree

LABELS = {"app": "qwen"}
POOL = "outbound|54321||qwen-ip-1.models.svc.cluster.local"
PLAIN = "outbound|80||qwen.models.svc.cluster.local"


def route(name="one", namespace="models", **parent):
    parents = [{"name": "gateway", "namespace": "gateways", **parent}]
    return {
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parentRefs": parents},
    }


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ([{}], [(80, "http-80")]),
        ([{"port": 443}], [(443, "http-443")]),
        ([{"sectionName": "inside"}], [(80, "inside")]),
        ([{"sectionName": "inside", "port": 443}, {"port": 443}, {}], [(443, "inside")]),
        ([{"sectionName": "a"}, {"sectionName": "b"}, {"port": 80}], [(80, "http-80"), (8080, "a"), (8081, "b")]),
    ],
)
def test_a_gateway_has_the_listeners_that_routes_name(parents, expected):
    found = objects.listeners(route(str(number), **parent) for number, parent in enumerate(parents))
    assert [(each.port, each.name) for each in found] == expected


def service(name, ports, owner=None):
    owners = {"ownerReferences": [{"kind": owner}]} if owner else {}
    return {
        "metadata": {"name": name, "namespace": "models", **owners},
        "spec": {"selector": LABELS, "ports": [{"port": port, "targetPort": target} for port, target in ports]},
    }


def pod(address, *, ready=True, namespace="models", **metadata):
    conditions = [{"type": "Ready", "status": str(ready)}]
    containers = [{"ports": [{"name": "http", "containerPort": 8000}]}]
    return {
        "metadata": {"name": "pod", "namespace": namespace, "labels": LABELS, **metadata},
        "spec": {"containers": containers},
        "status": {"podIP": address, "conditions": conditions},
    }


LISTING = Listing(
    0.0,
    [
        service("qwen-ip-1", [(54321, 8000), (54322, 8001)], "InferencePool"),
        service("qwen", [(80, "http"), (81, 9000)]),
    ],
    [
        pod("127.9.0.1"),
        pod("127.9.0.2", ready=False),
        pod("127.9.0.3", namespace="others"),
        pod("127.9.0.4", deletionTimestamp="now"),
    ],
)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (POOL, [("127.9.0.1", 8000), ("127.9.0.1", 8001)]),
        (PLAIN, [("127.9.0.1", 8000)]),
        (PLAIN.replace("|80|", "|82|"), []),
        (PLAIN.replace("qwen.", "other."), []),
        ("BlackHoleCluster", []),
    ],
)
def test_a_cluster_has_the_addresses_of_ready_pods_on_the_ports_of_its_service(cluster, expected):
    assert LISTING.endpoints(cluster, ()) == expected


def test_a_process_takes_the_place_of_the_pods_that_have_its_labels():
    played = Substitute("models", {**LABELS, "more": "labels"}, {9000: 31000})
    cluster = PLAIN.replace("|80|", "|81|")
    assert LISTING.endpoints(cluster, [played]) == [("127.0.0.1", 31000)]
    assert LISTING.endpoints(cluster, [Substitute("others", played.labels, played.ports)]) == [("127.9.0.1", 9000)]


def test_the_server_of_addresses_answers_as_envoy_asks_and_keeps_what_it_knows():
    listings = [LISTING]
    server = addresses.Server(lambda: listings.pop() if listings else None)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        for _ in range(2):
            connection.request("POST", "/v3/discovery:endpoints", json.dumps({"resource_names": [PLAIN]}))
            answer = json.loads(connection.getresponse().read())
            (assigned,) = answer["resources"]
            (endpoint,) = assigned["endpoints"][0]["lb_endpoints"]
            socket = endpoint["endpoint"]["address"]["socket_address"]
            assert (assigned["cluster_name"], socket["address"]) == (PLAIN, "127.9.0.1")
        connection.close()
    finally:
        server.end()


@pytest.mark.parametrize(
    ("route", "path", "headers"),
    [
        ({}, "/models/qwen/v1/completions", {}),
        ({"replacePrefixMatch": "/v1"}, "/models/qwen/completions", {}),
        ({"hostnames": ["*.example.com"]}, "/models/qwen/v1/completions", {"Host": "any.example.com"}),
        ({"matches": [{"path": "/q", "headers": {"x-team": "a"}}]}, "/q/v1/completions", {"x-team": "a"}),
    ],
)
def test_a_request_is_such_that_its_route_takes_it(route, path, headers):
    manifests = rendered(tree(qwen={"route": route}))
    request = requests.through(find(manifests, "HTTPRoute", "qwen"), manifests, 8080)
    assert request.path == path
    assert request.headers == {"Content-Type": "application/json", **headers}
    assert json.loads(request.body)["model"] == "org/model"
    assert shlex.split(request.command)[:2] == ["curl", f"http://127.0.0.1:8080{path}"]
    assert objects.listeners(manifests) == [objects.Listener(GATEWAY["namespace"], GATEWAY["name"], 80, "http-80")]


def test_a_choice_is_explained_by_the_scores_of_its_request(tmp_path):
    def line(pod, plugin, score, identity="a"):
        endpoint = {"name": pod, "namespace": "models"}
        return {
            "msg": "Calculated score", "x-request-id": identity, "plugin": plugin, "endpoint": endpoint, "score": score
        }  # fmt: skip

    lines = [
        line("idle", "queue-scorer/queue-scorer", 1),
        line("busy-rank-0", {"Type": "queue-scorer", "Name": "queue-scorer"}, 0.25),
        line("idle", "prefix/prefix", 0),
        line("busy-rank-0", "prefix/prefix", 0.5),
        line("idle", "prefix/prefix", 1, "b"),
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(["no record", *map(json.dumps, lines), '{"msg": "Calculated']))
    config = "  - pluginRef: queue-scorer\n    weight: 2\n  - pluginRef: prefix\n    weight: 3\n"
    assert decision.Decision.of(log, config, "a").lines() == [
        "idle  2.00 = 3 × 0.00 prefix + 2 × 1.00 queue-scorer",
        "busy  2.00 = 3 × 0.50 prefix + 2 × 0.25 queue-scorer",
    ]
    assert decision.Decision.of(log, config, "c").lines() == []


@pytest.fixture
def server():
    found = model_server.ModelServer("pod", ("org/model",), "127.0.0.1", 0)
    yield found
    found.end()


@pytest.mark.parametrize(
    ("path", "model", "status"),
    [
        ("/v1/completions", "org/model", 200),
        ("/v1/chat/completions", "org/model", 200),
        ("/v1/completions", "org/other", 404),
        ("/other", "org/model", 404),
    ],
)
def test_a_played_model_server_answers_for_its_model_alone(path, model, status, server):
    request = requests.Request(server.server_port, path, {}, json.dumps({"model": model}))
    found, body = request.send()
    assert found == status
    assert json.loads(body).get("model") == ("org/model" if status == 200 else None)


def test_a_played_model_server_knows_its_names_from_the_flags_of_its_pod():
    (workload,) = (
        each for each in rendered(tree()) if each["kind"] == "Deployment" and "decode" in each["metadata"]["name"]
    )
    assert model_server.models(workload["spec"]["template"]) == ("org/model",)
    assert model_server.models({"spec": {"containers": [{}]}}) == ()
