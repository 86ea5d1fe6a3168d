"""Connections to API servers: verification, proxies, and reasons of failures."""

import subprocess
import sys
import tempfile

import pytest
import yaml

from facts import cluster, connection, inventory
from facts.kubeconfig import KubeAccess
from models.stack import Cluster
from planning.ground import bundles
from planning.ground.cluster_facts import Pools, Served, Unknown
from tests.support.cluster import certificates, loopback
from tests.support.cluster.kubeconfigs import (
    DISCOVERY,
    FAILED,
    KINDS,
    base64_text,
    client_certificate,
    config,
    kinds,
)

pytestmark = pytest.mark.usefixtures("patience")
SERVERS = {
    "ca-data": (lambda pems: {"certificate-authority-data": base64_text(pems.data("ca"))}, True),
    "ca-file": (lambda _: {"certificate-authority": "ca.pem"}, True),
    "insecure": (lambda _: {"insecure-skip-tls-verify": True}, True),
    "name": (lambda _: {"certificate-authority": "ca.pem", "tls-server-name": certificates.SERVER}, True),
    "another-name": (lambda _: {"certificate-authority": "ca.pem", "tls-server-name": "example.com"}, False),
    "another-name-insecure": (lambda _: {"insecure-skip-tls-verify": True, "tls-server-name": "example.com"}, True),
    "another-authority": (lambda _: {"certificate-authority": "client.pem"}, False),
    "system-authorities": (lambda _: {}, False),
    "no-authority-file": (lambda _: {"certificate-authority": "absent.pem"}, False),
}
"""Ways to verify the server, and whether it is trusted."""


@pytest.mark.parametrize("case", SERVERS)
def test_a_server_is_trusted_as_kubectl_does(api, pems, write_kubeconfig, case):
    fields, trusted = SERVERS[case]
    answer = kinds(write_kubeconfig(config(api.url, {"token": "right"}, **fields(pems))))
    assert isinstance(answer, Served) is trusted
    assert trusted or api.seen == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://127.0.0.1:9"])
def test_a_server_that_opens_no_connection_is_told(url):
    answer = kinds(KubeAccess(yaml.safe_dump(config(url, {"token": "right"})), None))
    assert answer == Unknown(f"{FAILED} (it opens no connection)")


def test_a_server_without_an_address_is_told():
    answer = kinds(KubeAccess(yaml.safe_dump(config("http://api.invalid", {})), None))
    assert answer == Unknown(f"{FAILED} (it has no address)")


@pytest.mark.parametrize(
    ("url", "reason"), [("http://127.0.0.1:9", "opens no connection"), ("proxy.invalid", "has no address")]
)
def test_a_proxy_that_cannot_be_reached_is_told(url, reason):
    text = yaml.safe_dump(config("https://a.example.com", {}, **{"proxy-url": url}))
    assert kinds(KubeAccess(text, None)) == Unknown(f"{FAILED} (its proxy {reason})")


def test_a_path_before_those_of_the_api_is_in_front_of_each_request():
    with loopback.serve({f"/clusters/one{path}": answer for path, answer in DISCOVERY.items()}) as server:
        content = config(f"{server.url}/clusters/one/", {"token": "right"})
        assert kinds(KubeAccess(yaml.safe_dump(content), None)) == KINDS


def test_one_connection_serves_all_requests_also_after_a_refusal(api, write_kubeconfig):
    api.answers = {**DISCOVERY, "/apis/inference.networking.k8s.io/v1/namespaces/a/inferencepools": {"items": []}}
    access = write_kubeconfig(config(api.url, {"token": "right"}, **{"certificate-authority": "ca.pem"}))
    facts = cluster.read_all(access)
    assert facts.apis == KINDS
    assert facts.routes == facts.gateways == Unknown(f"{FAILED} (it answered 404)")
    named = len({"version", "gateways", "routes"}) + len(bundles.versioned_definitions()) + len(inventory.READERS)
    assert (len(api.seen), api.connections) == (2 + named, 1)
    assert cluster.pools(Cluster(), access, ["a"]) == Pools({})


def test_keys_stay_in_no_file(api, pems, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = yaml.safe_dump(config(api.url, client_certificate(pems), **{"insecure-skip-tls-verify": True}))
    with connection.connect(KubeAccess(text, None), 10) as opened:
        assert list(tmp_path.iterdir()) == []
        assert opened.get("/api", "application/json") == DISCOVERY["/api"]


def test_a_proxy_is_asked_for_a_tunnel_to_a_server_with_tls(api, write_kubeconfig):
    with loopback.serve_proxy() as proxy:
        fields = {"certificate-authority": "ca.pem", "proxy-url": proxy.url}
        assert kinds(write_kubeconfig(config(api.url, {"token": "right"}, **fields))) == KINDS
        assert set(proxy.seen) == {api.url.removeprefix("https://")}


def test_a_proxy_is_asked_for_an_ipv6_address_in_brackets(monkeypatch):
    monkeypatch.setattr(loopback.ProxyHandler, "do_CONNECT", lambda self: self.server.seen.append(self.path))
    with loopback.serve_proxy() as proxy:
        text = yaml.safe_dump(config("https://[fd00::1]:6443", {}, **{"proxy-url": proxy.url}))
        assert isinstance(kinds(KubeAccess(text, None)), Unknown)
        assert set(proxy.seen) == {"[fd00::1]:6443"}


def test_a_proxy_passes_requests_to_a_server_without_tls_on(write_kubeconfig):
    absolute = {f"http://api.example{path}": answer for path, answer in DISCOVERY.items()}
    with loopback.serve(absolute) as proxy:
        assert (
            kinds(write_kubeconfig(config("http://api.example", {"token": "right"}, **{"proxy-url": proxy.url})))
            == KINDS
        )


def test_a_plain_kubeconfig_imports_no_package_for_requests(api, write_kubeconfig):
    write_kubeconfig(config(api.url, {"token": "right"}, **{"certificate-authority": "ca.pem"}))
    program = (
        "import sys; from facts import cluster; from models.stack import Cluster;"
        "access = cluster.KubeAccess(None, None);"
        "assert cluster.name(access) == 'here';"
        "assert 'v1/Service' in cluster.read(Cluster(), access, None).apis.kinds;"
        "print({'requests', 'oauthlib', 'urllib3', 'websocket'} & sys.modules.keys())"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"
