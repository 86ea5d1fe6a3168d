"""Readers of a cluster: real HTTP on loopback, real credential plugins, and no failure taken for "absent"."""

import json
import sys
import threading

import pytest
import yaml

from facts import cluster, facts_file, reading
from facts.cluster import KubeAccess
from models.stack import Cluster, FileFacts, NoFacts
from planning.ground import labels
from planning.ground.cluster_facts import (
    NOTHING_READ,
    PARTS,
    Bundles,
    GatewayRef,
    Gateways,
    LiveGateway,
    LiveRoute,
    LiveRouteMatch,
    ParentRef,
    Pools,
    Routes,
    Served,
    Unknown,
)
from planning.ground.marks import Mark
from planning.ground.needs import Needs
from tests.support.cluster import loopback
from tests.support.cluster.loopback import discovery

POOL = {"spec": {"selector": {"matchLabels": {"inference-stacks.io/service": "qwen"}}}}
GATEWAY_API = "gateway.networking.k8s.io"
USED, ABSENT = (GatewayRef(GATEWAY_API, "Gateway", "gateways", name) for name in ("public", "absent"))
PUBLIC = {
    "metadata": {"namespace": "gateways", "name": "public"},
    "status": {
        "conditions": [
            {"type": "Accepted", "status": "True", "reason": "Accepted"},
            {"type": "Programmed", "status": "False", "reason": "AddressNotAssigned", "message": "no address yet"},
        ]
    },
}
PENDING = {
    "metadata": {"namespace": "gateways", "name": "pending"},
    "status": {"conditions": [{"type": "Accepted", "status": "Unknown", "reason": "Pending"}]},
}
EXACT = {
    "method": "GET",
    "path": {"type": "Exact", "value": "/b"},
    "headers": [{"name": "x-b", "value": "1"}, {"name": "x-a", "type": "RegularExpression", "value": "2"}],
}
CHAT = {
    "metadata": {
        "namespace": "chat",
        "name": "qwen",
        "labels": {"app.kubernetes.io/part-of": "inference-stacks", labels.STACK: "chat.prod"},
        "annotations": {labels.STACK: "acme/chat/prod"},
    },
    "spec": {
        "parentRefs": [
            {"name": "public", "namespace": "gateways", "sectionName": "https"},
            {"name": "own", "group": "", "kind": "Service", "port": 80},
        ],
        "hostnames": ["llm.example.com"],
        "rules": [{"matches": [{"path": {"value": "/a"}}, EXACT]}, {"backendRefs": []}],
    },
}
BARE = {"metadata": {"namespace": "gateways", "name": "bare"}, "spec": {"parentRefs": [{"name": "public"}]}}
OTHER = {"metadata": {"namespace": "chat", "name": "other"}, "spec": {"parentRefs": [{"name": "public"}]}}
ROUTES = f"/apis/{GATEWAY_API}/v1/httproutes?limit=500"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HTTPROUTES, POOLS = f"httproutes.{GATEWAY_API}", "inferencepools.inference.networking.k8s.io"
ANSWERS = {
    f"{DEFINITIONS}/{HTTPROUTES}": {
        "metadata": {
            "name": HTTPROUTES,
            "annotations": {f"{GATEWAY_API}/bundle-version": "v1.2.1", f"{GATEWAY_API}/channel": "standard"},
        }
    },
    f"{DEFINITIONS}/{POOLS}": {"metadata": {"name": POOLS}},
    f"/apis/{GATEWAY_API}/v1/namespaces/gateways/gateways/public": PUBLIC,
    f"/apis/{GATEWAY_API}/v1/gateways?limit=500": {"items": [PUBLIC, PENDING]},
    ROUTES: {"items": [CHAT], "metadata": {"continue": "more"}},
    f"{ROUTES}&continue=more": {"items": [BARE, OTHER], "metadata": {"continue": ""}},
    "/apis/inference.networking.k8s.io/v1/namespaces/models/inferencepools": {
        "items": [POOL | {"metadata": {"name": "qwen"}}, {"metadata": {"name": "bare"}, "spec": {}}]
    },
    "/apis/inference.networking.k8s.io/v1/namespaces/chat/inferencepools": {"items": []},
    "/api": discovery(("", "v1", "Service")),
    "/apis": discovery(("apps", "v1", "Deployment"), ("inference.networking.k8s.io", "v1", "InferencePool")),
}
KNOWN = {"apis", "gateways", "routes", "metrics", "bundles", "origin"}
"""Facts in the answers."""


