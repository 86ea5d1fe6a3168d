"""Servers that the program asks when the real engine runs it, and the identities that they see."""

import json

import pytest

from facts import hosts
from tests.support.cluster.deployments import ROOT, in_namespace, told
from tests.support.traffic import world
from tests.support.traffic.world import BUCKET, IDENTITY, MODELS

pytestmark = pytest.mark.real

WATCH = """
import json
import os

from tests.support.traffic.watched import Watch


def note(server):
    with open(os.environ["WATCH_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{server}\\n")


Watch(json.loads(os.environ["WATCH_PORTS"]), note).install()
"""
"""Module that Python imports when it starts."""
ASKED = {
    BUCKET: {"AWS identity", "AWS session token"},
    "minio.acme.example": {"AWS identity", "AWS session token"},
    "minio.example": {"nobody"},
    "registry.acme.example": {"nobody", "token that Docker's credentials got"},
    "tokens.acme.example": {"Docker's credentials"},
    "registry.example": {"nobody", "token that anybody gets"},
    "tokens.example": {"nobody"},
    "layers.example": {"nobody"},
}


@pytest.fixture(scope="session")
def packages(plain_python):
    """Let the program be started as a user's is, with an interpreter of its own."""
    return plain_python


@pytest.fixture
def servers(tmp_path):
    with world.serve(tmp_path) as found:
        yield found


def stack(*keys):
    """Return a stack with dedicated claims of some models."""
    services = {key: {"model": {"name": f"org/{key}", **MODELS[key]}, "storage": {"type": "dedicated"}} for key in keys}
    return in_namespace("hosts", **services) | {"checks": {"preflight": "warn", "fit": "skip"}}


def test_a_preview_asks_these_servers_alone_and_offline_none(deploy, servers, tmp_path):
    """See defects H5. The API server of the cluster is on loopback, as is the engine."""
    deployment = deploy(stack("aws", "ours", "theirs", "kit", "public", "hub", "mirror", "strange"))
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    log = tmp_path / "log"
    deployment.engine._extra |= {
        **world.files(tmp_path, servers.authority),
        **IDENTITY,
        "PYTHONPATH": f"{tmp_path / 'watch'}:{ROOT}",
        "WATCH_PORTS": json.dumps(servers.ports),
        "WATCH_LOG": str(log),
    }
    done = deployment.preview()
    assert done.returncode == 0, told(done)
    assert {*log.read_text(encoding="utf-8").split()} == {*ASKED}
    assert servers.seen == ASKED
    log.unlink()
    servers.seen.clear()
    deployment.engine._extra |= {hosts.OFFLINE: "true"}
    done = deployment.preview()
    assert "s3://models/llama was checked: this run is offline" in told(done)
    assert (log.exists(), servers.seen) == (False, {})
