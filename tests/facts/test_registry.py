"""Sizes of ModelKits: HTTP registries on loopback, and no failed read taken for "0 bytes"."""

import base64
import json
import socket

import pytest

from facts import registry as reader
from planning.ground.cluster_facts import Unknown
from planning.weights.sizes import Size, Unusable, Wanted
from tests.support.traffic.registries import KIT, KITFILE, PACK
from tests.support.traffic.weight_servers import ask, serve, transport

LAYERS = (
    (f"{KIT}.model.v1.tar", 1000),
    (f"{KIT}.modelpart.v1.tar", 200),
    (f"{KIT}.dataset.v1.tar", 30),
    (f"{KIT}.code.v1.tar", 4),
    (f"{KIT}.docs.v1.tar+gzip", 5),
    ("application/octet-stream", 700_000),
)


@pytest.mark.parametrize(
    ("layers", "size"),
    [(("model",), 1200), (("model", "code"), 1204), (("datasets",), 30), (("model", "datasets", "code", "docs"), 1239)],
)
def test_a_modelkit_is_the_sum_of_the_layers_that_the_filter_takes(registry, layers, size):
    digest = registry.push("v1", LAYERS)
    assert ask(registry.wanted(layers=layers)) == Size(size, digest=digest, packed="docs" in layers)


def test_the_kitfile_counts_where_it_is_unpacked(registry):
    registry.push("v1", LAYERS)
    assert ask(registry.wanted(layers=("model", "kitfile"))).bytes == 1200 + len(json.dumps(KITFILE))


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_layers_are_told_apart_because_their_files_are_larger(registry, compression):
    digest = registry.push("v1", [(f"{KIT}.model.v1.tar+{compression}", 1000)])
    assert ask(registry.wanted()) == Size(1000, digest=digest, packed=True)


def test_a_modelpack_is_the_sum_of_weights_and_their_configuration(registry):
    layers = [
        (f"{PACK}.weight.v1.raw", 1000),
        (f"{PACK}.weight.config.v1.raw", 200),
        (f"{PACK}.doc.v1.tar", 30),
        (f"{PACK}.dataset.v1.tar+gzip", 4),
        (f"{PACK}.code.v1.raw", 5),
    ]
    digest = registry.push(
        "v1", layers, config="application/vnd.oci.empty.v1+json", artifactType=f"{PACK}.manifest.v1+json"
    )
    assert ask(registry.wanted()) == Size(1200, digest=digest)
    assert ask(registry.wanted(layers=("docs", "code"))) == Size(35, digest=digest)


def test_a_modelkit_is_asked_for_by_digest(registry):
    digest = registry.push("v1", LAYERS)
    assert ask(registry.wanted(f"@{digest}")) == Size(1200, digest=digest)


def test_a_model_that_is_another_modelkit_counts_with_its_model_only(registry):
    parent = f"{registry.server.host}/org/kit:base"
    registry.push("base", [*LAYERS, (f"{KIT}.model.v1.tar+gzip", 50_000)])
    layers = [(f"{KIT}.modelpart.v1.tar", 7), (f"{KIT}.code.v1.tar", 2)]
    digest = registry.push("v1", layers, kitfile={"model": {"path": parent}})
    assert ask(registry.wanted(layers=("model", "code"))) == Size(51_209, digest=digest, packed=True)
    assert ask(registry.wanted(layers=("code",))) == Size(2, digest=digest)


def test_modelkits_that_refer_to_one_another_in_a_circle_are_a_mistake(registry):
    registry.push("v1", LAYERS, kitfile={"model": {"path": f"{registry.server.host}/org/kit:v1"}})
    found = ask(registry.wanted())
    assert isinstance(found, Unusable)
    assert "does not lead to a model" in found.what


def test_a_chain_of_modelkits_ends_where_kit_ends_it(registry):
    for step in range(12):
        parent = {"model": {"path": f"{registry.server.host}/org/kit:v{step + 1}"}} if step < 11 else KITFILE
        registry.push(f"v{step}", [(f"{KIT}.model.v1.tar", 10)], kitfile=parent)
    assert ask(registry.wanted(":v1")).bytes == 110
    assert isinstance(ask(registry.wanted(":v0")), Unusable)


