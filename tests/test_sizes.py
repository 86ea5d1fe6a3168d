"""Sizes of weights: a real S3 server and HTTP registries on loopback, and no failed read taken for "0 bytes"."""

import base64
import contextlib
import hashlib
import http.server
import json
import subprocess
import sys
import threading

import boto3
import pytest
from botocore.config import Config
from moto.server import ThreadedMotoServer

from facts import registry as reader
from facts import s3
from facts.sizes import asked, sizes
from manifests.stack import objects, render
from models.load import load
from models.problems import ConfigError
from planning import stack as planning
from planning.facts import Unknown
from planning.sizes import Size, Unusable, Wanted, questions

ANSWERS_SOON = 10
"""Seconds within which a server on loopback answers, however busy the machine is."""


@pytest.fixture(autouse=True)
def _nobody(monkeypatch, tmp_path):
    """Run as somebody without credentials, who is on no cloud's machine."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def credentials(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-somebody")


def ask(wanted, deadline=ANSWERS_SOON):
    return sizes([wanted], deadline)[wanted]


@pytest.fixture(scope="module")
def moto():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def bucket(moto):
    """Make a bucket with one prefix that is the beginning of another's name."""
    session = boto3.Session(aws_access_key_id="owner", aws_secret_access_key="of-owner")
    client = session.client("s3", endpoint_url=moto, region_name="us-east-1", config=Config(proxies={}))
    client.create_bucket(Bucket="models")
    for key, length in {
        "llama/config.json": 10,
        "llama/original/part-1": 200,
        "llama/original/part-2": 3000,
        "llama/original/": 7,
        "llama/.keep": 0,
        "llama-70b/weights": 50_000,
        "packed/model.tar.gz": 40,
        "beside/model.tar.gz": 40,
        "beside/config.json": 2,
        "hollow/.keep": 0,
    }.items():
        client.put_object(Bucket="models", Key=key, Body=b"x" * length)
    return "models"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers what the test put under the path; the query does not count."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        if self.server.hang is not None:
            self.server.hang.wait(30)
        status, headers, body = self.server.answer(self.path.partition("?")[0], self.headers.get("Authorization"))
        self.close_connection = True
        with contextlib.suppress(ConnectionError):  # who asked may have gone
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def serve():
    one = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.seen, one.hang, one.answer = [], None, lambda *_: (404, {}, b"")
    one.host = f"127.0.0.1:{one.server_port}"
    one.url = f"http://{one.host}"
    threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
    return one


@pytest.fixture
def server():
    one = serve()
    yield one
    if one.hang is not None:
        one.hang.set()
    one.shutdown()
    one.server_close()


def s3_error(code, **more):
    fields = "".join(f"<{name}>{value}</{name}>" for name, value in ({"Code": code, "Message": "no"} | more).items())
    return f"<Error>{fields}</Error>".encode()


@pytest.mark.parametrize("source", ["s3://models/llama", "s3://models/llama/"])
def test_a_prefix_is_the_sum_of_its_files_and_not_of_a_longer_name(moto, bucket, source):
    assert ask(Wanted(source, endpoint=moto)) == Size(3210, digest=None)


def test_every_page_of_a_listing_counts(moto, bucket, monkeypatch):
    monkeypatch.setattr(s3, "_PAGE", 2)
    assert ask(Wanted("s3://models/llama", endpoint=moto)) == Size(3210, digest=None)


def test_an_archive_alone_under_a_prefix_is_unpacked_to_more(moto, bucket):
    assert ask(Wanted("s3://models/packed", endpoint=moto)) == Size(40, digest=None, packed=True)
    assert ask(Wanted("s3://models/beside", endpoint=moto)) == Size(42, digest=None)


@pytest.mark.parametrize("prefix", ["lla", "hollow", "llama/config.json"])
def test_a_prefix_without_content_is_a_mistake_and_not_0_bytes(moto, bucket, prefix):
    found = ask(Wanted(f"s3://models/{prefix}", endpoint=moto))
    assert isinstance(found, Unusable)
    assert (found.field, found.what) == ("source", f"holds no objects with content (s3://models/{prefix})")


def test_a_bucket_that_does_not_exist_is_a_mistake(moto):
    found = ask(Wanted("s3://nowhere/llama", endpoint=moto))
    assert isinstance(found, Unusable)
    assert found.what == "is in a bucket that does not exist (nowhere)"


def test_a_region_that_is_not_the_buckets_is_a_mistake_with_the_right_one(server, credentials):
    body = s3_error("AuthorizationHeaderMalformed", Region="eu-north-1")
    server.answer = lambda *_: (400, {"Content-Type": "application/xml"}, body)
    found = ask(Wanted("s3://models/llama", endpoint=server.url, region="eu-west-1"))
    assert found == Unusable("region", "is not that of the bucket (eu-west-1)", "write eu-north-1")