@pytest.fixture
def server():
    with loopback.serve(ANSWERS) as server:
        yield server


def kubeconfig(server, user):
    return yaml.safe_dump(
        {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me"}}],
            "clusters": [{"name": "one", "cluster": {"server": server.url}}],
            "users": [{"name": "me", "user": user}],
        }
    )


def test_kinds_are_read_with_a_token(server):
    found = cluster.read(Cluster(), KubeAccess(kubeconfig(server, {"token": "right"}), None), None)
    expected = {"v1/Service", "apps/v1/Deployment", "inference.networking.k8s.io/v1/InferencePool"}
    assert found.apis == Served(frozenset(expected))
    assert server.seen == ["Bearer right"] * 2


def test_kinds_are_read_with_a_credential_plugin(server):
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "right"},
    }
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"print('{json.dumps(credential)}')"],
        "interactiveMode": "Never",
    }
    found = cluster.read(Cluster(), KubeAccess(kubeconfig(server, {"exec": plugin}), None), None)
    assert isinstance(found.apis, Served)


def test_a_refused_read_is_unknown_and_names_no_credential(server):
    found = cluster.read(Cluster(), KubeAccess(kubeconfig(server, {"token": "wrong"}), None), None)
    assert isinstance(found.apis, Unknown)
    assert "403" in found.apis.reason
    assert "wrong" not in found.apis.reason


def test_a_silent_server_is_unknown_after_the_deadline(server, monkeypatch):
    monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", 0.5)
    server.hang = threading.Event()
    found = cluster.read(Cluster(), KubeAccess(kubeconfig(server, {"token": "right"}), None), None)
    assert isinstance(found.apis, Unknown)


def test_a_plugin_that_hangs_is_unknown_after_the_deadline(server, monkeypatch):
    monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", 0.5)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sleep",
        "args": ["5"],
        "interactiveMode": "Never",
    }
    found = cluster.read(Cluster(), KubeAccess(kubeconfig(server, {"exec": plugin}), None), None)
    assert found.apis == Unknown("the cluster did not answer within 0.5 seconds")


def test_no_cluster_at_all_is_unknown_at_once(monkeypatch, tmp_path):
    """A kubeconfig that names none is not read again."""
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 300)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    found = cluster.read(Cluster(), KubeAccess(None, None), None)
    assert found.apis == Unknown("the cluster could not be read (KubeconfigError)")


def test_facts_survive_their_file(server, tmp_path):
    facts = cluster.read_all(KubeAccess(kubeconfig(server, {"token": "right"}), None))
    (tmp_path / "facts.json").write_text(facts_file.text(facts))
    spec = Cluster(facts=FileFacts(type="file", path="facts.json"))
    found = cluster.read(spec, KubeAccess(None, None), tmp_path)
    assert all(getattr(found, name) == getattr(facts, name) for name in KNOWN)
    assert all(isinstance(getattr(found, name), Unknown) for name in PARTS.keys() - KNOWN)


def test_none_reads_nothing():
    assert cluster.read(Cluster(facts=NoFacts(type="none")), KubeAccess("not even yaml: [", None), None) == NOTHING_READ


def test_the_cluster_is_called_what_the_context_calls_it(server):
    text = kubeconfig(server, {"token": "right"})
    assert cluster.name(KubeAccess(text, None)) == "one"
    assert cluster.name(KubeAccess("{}", None)) is None