def test_a_parent_that_has_no_full_name_is_unknown_and_not_left_out(registry):
    registry.push("v1", LAYERS, kitfile={"model": {"path": "base:v1"}})
    assert isinstance(ask(registry.wanted()), Unknown)


def test_a_filter_that_takes_nothing_is_a_mistake_and_not_0_bytes(registry):
    registry.push("v1", [(f"{KIT}.model.v1.tar", 1000)])
    found = ask(registry.wanted(layers=("code",)))
    assert isinstance(found, Unusable)
    assert found.field == "filter"


def test_an_index_is_refused(registry):
    registry.push("v1", LAYERS, mediaType="application/vnd.oci.image.index.v1+json", manifests=[])
    found = ask(registry.wanted())
    assert isinstance(found, Unusable)
    assert "index" in found.what


def test_a_container_image_is_no_modelkit(registry):
    registry.push("v1", LAYERS, config="application/vnd.oci.image.config.v1+json")
    found = ask(registry.wanted())
    assert isinstance(found, Unusable)
    assert "no ModelKit" in found.what


def test_a_manifest_that_is_not_what_its_digest_says_is_an_error(registry):
    digest = registry.push("v1", LAYERS)
    base, other = "/v2/org/kit/manifests", f"sha256:{'0' * 64}"
    status, headers, body = registry.paths[f"{base}/v1"]
    registry.paths[f"{base}/v1"] = (status, headers | {"Docker-Content-Digest": other}, body)
    registry.paths[f"{base}/{other}"] = (status, headers, body)
    for version in (":v1", f"@{other}"):
        found = ask(registry.wanted(version))
        assert isinstance(found, Unusable)
        assert digest in found.what
        assert other in found.remedy


def test_a_kitfile_that_is_not_what_its_digest_says_is_an_error(registry):
    registry.push("v1", LAYERS)
    path = next(candidate for candidate in registry.paths if "/blobs/" in candidate)
    registry.paths[path] = (200, {}, b"{}")
    assert isinstance(ask(registry.wanted()), Unusable)


def test_half_a_manifest_is_unknown_and_no_wrong_digest(registry):
    registry.push("v1", LAYERS)
    path = "/v2/org/kit/manifests/v1"
    status, headers, body = registry.paths[path]
    registry.paths[path] = (status, headers | {"Content-Length": str(len(body))}, body[:50])
    assert isinstance(ask(registry.wanted()), Unknown)


def test_an_absent_modelkit_is_a_mistake_unless_it_may_be_hidden(registry):
    found = ask(registry.wanted(":v2"))
    assert isinstance(found, Unusable)
    assert found.what == f"is not in its registry ({registry.server.host}/org/kit:v2)"
    assert isinstance(ask(registry.wanted(":v2", private=True)), Unknown)


def test_a_public_modelkit_is_read_with_an_anonymous_token(registry):
    digest = registry.push("v1", LAYERS)
    registry.token = "for-anybody"
    assert ask(registry.wanted()) == Size(1200, digest=digest)
    path, authorization = next(request for request in registry.server.seen if request[0].startswith("/token"))
    assert path == "/token?service=registry&scope=repository%3Aorg%2Fkit%3Apull"
    assert authorization is None


def docker_config(tmp_path, content):
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "config.json").write_text(content)


@pytest.mark.parametrize("key", ["{host}", "http://{host}/v1/"])
@pytest.mark.parametrize(
    "entry", [{"auth": base64.b64encode(b"me:mine").decode()}, {"username": "me", "password": "mine"}]
)
def test_a_private_modelkit_is_read_with_docker_s_credentials(registry, tmp_path, key, entry):
    digest = registry.push("v1", LAYERS)
    registry.token, registry.password = "for-me", base64.b64encode(b"me:mine").decode()
    docker_config(tmp_path, json.dumps({"auths": {key.format(host=registry.server.host): entry}}))
    assert ask(registry.wanted()) == Size(1200, digest=digest)


