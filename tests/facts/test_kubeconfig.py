"""Kubeconfigs: servers, users and proxies, by the rules of kubectl."""

import base64
import json
import os
import time
import traceback

import pytest
import yaml

from facts import cluster, kubeconfig
from facts.kubeconfig import Endpoint, KubeAccess, KubeconfigError
from planning.ground.cluster_facts import Unknown
from tests.support.cluster.kubeconfigs import (
    FAILED,
    KINDS,
    VERSION,
    base64_text,
    client_certificate,
    config,
    kinds,
    plugin,
    plugin_certificate,
)

pytestmark = pytest.mark.usefixtures("patience")
BASIC = f"Basic {base64_text(b'me:secret')}"
NAMED = 'case "$KUBERNETES_EXEC_INFO" in *"https://127.0.0.1"*) printf %s "$ANSWER";; esac'
"""A plugin that knows a cluster only if it is told of it."""
USERS = {
    "token": lambda _: {"token": "right"},
    "token-file": lambda _: {"tokenFile": "token"},
    "plugin-token": lambda _: plugin({"token": "right"}),
    "plugin-certificate": lambda pems: plugin(plugin_certificate(pems)),
    "plugin-told-of-the-cluster": lambda _: plugin({"token": "right"}, script=NAMED, provideClusterInfo=True),
    "plugin-beside-the-file": lambda _: plugin({"token": "right"}, command="./plugin", args=[]),
    "certificate-data": client_certificate,
    "certificate-files": lambda _: {"client-certificate": "client.pem", "client-key": "client-key.pem"},
}
"""Users whom the server knows."""
STRANGERS = {
    "nobody": lambda _: {},
    "wrong-token": lambda _: {"token": "wrong"},
    "no-token-file": lambda _: {"tokenFile": "absent"},
    "no-certificate-file": lambda _: {"client-certificate": "absent.pem", "client-key": "absent.pem"},
    "plugin-not-told": lambda _: plugin({"token": "right"}, script=NAMED),
    "plugin-that-fails": lambda _: plugin({"token": "right"}, script='printf %s "$ANSWER"; exit 3'),
    "plugin-that-is-absent": lambda _: plugin({"token": "right"}, command="no-such-plugin"),
    "plugin-without-credential": lambda _: plugin({}),
    "plugin-of-another-version": lambda _: plugin({"token": "right"}, apiVersion=f"{VERSION}beta1"),
    "certificate-without-key": lambda pems: plugin({"clientCertificateData": pems.data("client").decode()}),
    "broken-certificate": lambda _: {
        "client-certificate-data": base64_text(b"x"),
        "client-key-data": base64_text(b"x"),
    },
}
"""Users whom the server does not know, or who have no credential."""


@pytest.mark.parametrize("case", USERS)
def test_a_user_is_known_to_the_server(api, pems, write_kubeconfig, case):
    (pems.folder / "token").write_text("right")
    script = pems.folder / "plugin"
    script.write_text('#!/bin/sh\nprintf %s "$ANSWER"\n')
    script.chmod(0o700)
    access = write_kubeconfig(config(api.url, USERS[case](pems), **{"certificate-authority": "ca.pem"}))
    assert kinds(access) == KINDS


@pytest.mark.parametrize("case", STRANGERS)
def test_a_stranger_is_unknown_to_the_server(api, pems, write_kubeconfig, case):
    access = write_kubeconfig(config(api.url, STRANGERS[case](pems), **{"certificate-authority": "ca.pem"}))
    assert isinstance(kinds(access), Unknown)


def test_a_name_and_a_password_are_known_to_the_server(api, write_kubeconfig):
    api.authorization = BASIC
    user = {"username": "me", "password": "secret"}
    assert kinds(write_kubeconfig(config(api.url, user, **{"certificate-authority": "ca.pem"}))) == KINDS


def test_a_text_is_read_like_a_file(api, pems):
    fields = {"certificate-authority-data": base64_text(pems.data("ca"))}
    text = yaml.safe_dump(config(api.url, client_certificate(pems), **fields))
    assert kinds(KubeAccess(text, None)) == KINDS


