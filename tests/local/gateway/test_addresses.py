"""Envoy gets the addresses of ready pods."""

import http.client
import json

import pytest

from local.gateway import addresses
from local.gateway.addresses import Listing, Substitute

LABELS = {"app": "qwen"}


POOL = "outbound|54321||qwen-ip-1.models.svc.cluster.local"


PLAIN = "outbound|80||qwen.models.svc.cluster.local"


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
