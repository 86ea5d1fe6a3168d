"""Kubeconfigs: the plain reader answers what the Kubernetes client answers, and leaves to it what only it can do."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import traceback

import pytest
import yaml

from facts import cluster, connection, credential_plugin, inventory, kubeconfig, reading
from facts.cluster import Access
from facts.credential_plugin import PluginError
from facts.kubeconfig import Endpoint, KubeconfigError, NeedsClient, Tls
from models.stack import Cluster
from planning.ground import bundles
from planning.ground.cluster_facts import Pools, Served, Unknown
from tests.support.cluster import certificates, loopback
from tests.support.cluster.loopback import discovery

ANSWERS = {"/api": discovery(("", "v1", "Service")), "/apis": discovery(("apps", "v1", "Deployment"))}
KINDS = Served(frozenset({"v1/Service", "apps/v1/Deployment"}))
BASIC = f"Basic {base64.b64encode(b'me:secret').decode()}"
VERSION = "client.authentication.k8s.io/v1"
FAILED = "the cluster could not be read"


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Wait for an answer however busy the machine is, and repeat a read at once."""
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", 300)


@pytest.fixture(scope="module")
def pems(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def api(pems):
    with loopback.serve(ANSWERS, tls=pems.server_context()) as server:
        yield server


def left_to_the_client(access):
    return NeedsClient(() if access.kubeconfig is not None else kubeconfig._files(), access.context)


@pytest.fixture
def readers(monkeypatch):
    """Read the kinds with the plain reader, then with the client, and count the clients that were made."""
    make, clients = connection._client, []

    def count(*arguments):
        clients.append(arguments)
        return make(*arguments)

    monkeypatch.setattr(connection, "_client", count)

    def read(access, *, plain=True):
        first = cluster.read(Cluster(), access, None).apis
        assert bool(clients) is not plain
        with monkeypatch.context() as patch:
            patch.setattr(kubeconfig, "endpoint", left_to_the_client)
            second = cluster.read(Cluster(), access, None).apis
        assert clients
        return first, second

    return read


def base64_text(content):
    return base64.b64encode(content).decode()


def config(server, user, *, name="here", **more):
    return {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": server, **more}}],
        "users": [{"name": name, "user": user}],
    }


@pytest.fixture
def write_kubeconfig(monkeypatch, pems):
    """Write kubeconfigs beside the certificates, and name them in KUBECONFIG."""

    def write(*contents, context=None):
        paths = [pems.folder / f"config-{number}" for number, _ in enumerate(contents)]
        for path, content in zip(paths, contents, strict=True):
            path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, paths)))
        return Access(None, context)

    return write


def plugin(status, **more):
    """Return a plugin that is a shell: it prints a credential that it has from its environment."""
    answer = json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})
    script = more.pop("script", 'printf %s "$ANSWER"')
    environment = [{"name": "ANSWER", "value": answer}]
    fixed = {"apiVersion": VERSION, "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}
    return {"exec": {**fixed, "env": environment, **more}}


def client_certificate(pems):
    return {
        "client-certificate-data": base64_text(pems.data("client")),
        "client-key-data": base64_text(pems.data("client-key")),
    }


def plugin_certificate(pems):
    return {
        "clientCertificateData": pems.data("client").decode(),
        "clientKeyData": pems.data("client-key").decode(),
    }


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


@pytest.mark.parametrize("case", USERS)
def test_a_user_is_known_to_both_readers(api, pems, readers, write_kubeconfig, case):
    (pems.folder / "token").write_text("right")
    script = pems.folder / "plugin"
    script.write_text('#!/bin/sh\nprintf %s "$ANSWER"\n')
    script.chmod(0o700)
    access = write_kubeconfig(config(api.url, USERS[case](pems), **{"certificate-authority": "ca.pem"}))
    assert readers(access) == (KINDS, KINDS)


@pytest.mark.parametrize("case", STRANGERS)
def test_a_stranger_is_unknown_to_both_readers(api, pems, readers, write_kubeconfig, case):
    access = write_kubeconfig(config(api.url, STRANGERS[case](pems), **{"certificate-authority": "ca.pem"}))
    assert [type(answer) for answer in readers(access)] == [Unknown, Unknown]


def test_a_name_and_a_password_are_known_to_both_readers(api, readers, write_kubeconfig):
    api.authorization = BASIC
    user = {"username": "me", "password": "secret"}
    assert readers(write_kubeconfig(config(api.url, user, **{"certificate-authority": "ca.pem"}))) == (KINDS, KINDS)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")  # the client warns of what the case asks for
@pytest.mark.parametrize("case", SERVERS)
def test_both_readers_trust_the_same_servers(api, pems, readers, write_kubeconfig, case):
    fields, trusted = SERVERS[case]
    answers = readers(write_kubeconfig(config(api.url, {"token": "right"}, **fields(pems))))
    assert [isinstance(answer, Served) for answer in answers] == [trusted, trusted]
    assert trusted or api.seen == []


def test_a_text_is_read_like_a_file(api, pems, readers):
    fields = {"certificate-authority-data": base64_text(pems.data("ca"))}
    text = yaml.safe_dump(config(api.url, client_certificate(pems), **fields))
    assert readers(Access(text, None)) == (KINDS, KINDS)


def test_entries_and_the_current_context_are_those_of_the_first_file_that_has_them(api, readers, write_kubeconfig):
    fields = {"certificate-authority": "ca.pem"}
    users = {"users": [{"name": "here", "user": {"token": "right"}}]}
    second = config(api.url, {"token": "wrong"}, **fields)
    third = config("https://127.0.0.1:9", {"token": "right"}, name="there")
    assert readers(write_kubeconfig(users, second, third, context="here")) == (KINDS, KINDS)
    access = write_kubeconfig(users, second, "", third)
    assert cluster.read(Cluster(), access, None).apis == KINDS
    assert cluster.name(access) == "here"
    assert cluster.name(Access(None, "there")) == "there"


def test_files_that_are_not_there_are_skipped(api, pems, readers, write_kubeconfig, monkeypatch):
    access = write_kubeconfig(config(api.url, {"token": "right"}, **{"certificate-authority": "ca.pem"}))
    paths = [str(pems.folder / "absent"), "", os.environ["KUBECONFIG"], os.environ["KUBECONFIG"]]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))
    assert readers(access) == (KINDS, KINDS)