def test_docker_hub_has_other_names_for_itself(registry, tmp_path, monkeypatch):
    digest = registry.push("v1", LAYERS)
    registry.token, registry.password = "for-me", base64.b64encode(b"me:mine").decode()
    monkeypatch.setattr(reader, "_ADDRESSES", {"docker.io": registry.server.host})
    docker_config(tmp_path, json.dumps({"auths": {"https://index.docker.io/v1/": {"auth": registry.password}}}))
    assert ask(Wanted("kit://docker.io/org/kit:v1", insecure=True)) == Size(1200, digest=digest)


def test_a_registry_with_basic_authentication_is_read(registry, tmp_path):
    digest = registry.push("v1", LAYERS)
    login = base64.b64encode(b"me:mine").decode()
    challenge = (401, {"WWW-Authenticate": 'Basic realm="here"'}, b"")
    registry.server.answer = lambda path, given: (
        registry.answer(path, given) if given == f"Basic {login}" else challenge
    )
    assert isinstance(ask(registry.wanted()), Unknown)
    docker_config(tmp_path, json.dumps({"auths": {registry.server.host: {"auth": login}}}))
    assert ask(registry.wanted()) == Size(1200, digest=digest)


def test_a_refused_login_is_unknown_and_names_no_credential(registry, tmp_path):
    registry.push("v1", LAYERS)
    registry.token, registry.password = "for-me", "right"
    docker_config(tmp_path, json.dumps({"auths": {registry.server.host: {"auth": "wrong"}}}))
    found = ask(registry.wanted())
    assert isinstance(found, Unknown)
    assert "pods may have other rights" in found.reason
    assert "wrong" not in found.reason


def test_a_broken_docker_configuration_is_unknown_and_not_anonymous(registry, tmp_path):
    registry.push("v1", LAYERS)
    docker_config(tmp_path, "{")
    assert isinstance(ask(registry.wanted()), Unknown)
    assert registry.server.seen == []


def test_a_login_does_not_follow_a_redirect(registry, tmp_path):
    digest = registry.push("v1", LAYERS)
    store, blob = serve(), next(candidate for candidate in registry.paths if "/blobs/" in candidate)
    store.answer, content = lambda *_: content, registry.paths[blob]
    registry.paths[blob] = (307, {"Location": f"{store.url}/blob"}, b"")
    registry.token = "for-anybody"
    assert ask(registry.wanted()) == Size(1200, digest=digest)
    assert store.seen == [("/blob", None)]
    store.shutdown()
    store.server_close()


def test_credentials_are_not_sent_to_a_plain_address_of_a_secure_registry(registry):
    given = f'Bearer realm="{registry.server.url}/token"'
    repository = reader._Repository(f"{registry.server.host}/org/kit:v1", Wanted("kit://x/y:z"), transport())
    with pytest.raises(reader._UnknownSizeError, match="denied"):
        repository._authorize(given)
    assert registry.server.seen == []


@pytest.fixture
def login(registry, tmp_path):
    """Log in at a private registry, which is a name that leads to this machine, too."""
    registry.push("v1", LAYERS)
    registry.token, registry.password = "for-me", base64.b64encode(b"me:mine").decode()
    port = registry.server.server_port
    keys = (registry.server.host, f"registry.example:{port}")
    docker_config(tmp_path, json.dumps({"auths": {key: {"auth": registry.password} for key in keys}}))
    return registry


