"""Readers of a cluster: real HTTP on loopback, real credential plugins, and no failure taken for "absent"."""

import http.server
import json
import sys
import threading

import pytest
import yaml

from facts import cluster
from facts.cluster import Access
from models.stack import Cluster, FileFacts, NoFacts
from planning.facts import NOTHING_READ, Pools, Served, Unknown


def discovery(*kinds):
    """Answer as an API server does: groups by metadata, and built-in kinds without a group of their own."""
    return {
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [{"version": version, "resources": [{"responseKind": {"group": "", "kind": kind}}]}],
            }
            for group, version, kind in kinds
        ]
    }


POOL = {"spec": {"selector": {"matchLabels": {"inference-stacks.io/service": "qwen"}}}}
ANSWERS = {
    "/apis/inference.networking.k8s.io/v1/namespaces/models/inferencepools": {
        "items": [POOL | {"metadata": {"name": "qwen"}}, {"metadata": {"name": "bare"}, "spec": {}}]
    },
    "/apis/inference.networking.k8s.io/v1/namespaces/chat/inferencepools": {"items": []},
    "/api": discovery(("", "v1", "Service")),
    "/apis": discovery(("apps", "v1", "Deployment"), ("inference.networking.k8s.io", "v1", "InferencePool")),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.headers.get("Authorization"))
        if self.server.hang is not None:
            self.server.hang.wait(30)
        status = 200 if self.headers.get("Authorization") == "Bearer right" else 403
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(ANSWERS[self.path]).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    one = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.seen, one.hang = [], None
    threading.Thread(target=one.serve_forever, daemon=True).start()
    yield one
    if one.hang is not None:
        one.hang.set()
    one.shutdown()


def kubeconfig(server, user):
    return yaml.safe_dump(
        {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me"}}],
            "clusters": [{"name": "one", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "me", "user": user}],
        }
    )


def test_kinds_are_read_with_a_token(server):
    found = cluster.read(Cluster(), Access(kubeconfig(server, {"token": "right"}), None), None)
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
    found = cluster.read(Cluster(), Access(kubeconfig(server, {"exec": plugin}), None), None)
    assert isinstance(found.apis, Served)


def test_a_refused_read_is_unknown_and_names_no_credential(server):
    found = cluster.read(Cluster(), Access(kubeconfig(server, {"token": "wrong"}), None), None)
    assert isinstance(found.apis, Unknown)
    assert "403" in found.apis.reason
    assert "wrong" not in found.apis.reason


def test_a_silent_server_is_unknown_after_the_deadline(server, monkeypatch):
    monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", 0.5)
    server.hang = threading.Event()
    found = cluster.read(Cluster(), Access(kubeconfig(server, {"token": "right"}), None), None)
    assert isinstance(found.apis, Unknown)


def test_a_plugin_that_hangs_is_unknown_after_the_deadline(server, monkeypatch):
    monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", 0.5)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sleep",
        "args": ["5"],
        "interactiveMode": "Never",
    }
    found = cluster.read(Cluster(), Access(kubeconfig(server, {"exec": plugin}), None), None)
    assert found.apis == Unknown("the cluster did not answer within 0.5 seconds")


def test_no_cluster_at_all_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    found = cluster.read(Cluster(), Access(None, None), None)
    assert isinstance(found.apis, Unknown)


def test_facts_survive_their_file(tmp_path):
    served = Served(frozenset({"v1/Service"}))
    (tmp_path / "facts.json").write_text(cluster.to_json(served))
    spec = Cluster(facts=FileFacts(type="file", path="facts.json"))
    assert cluster.read(spec, Access(None, None), tmp_path).apis == served


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"apis": 1}'])
def test_a_broken_file_is_unknown(tmp_path, text):
    (tmp_path / "facts.json").write_text(text)
    assert isinstance(cluster.from_file(tmp_path / "facts.json").apis, Unknown)


def test_none_reads_nothing():
    assert cluster.read(Cluster(facts=NoFacts(type="none")), Access("not even yaml: [", None), None) == NOTHING_READ


def test_the_cluster_is_called_what_the_context_calls_it(server):
    text = kubeconfig(server, {"token": "right"})
    assert cluster.name(Access(text, None)) == "one"
    assert cluster.name(Access("{}", None)) is None


def test_the_pools_of_the_namespaces_in_use_are_read(server):
    found = cluster.pools(Cluster(), Access(kubeconfig(server, {"token": "right"}), None), ["models", "chat", "models"])
    assert found == Pools({("models", "qwen"): {"inference-stacks.io/service": "qwen"}, ("models", "bare"): {}})
    assert server.seen == ["Bearer right"] * 2


def test_pools_that_may_not_be_read_are_unknown(server):
    found = cluster.pools(Cluster(), Access(kubeconfig(server, {"token": "wrong"}), None), ["models"])
    assert found == Unknown("the cluster could not be read (it answered 403)")


@pytest.mark.parametrize("facts", [NoFacts(type="none"), FileFacts(type="file", path="facts.json")])
def test_pools_are_asked_of_a_live_cluster_alone(server, facts):
    found = cluster.pools(Cluster(facts=facts), Access(kubeconfig(server, {"token": "right"}), None), ["models"])
    assert found == Unknown(f"cluster.facts is {facts.type}")
    assert server.seen == []