def test_entries_and_the_current_context_are_those_of_the_first_file_that_has_them(api, write_kubeconfig):
    fields = {"certificate-authority": "ca.pem"}
    users = {"users": [{"name": "here", "user": {"token": "right"}}]}
    second = config(api.url, {"token": "wrong"}, **fields)
    third = config("https://127.0.0.1:9", {"token": "right"}, name="there")
    assert kinds(write_kubeconfig(users, second, third, context="here")) == KINDS
    access = write_kubeconfig(users, second, "", third)
    assert kinds(access) == KINDS
    assert cluster.name(access) == "here"
    assert cluster.name(KubeAccess(None, "there")) == "there"


def test_files_that_are_not_there_are_skipped(api, pems, write_kubeconfig, monkeypatch):
    access = write_kubeconfig(config(api.url, {"token": "right"}, **{"certificate-authority": "ca.pem"}))
    paths = [str(pems.folder / "absent"), "", os.environ["KUBECONFIG"], os.environ["KUBECONFIG"]]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))
    assert kinds(access) == KINDS


def test_the_default_file_is_read_where_the_variable_is_empty(api, tmp_path, pems, monkeypatch):
    (tmp_path / ".kube").mkdir()
    fields = {"certificate-authority": str(pems.folder / "ca.pem")}
    (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(config(api.url, {"token": "right"}, **fields)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "")
    assert kinds(KubeAccess(None, None)) == KINDS


def test_a_path_is_relative_to_the_file_that_it_stands_in(api, pems, tmp_path, monkeypatch):
    whole = config(api.url, {"client-certificate": "client.pem", "client-key": "client-key.pem"})
    users, others = tmp_path / "users", pems.folder / "clusters"
    for name in ("client.pem", "client-key.pem"):
        (tmp_path / name).write_bytes((pems.folder / name).read_bytes())
    whole["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
    users.write_text(yaml.safe_dump({"users": whole.pop("users")}))
    others.write_text(yaml.safe_dump(whole))
    monkeypatch.setenv("KUBECONFIG", f"{users}{os.pathsep}{others}")
    assert kinds(KubeAccess(None, None)) == KINDS


BROKEN = {
    "no-yaml": "users: [secret",
    "a-list": "[secret]",
    "a-text": "secret",
    "empty": "",
    "nothing-in-it": "{}",
    "no-cluster": yaml.safe_dump({**config("https://127.0.0.1:9", {"token": "secret"}), "clusters": []}),
    "twice": yaml.safe_dump(
        {
            **config("https://127.0.0.1:9", {}),
            "users": [{"name": "here", "user": {"token": "secret"}}] * 2,
        }
    ),
    "no-base64": yaml.safe_dump(config("https://127.0.0.1:9", {}, **{"certificate-authority-data": "secret"})),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_kubeconfig_is_unknown(case):
    access = KubeAccess(BROKEN[case], None)
    assert kinds(access) == Unknown(f"{FAILED} (KubeconfigError)")
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.endpoint(access)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("token", ["secret\nsecond", "secrét"])
def test_a_token_that_no_header_may_have_is_not_quoted(token):
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.endpoint(KubeAccess(yaml.safe_dump(config("http://127.0.0.1:9", {"token": token})), None))
    assert "secr" not in "".join(traceback.format_exception(caught.value))


def test_records_show_no_credential(pems):
    content = config("https://127.0.0.1:9", {"token": "right", **client_certificate(pems)})
    found = kubeconfig.endpoint(KubeAccess(yaml.safe_dump(content), None))
    assert found.authorization == "Bearer right"
    assert found.tls.key == pems.data("client-key")
    assert "right" not in repr(found)
    assert "PRIVATE" not in repr(found)


def test_a_file_is_trimmed_and_comes_before_the_token_that_it_renews(write_kubeconfig, pems):
    (pems.folder / "token").write_text("right\n")
    for user in ({"tokenFile": "token"}, {"tokenFile": "token", "token": "old"}):
        assert kubeconfig.endpoint(write_kubeconfig(config("http://127.0.0.1:9", user))).authorization == "Bearer right"
    user = {"tokenFile": "absent", "token": "right"}
    assert kubeconfig.endpoint(write_kubeconfig(config("http://127.0.0.1:9", user))).authorization == "Bearer right"


def test_no_plugin_runs_for_a_user_with_credentials():
    user = plugin({"token": "wrong"}) | {"username": "me", "password": "secret"}
    access = KubeAccess(yaml.safe_dump(config("http://127.0.0.1:9", user)), None)
    assert kubeconfig.endpoint(access) == Endpoint("http://127.0.0.1:9", None, BASIC)


def test_an_unknown_context_is_unknown(api, write_kubeconfig):
    access = write_kubeconfig(config(api.url, {"token": "right"}), context="absent")
    assert isinstance(kinds(access), Unknown)
    assert cluster.name(access) == "here"


def token(**claims):
    parts = ({"alg": "none"}, claims)
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "s"]
    )


def of_provider(name="oidc", **settings):
    return yaml.safe_dump(config("http://127.0.0.1:9", {"auth-provider": {"name": name, "config": settings}}))


def test_a_token_of_an_identity_provider_is_used_until_it_expires():
    fresh = token(exp=time.time() + 60)
    assert kubeconfig.endpoint(KubeAccess(of_provider(**{"id-token": fresh}), None)).authorization == f"Bearer {fresh}"


@pytest.mark.parametrize("settings", [{"id-token": token(exp=1)}, {"id-token": token()}, {"id-token": "a.secret"}, {}])
def test_an_expired_token_of_an_identity_provider_is_told_with_a_remedy(settings):
    message = "the kubeconfig's OIDC token has expired; run `kubectl version`, which renews it"
    assert kinds(KubeAccess(of_provider(**settings), None)) == Unknown(f"{FAILED} ({message})")


def test_an_identity_provider_that_kubectl_no_longer_has_is_told_with_a_remedy():
    reason = kinds(KubeAccess(of_provider("gcp"), None)).reason
    assert reason.startswith(f"{FAILED} (kubectl no longer has the auth-provider gcp; use a credential plugin, or ")


def test_a_server_without_a_scheme_is_told_with_a_remedy():
    reason = kinds(KubeAccess(yaml.safe_dump(config("127.0.0.1:9", {})), None)).reason
    assert reason == f"{FAILED} (its server has no scheme in the kubeconfig; write https:// before it)"


def proxy(server="https://a.example.com", **fields):
    return kubeconfig.endpoint(KubeAccess(yaml.safe_dump(config(server, {}, **fields)), None)).proxy


@pytest.mark.parametrize(
    ("variables", "server", "host"),
    [
        ({"HTTP_PROXY": "http://proxy"}, "https://a.example.com", None),
        ({"HTTP_PROXY": "http://proxy"}, "http://a.example.com", "proxy"),
        ({"HTTPS_PROXY": "http://proxy"}, "https://a.example.com", "proxy"),
        ({"https_proxy": "proxy:3128"}, "https://a.example.com", "proxy"),
        ({"ALL_PROXY": "http://proxy"}, "https://a.example.com", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "b.example, *"}, "https://a.example.com", None),
        ({"HTTPS_PROXY": "http://proxy"}, "https://localhost:6443", None),
        ({"HTTPS_PROXY": "http://proxy"}, "https://127.0.0.1:6443", None),
        ({"HTTPS_PROXY": "http://proxy"}, "https://[::1]:6443", None),
        ({"HTTPS_PROXY": "http://proxy"}, "https://[fd00::1]:6443", "proxy"),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "b.example,.example.com"}, "https://a.example.com", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "*"}, "https://a.example.com", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "10.0.0.0/8"}, "https://a.example.com", "proxy"),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "b, 10.0.0.0/8"}, "https://10.1.2.3:6443", None),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "10.0.0.0/8"}, "https://11.1.2.3", "proxy"),
    ],
)
def test_a_proxy_counts_only_where_it_applies(monkeypatch, variables, server, host):
    monkeypatch.delenv("NO_PROXY")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (proxy(server) and proxy(server).host) == host


def test_the_proxy_of_a_cluster_comes_before_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://other")
    monkeypatch.setenv("NO_PROXY", "*")
    named = proxy(**{"proxy-url": "http://me:p%40ss@proxy:3128"})
    assert (named.host, named.port) == ("proxy", 3128)
    assert named.headers == {"Proxy-Authorization": f"Basic {base64_text(b'me:p@ss')}"}
    assert "Basic" not in repr(named)


@pytest.mark.parametrize("url", ["socks5://proxy:1080", "https://proxy", "http://"])
def test_a_proxy_of_another_kind_is_told_with_a_remedy(url):
    reason = kinds(KubeAccess(yaml.safe_dump(config("https://a.example.com", {}, **{"proxy-url": url})), None)).reason
    assert reason.startswith(f"{FAILED} (its proxy is no HTTP proxy; name a proxy that begins with http://, or ")