@pytest.mark.parametrize(("status", "code"), [(403, "AccessDenied"), (401, "Unauthorized"), (400, "ExpiredToken")])
def test_denied_access_is_unknown_because_the_pods_may_have_it(server, credentials, status, code):
    server.answer = lambda *_: (status, {"Content-Type": "application/xml"}, s3_error(code))
    found = ask(Wanted("s3://models/llama", endpoint=server.url))
    assert found == Unknown(
        "neither size nor existence of s3://models/llama was checked: "
        f"access was denied to whoever runs this ({code}); the pods may have other rights"
    )


def test_the_ambient_credentials_sign_for_the_wanted_region(server, credentials):
    server.answer = lambda *_: (403, {}, s3_error("AccessDenied"))
    ask(Wanted("s3://models/llama", endpoint=server.url, region="eu-west-1"))
    assert all("Credential=somebody/" in header and "/eu-west-1/s3/" in header for _, header in server.seen)
    assert server.seen


def test_without_credentials_the_request_is_anonymous(server):
    server.answer = lambda *_: (403, {}, s3_error("AccessDenied"))
    ask(Wanted("s3://models/llama", endpoint=server.url))
    assert {header for _, header in server.seen} == {None}


def test_an_ambient_endpoint_is_not_the_pods(server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert "amazonaws.com" in s3.Clients(1).client(Wanted("s3://models/llama")).meta.endpoint_url


def test_a_failing_endpoint_is_asked_twice_and_unknown(server, credentials):
    server.answer = lambda *_: (503, {}, s3_error("SlowDown"))
    found = ask(Wanted("s3://models/llama", endpoint=server.url))
    assert isinstance(found, Unknown)
    assert found.reason.endswith("the endpoint answered SlowDown")
    assert len(server.seen) == 2


@pytest.mark.parametrize("body", [b"", b"<ListBucketResult></ListBucketResult>", b"<html>hello"])
def test_an_answer_that_is_no_listing_is_unknown_and_not_empty(server, body):
    server.answer = lambda *_: (200, {"Content-Type": "text/html"}, body)
    assert isinstance(ask(Wanted("s3://models/llama", endpoint=server.url)), Unknown)


@pytest.mark.parametrize("source", ["s3://models/llama", "kit://{host}/org/kit:v1"])
def test_a_closed_port_is_unknown(source):
    one = serve()
    one.shutdown()
    one.server_close()
    found = ask(Wanted(source.format(host=one.host), endpoint=one.url, insecure=True))
    assert isinstance(found, Unknown)
    assert "could not be reached or read" in found.reason


@pytest.mark.parametrize("source", ["s3://models/llama", "kit://{host}/org/kit:v1"])
def test_a_silent_server_is_unknown_after_the_deadline(server, source):
    server.hang = threading.Event()
    silent = Wanted(source.format(host=server.host), endpoint=server.url, insecure=True)
    assert ask(silent, deadline=0.3) == silent.unchecked("there was no answer within 0.3 seconds")


def test_sources_are_asked_at_the_same_time(server):
    """One server waits until the other is asked."""
    other, server.hang = serve(), threading.Event()
    other.answer = lambda *_: server.hang.set() or (503, {}, b"")
    wanted = [Wanted(f"kit://{one.host}/org/kit:v1", insecure=True) for one in (server, other)]
    absent, failing = sizes(wanted, ANSWERS_SOON).values()
    assert isinstance(absent, Unusable)
    assert isinstance(failing, Unknown)
    other.shutdown()
    other.server_close()


def test_a_source_is_asked_once_however_often_it_is_wanted(server):
    server.answer = lambda *_: (403, {}, s3_error("AccessDenied"))
    one = Wanted("s3://models/llama", endpoint=server.url)
    assert list(sizes([one, Wanted("s3://models/llama", endpoint=server.url), one], ANSWERS_SOON)) == [one]
    assert len(server.seen) == 1


@pytest.mark.parametrize("source", ["hf://org/name", "pvc://claim/path", "image://registry.example/image:v1"])
def test_other_sources_are_not_asked(source):
    wanted = Wanted(source)
    assert ask(wanted) == wanted.unchecked("only s3:// and kit:// are asked")


def test_clients_are_imported_by_the_first_question_only():
    code = "import sys, facts.sizes; print([one for one in ('boto3', 'botocore', 'urllib3') if one in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


KIT = "application/vnd.kitops.modelkit"
PACK = "application/vnd.cncf.model"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
KITFILE = {"manifestVersion": "1.0.0", "model": {"path": "./weights.safetensors"}}


def sha256(body):
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


class Registry:
    """What one repository answers: manifests by tag and digest, and blobs."""

    def __init__(self, server, repository="org/kit"):
        self.server, self.repository = server, repository
        self.paths, self.token, self.password = {}, None, None
        server.answer = self.answer

    def push(self, tag, layers, kitfile=KITFILE, config=f"{KIT}.config.v1+json", **more):
        blob = json.dumps(kitfile).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": config, "digest": sha256(blob), "size": len(blob)},
            "layers": [{"mediaType": kind, "digest": sha256(b"layer"), "size": size} for kind, size in layers],
        }
        body = json.dumps(manifest | more).encode()
        base = f"/v2/{self.repository}"
        answer = (200, {"Content-Type": MANIFEST, "Docker-Content-Digest": sha256(body)}, body)
        self.paths |= {f"{base}/manifests/{tag}": answer, f"{base}/manifests/{sha256(body)}": answer}
        self.paths[f"{base}/blobs/{sha256(blob)}"] = (200, {}, blob)
        return sha256(body)

    def answer(self, path, authorization):
        if path == "/token":
            denied = self.password is not None and authorization != f"Basic {self.password}"
            return (401, {}, b"") if denied else (200, {}, json.dumps({"token": self.token}).encode())
        if self.token is not None and authorization != f"Bearer {self.token}":
            realm = (
                f'Bearer realm="{self.server.url}/token",service="registry",scope="repository:{self.repository}:pull"'
            )
            return 401, {"WWW-Authenticate": realm}, b""
        return self.paths.get(path, (404, {}, b""))

    def wanted(self, version=":v1", **more):
        return Wanted(f"kit://{self.server.host}/{self.repository}{version}", insecure=True, **more)