def test_the_default_file_is_read_where_the_variable_is_empty(api, tmp_path, pems, monkeypatch):
    (tmp_path / ".kube").mkdir()
    fields = {"certificate-authority": str(pems.folder / "ca.pem")}
    (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(config(api.url, {"token": "right"}, **fields)))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "")
    assert cluster.read(Cluster(), Access(None, None), None).apis == KINDS


def test_a_path_is_relative_to_the_file_that_it_stands_in(api, pems, tmp_path, monkeypatch):
    whole = config(api.url, {"client-certificate": "client.pem", "client-key": "client-key.pem"})
    users, others = tmp_path / "users", pems.folder / "clusters"
    for name in ("client.pem", "client-key.pem"):
        (tmp_path / name).write_bytes((pems.folder / name).read_bytes())
    whole["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
    users.write_text(yaml.safe_dump({"users": whole.pop("users")}))
    others.write_text(yaml.safe_dump(whole))
    monkeypatch.setenv("KUBECONFIG", f"{users}{os.pathsep}{others}")
    assert cluster.read(Cluster(), Access(None, None), None).apis == KINDS


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
def test_a_broken_kubeconfig_is_unknown_to_both_readers(readers, case):
    access = Access(BROKEN[case], None)
    plain, by_client = readers(access)
    assert plain == Unknown(f"{FAILED} (KubeconfigError)")
    assert isinstance(by_client, Unknown)
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.endpoint(access)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("token", ["secret\nsecond", "secrét"])
def test_a_token_that_no_header_may_have_is_not_quoted(token):
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.endpoint(Access(yaml.safe_dump(config("http://127.0.0.1:9", {"token": token})), None))
    assert "secr" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("script", ["echo secret", "echo '[\"secret\"]'", "echo secret >&2; exit 1"])
def test_a_plugin_that_fails_is_not_quoted(script, capfd):
    with pytest.raises(PluginError) as caught:
        credential_plugin.run(plugin({}, script=script)["exec"], None, {})
    assert "secret" not in "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())


def test_records_show_no_credential(pems):
    content = config("https://127.0.0.1:9", {"token": "right", **client_certificate(pems)})
    found = kubeconfig.endpoint(Access(yaml.safe_dump(content), None))
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
    access = Access(yaml.safe_dump(config("http://127.0.0.1:9", user)), None)
    assert kubeconfig.endpoint(access) == Endpoint("http://127.0.0.1:9", None, BASIC)


def test_a_plugin_is_told_of_the_cluster_as_kubectl_tells_it(write_kubeconfig, pems, tmp_path, monkeypatch):
    """Expected is what `kubectl` passes; the client passes the kubeconfig's own fields, with the name of the file."""
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    script = 'printf %s "$KUBERNETES_EXEC_INFO" > "$TOLD"; printf %s "$ANSWER"'
    user = plugin({"token": "right"}, script=script, provideClusterInfo=True)
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    fields = {"certificate-authority": "ca.pem", "tls-server-name": "api", "extensions": [extension]}
    found = kubeconfig.endpoint(write_kubeconfig(config("https://127.0.0.1:9", user, **fields)))
    assert found == Endpoint(
        "https://127.0.0.1:9", Tls(pems.folder / "ca.pem", False, "api", None, None), "Bearer right"
    )
    cluster_info = {
        "server": "https://127.0.0.1:9",
        "tls-server-name": "api",
        "certificate-authority-data": base64_text(pems.data("ca")),
        "config": {"audience": "a"},
    }
    assert json.loads((tmp_path / "told").read_text()) == {
        "apiVersion": VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": cluster_info},
    }


def test_a_plugin_that_needs_a_terminal_fails_without_it():
    with pytest.raises(PluginError, match="needs a terminal"):
        credential_plugin.run(plugin({"token": "right"}, interactiveMode="Always")["exec"], None, {})


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://127.0.0.1:9"])
def test_a_server_that_is_not_there_has_the_same_reason(readers, url):
    answers = readers(Access(yaml.safe_dump(config(url, {"token": "right"})), None))
    assert answers == (Unknown(f"{FAILED} (NewConnectionError)"),) * 2


def test_a_server_without_an_address_has_the_same_reason(readers):
    answers = readers(Access(yaml.safe_dump(config("http://api.invalid", {})), None))
    assert answers == (Unknown(f"{FAILED} (NameResolutionError)"),) * 2


def test_an_unknown_context_is_unknown_to_both_readers(api, readers, write_kubeconfig):
    access = write_kubeconfig(config(api.url, {"token": "right"}), context="absent")
    assert [type(answer) for answer in readers(access)] == [Unknown, Unknown]
    assert cluster.name(access) == "here"


def test_a_path_before_those_of_the_api_is_in_front_of_each_request(readers):
    with loopback.serve({f"/clusters/one{path}": answer for path, answer in ANSWERS.items()}) as server:
        content = config(f"{server.url}/clusters/one/", {"token": "right"})
        assert readers(Access(yaml.safe_dump(content), None)) == (KINDS, KINDS)


def test_one_connection_serves_all_requests_also_after_a_refusal(api, write_kubeconfig):
    api.answers = {**ANSWERS, "/apis/inference.networking.k8s.io/v1/namespaces/a/inferencepools": {"items": []}}
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
    with connection.connect(Access(text, None), 10) as opened:
        assert list(tmp_path.iterdir()) == []
        assert opened.get("/api", "application/json") == ANSWERS["/api"]


def segment(content):
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def test_an_identity_provider_is_asked_by_the_client(api, readers, write_kubeconfig, monkeypatch):
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    answers = {"/token": {"id_token": "right", "refresh_token": "next", "access_token": "a", "token_type": "Bearer"}}
    with loopback.serve(answers, authorization=None) as issuer:
        answers["/.well-known/openid-configuration"] = {"token_endpoint": f"{issuer.url}/token"}
        settings = {
            "idp-issuer-url": issuer.url,
            "client-id": "me",
            "client-secret": "secret",
            "refresh-token": "first",
            "id-token": ".".join((segment({"alg": "none"}), segment({"exp": 1}), "signature")),
        }
        user = {"auth-provider": {"name": "oidc", "config": settings}}
        access = write_kubeconfig(config(api.url, user, **{"certificate-authority": "ca.pem"}))
        assert readers(access, plain=False) == (KINDS, KINDS)
        assert len(issuer.seen) == 4


@pytest.mark.parametrize("place", ["proxy-url", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_is_passed_by_the_client(api, readers, write_kubeconfig, monkeypatch, place):
    monkeypatch.delenv("NO_PROXY")
    with loopback.serve_proxy() as proxy:
        fields = {"certificate-authority": "ca.pem"}
        if place == "proxy-url":
            fields[place] = proxy.url
        else:
            monkeypatch.setenv(place, proxy.url)
        access = write_kubeconfig(config(api.url, {"token": "right"}, **fields))
        assert readers(access, plain=False) == (KINDS, KINDS)
        assert set(proxy.seen) == {api.url.removeprefix("https://")}


@pytest.mark.parametrize(
    ("variables", "needed"),
    [
        ({"HTTP_PROXY": "http://proxy"}, False),
        ({"HTTPS_PROXY": "http://proxy"}, True),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "b.example,.example.com"}, False),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "*"}, False),
        ({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "10.0.0.0/8"}, True),
    ],
)
def test_a_proxy_counts_only_where_it_applies(monkeypatch, variables, needed):
    monkeypatch.delenv("NO_PROXY")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = kubeconfig.endpoint(Access(yaml.safe_dump(config("https://a.example.com", {})), None))
    assert isinstance(found, NeedsClient) is needed


def test_a_plain_kubeconfig_imports_no_client(api, write_kubeconfig):
    write_kubeconfig(config(api.url, {"token": "right"}, **{"certificate-authority": "ca.pem"}))
    program = (
        "import sys; from facts import cluster; from models.stack import Cluster; access = cluster.Access(None, None);"
        "assert cluster.name(access) == 'here';"
        "assert 'v1/Service' in cluster.read(Cluster(), access, None).apis.kinds;"
        "print({'kubernetes', 'requests', 'oauthlib', 'urllib3', 'websocket'} & sys.modules.keys())"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"