def test_the_pools_of_the_namespaces_in_use_are_read(server):
    found = cluster.pools(
        Cluster(), KubeAccess(kubeconfig(server, {"token": "right"}), None), ["models", "chat", "models"]
    )
    assert found == Pools({("models", "qwen"): {"inference-stacks.io/service": "qwen"}, ("models", "bare"): {}})
    assert server.seen == ["Bearer right"] * 2


def test_pools_that_may_not_be_read_are_unknown(server):
    found = cluster.pools(Cluster(), KubeAccess(kubeconfig(server, {"token": "wrong"}), None), ["models"])
    assert found == Unknown("the cluster could not be read (it answered 403)")


@pytest.mark.parametrize("facts", [NoFacts(type="none"), FileFacts(type="file", path="facts.json")])
def test_pools_are_asked_of_a_live_cluster_alone(server, facts):
    found = cluster.pools(Cluster(facts=facts), KubeAccess(kubeconfig(server, {"token": "right"}), None), ["models"])
    assert found == Unknown(f"cluster.facts is {facts.type}")
    assert server.seen == []


def live(server, *used, token="right"):
    access = KubeAccess(kubeconfig(server, {"token": token}), None)
    return cluster.read(Cluster(), access, None, Needs(gateways=frozenset(used)))


def test_the_gateways_in_use_are_read_with_what_their_controllers_say(server):
    found = live(server, USED, ABSENT, GatewayRef("example.com", "Gateway", "gateways", "public"))
    assert found.gateways == Gateways((LiveGateway(USED, True, False, "AddressNotAssigned: no address yet"),))


def test_a_gateway_that_nobody_has_looked_at_is_not_accepted(server):
    found = cluster.read_all(KubeAccess(kubeconfig(server, {"token": "right"}), None))
    pending = GatewayRef(GATEWAY_API, "Gateway", "gateways", "pending")
    assert found.gateways.gateways[1] == LiveGateway(pending, False, False)


def test_the_routes_that_attach_to_a_gateway_in_use_are_read_page_by_page(server):
    public, service = ParentRef(USED, "https", None), GatewayRef("", "Service", "chat", "own")
    exact = (("Exact", "x-b", "1"), ("RegularExpression", "x-a", "2"))
    matches = (
        LiveRouteMatch("PathPrefix", "/a"),
        LiveRouteMatch("Exact", "/b", exact, ('{"method": "GET"}',)),
        LiveRouteMatch("PathPrefix", "/"),
    )
    parents, hosts = (public, ParentRef(service, None, 80)), ("llm.example.com",)
    assert live(server, USED).routes == Routes(
        (
            LiveRoute("chat", "qwen", parents, hosts, matches, Mark("chat.prod", "acme/chat/prod")),
            LiveRoute("gateways", "bare", (ParentRef(USED, None, None),), (), (LiveRouteMatch("PathPrefix", "/"),)),
        )
    )


def test_nothing_is_asked_about_routes_where_no_gateway_is_in_use(server):
    assert isinstance(live(server).routes, Unknown)
    assert len(server.seen) == 2


def test_the_versions_of_definitions_are_read_where_they_say_them(server):
    """See defects A15."""
    assert live(server, USED).bundles == Bundles({HTTPROUTES: "v1.2.1"})


@pytest.mark.parametrize("part", ["gateways", "routes", "bundles"])
def test_one_refused_read_leaves_the_others_known(server, part):
    gateway, definition = f"/apis/{GATEWAY_API}/v1/namespaces/gateways/gateways/public", f"{DEFINITIONS}/{HTTPROUTES}"
    server.refused = {{"gateways": gateway, "routes": ROUTES, "bundles": definition}[part]}
    found = live(server, USED)
    names = ("apis", "gateways", "routes", "bundles")
    unknown = {name for name in names if isinstance(getattr(found, name), Unknown)}
    assert unknown == {part}
    assert getattr(found, part) == Unknown("the cluster could not be read (it answered 403)")


def test_a_cluster_that_cannot_be_read_is_unknown(server):
    found = live(server, USED, token="wrong")
    assert {type(part) for part in (found.apis, found.gateways, found.routes)} == {Unknown}
