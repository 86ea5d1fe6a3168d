"""Nobody's credentials, a real S3 server and HTTP servers for tests that ask sources of weights."""

import os
from functools import cache

import pytest

from facts import hosts
from tests.support.traffic.registries import Registry
from tests.support.traffic.weight_servers import serve


@pytest.fixture
def nobody(monkeypatch, tmp_path):
    """Run as somebody without credentials, who is on no cloud's machine."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "HF_ENDPOINT", hosts.OFFLINE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def credentials(nobody, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-somebody")


@pytest.fixture(scope="session")
def files_of_clients():
    """Share what boto reads of its own files: each question has a session of its own, as each run of the program."""
    from botocore.loaders import JSONFileLoader, Loader  # noqa: PLC0415, few modules need it

    read = cache(JSONFileLoader().load_file)
    services = cache(Loader().list_available_services)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _loader, path: read(path))
        patch.setattr(Loader, "list_available_services", lambda _loader, type_name: [*services(type_name)])
        yield


@pytest.fixture(scope="module")
def moto(files_of_clients):
    from moto.server import ThreadedMotoServer  # noqa: PLC0415, few modules need it, and it takes long to import

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def bucket(moto):
    """Make a bucket with one prefix that is the beginning of another's name."""
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
        put(moto, key, b"x" * length)
    return "models"


def put(moto, key, body):
    """Write an object into the bucket."""
    owner = _owner(moto)
    owner.create_bucket(Bucket="models")
    owner.put_object(Bucket="models", Key=key, Body=body)


@cache
def _owner(moto):
    """Return a client of the bucket's owner."""
    from boto3 import Session  # noqa: PLC0415, as above
    from botocore.config import Config  # noqa: PLC0415

    session = Session(aws_access_key_id="owner", aws_secret_access_key="of-owner")
    return session.client("s3", endpoint_url=moto, region_name="us-east-1", config=Config(proxies={}))


@pytest.fixture
def unknown_server():
    """Return a server that the environment does not name."""
    server = serve()
    yield server
    if server.hang is not None:
        server.hang.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def server(unknown_server, monkeypatch):
    """Return a server that the environment trusts."""
    trust(monkeypatch, unknown_server.url)
    return unknown_server


def trust(monkeypatch, url):
    """Add a server to those that the environment trusts."""
    monkeypatch.setenv(hosts.TRUSTED, f"{url},{os.environ.get(hosts.TRUSTED, '')}")


@pytest.fixture
def registry(server):
    return Registry(server)