def test_credentials_are_not_sent_by_plain_http_although_the_configuration_allows_it(login, monkeypatch):
    """See defects H5."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *more, **options: resolve("127.0.0.1", *more, **options))
    found = ask(Wanted(f"kit://registry.example:{login.server.server_port}/org/kit:v1", insecure=True))
    assert isinstance(found, Unknown)
    assert {header for _, header in login.server.seen} == {None}


def test_a_registry_without_a_certificate_names_no_other_server_for_its_credentials(login):
    """See defects H5. The other server is still asked for the token of anybody."""
    other = serve()
    other.answer = lambda *_: (200, {}, json.dumps({"token": "of-anybody"}).encode())
    challenge = (401, {"WWW-Authenticate": f'Bearer realm="{other.url}/token",service="registry"'}, b"")
    login.server.answer = lambda *_: challenge
    assert isinstance(ask(login.wanted()), Unknown)
    assert [header for _, header in other.seen] == [None]
    other.shutdown()
    other.server_close()


@pytest.mark.parametrize("kind", ["Basic realm=", "Bearer service=x,realm="])
def test_a_server_to_which_a_registry_leads_gets_no_credentials(login, kind):
    """See defects H5. Whoever stores layers of a registry is not the registry."""
    store = serve()
    store.answer = lambda *_: (401, {"WWW-Authenticate": f'{kind}"{login.server.url}/token"'}, b"")
    login.server.answer = lambda *_: (307, {"Location": f"{store.url}/manifest"}, b"")
    found = ask(login.wanted())
    assert isinstance(found, Unknown)
    assert {header for _, header in (*store.seen, *login.server.seen)} == {None}
    store.shutdown()
    store.server_close()


@pytest.mark.parametrize(
    ("registry", "realm", "expected"),
    [
        ("registry.example", "https://auth.registry.example/token", True),
        ("registry.example", "https://gitlab.example/jwt/auth", True),
        ("registry.example", "http://registry.example/token", False),
        ("registry.example", "http://auth.example/token", False),
        ("127.0.0.1:5000", "https://127.0.0.1:5000/token", True),
    ],
)
def test_a_registry_with_a_certificate_names_the_server_of_its_tokens(registry, realm, expected):
    """See defects H5."""
    repository = reader._Repository(f"{registry}/org/kit:v1", Wanted("kit://x/y:z"), transport())
    assert repository._trusts(realm) is expected


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        ({}, b"", Unknown),
        ({}, b"[]", Unknown),
        ({}, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}', Unusable),
        ({"Docker-Distribution-Api-Version": "registry/2.0"}, b"", Unusable),
    ],
)
def test_the_404_of_a_private_server_is_an_answer_only_if_it_is_a_registrys(unknown_server, headers, body, kind):
    """See defects H5."""
    unknown_server.answer = lambda *_: (404, headers, body)
    assert isinstance(ask(Wanted(f"kit://{unknown_server.host}/org/kit:v1", insecure=True)), kind)


def test_plain_http_is_spoken_only_where_it_is_wanted(registry):
    registry.push("v1", LAYERS)
    found = ask(Wanted(registry.wanted().source))
    assert isinstance(found, Unknown)
    assert registry.server.seen == []


def test_a_failing_registry_is_asked_twice_and_unknown(registry):
    registry.paths["/v2/org/kit/manifests/v1"] = (502, {}, b"")
    found = ask(registry.wanted())
    assert isinstance(found, Unknown)
    assert found.reason.endswith("the registry answered 502")
    assert len(registry.server.seen) == 2


def test_an_endless_answer_is_not_read(registry, monkeypatch):
    registry.push("v1", LAYERS)
    monkeypatch.setattr(reader, "_LARGEST", 100)
    found = ask(registry.wanted())
    assert isinstance(found, Unknown)
    assert "longer than 100 bytes" in found.reason


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"config": 1}'])
def test_an_answer_that_is_no_manifest_is_unknown(registry, body):
    registry.paths["/v2/org/kit/manifests/v1"] = (200, {}, body)
    assert isinstance(ask(registry.wanted()), Unknown)


def test_an_image_is_told_with_its_digest_and_an_absent_one_is_a_mistake(registry):
    digest = registry.push("v1", LAYERS)
    image = f"image://{registry.server.host}/{registry.repository}"
    found = reader.content(Wanted(f"{image}:v1", insecure=True), transport())
    assert (found.source, found.bytes, found.origin) == (f"{image}@{digest}", None, registry.server.host)
    assert isinstance(reader.content(Wanted(f"{image}:v2", insecure=True), transport()), Unusable)
    assert isinstance(reader.content(Wanted(f"{image}:v2", insecure=True, private=True), transport()), Unknown)