@pytest.fixture
def registry(server):
    return Registry(server)


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
    assert "without end" in found.what


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
    path = next(one for one in registry.paths if "/blobs/" in one)
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
    path, authorization = next(one for one in registry.server.seen if one[0].startswith("/token"))
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
    store, blob = serve(), next(one for one in registry.paths if "/blobs/" in one)
    store.answer, content = lambda *_: content, registry.paths[blob]
    registry.paths[blob] = (307, {"Location": f"{store.url}/blob"}, b"")
    registry.token = "for-anybody"
    assert ask(registry.wanted()) == Size(1200, digest=digest)
    assert store.seen == [("/blob", None)]
    store.shutdown()
    store.server_close()


def test_credentials_are_not_sent_to_a_plain_address_of_a_secure_registry(registry):
    given = f'Bearer realm="{registry.server.url}/token"'
    repository = reader._Repository(f"{registry.server.host}/org/kit:v1", Wanted("kit://x/y:z"), 1)
    with pytest.raises(reader._RefusedError, match="denied"):
        repository._authorize(given)
    assert registry.server.seen == []


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


def claiming(moto, bucket, prefix, **storage):
    """Return a stack whose cache and whose dedicated claim hold weights of sizes that nobody wrote."""
    source = f"s3://{bucket}/{prefix}"
    cache = {"source": source, "fill": {"endpoint": moto, "region": "us-east-1"}}
    model = {"name": "org/model", "source": source, "endpoint": moto, "region": "us-east-1"}
    services = {
        "own": {"model": model, "accelerator": "nvidia", "storage": {"type": "dedicated", **storage}},
        "lent": {
            "model": {"name": "org/m"},
            "accelerator": "nvidia",
            "storage": {"type": "shared", "cache": "weights"},
        },
    }
    return {"namespace": "models", "services": services, "caches": {"weights": cache}}


def known(stack):
    return asked(load(stack), ANSWERS_SOON)


@pytest.mark.usefixtures("credentials")
def test_a_claim_is_as_large_as_its_source_says(moto, bucket):
    loaded, warnings = known(claiming(moto, bucket, "llama-70b"))
    assert warnings == []
    assert loaded.stack.caches["weights"].size == "50000"
    assert {key: service.model.size for key, service in loaded.stack.services.items()} == {
        "own": "50000",
        "lent": "50000",
    }
    claims = [
        one.manifest["spec"]["resources"]["requests"]["storage"]
        for one in objects(render(planning.plan(loaded)))
        if one.manifest["kind"] == "PersistentVolumeClaim"
    ]
    assert claims == ["1Gi", "1Gi"]


@pytest.mark.usefixtures("credentials")
def test_an_empty_prefix_is_a_mistake_of_each_that_claims_it(moto, bucket):
    loaded, _ = known(claiming(moto, bucket, "hollow"))
    with pytest.raises(ConfigError) as error:
        planning.plan(loaded)
    told = [problem.path for problem in error.value.problems]
    assert "caches.weights.source" in told
    assert "services.own.model.source" in told
    assert "0" not in str(error.value).replace("127.0.0.1", "")


@pytest.mark.usefixtures("credentials")
def test_a_written_size_asks_nobody(moto, bucket):
    stack = claiming(moto, bucket, "llama", size="5Gi")
    stack["caches"]["weights"]["size"] = "4Gi"
    assert questions(load(stack).stack) == {}


@pytest.mark.usefixtures("credentials")
def test_what_is_packed_or_unknown_warns_and_has_to_be_written(moto, bucket):
    for stack in (claiming(moto, bucket, "packed"), claiming("http://127.0.0.1:9", bucket, "llama")):
        loaded, warnings = known(stack)
        assert len(warnings) == 2
        assert all(warning.startswith(("caches.weights: ", "services.own.model: ")) for warning in warnings)
        with pytest.raises(ConfigError, match=r"size: is missing and was not told by s3://"):
            planning.plan(loaded)
