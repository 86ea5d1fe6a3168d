"""Credentials of nobody for tests that ask sources, and kubeconfigs beside certificates."""

import os

import pytest
import yaml

from facts import cluster, reading
from facts.kubeconfig import KubeAccess
from tests.support.cluster import certificates, loopback
from tests.support.cluster.kubeconfigs import DISCOVERY


@pytest.fixture(autouse=True)
def _nobody(nobody, files_of_clients):
    """Run as somebody without credentials, who is on no cloud's machine."""


@pytest.fixture
def patience(monkeypatch):
    """Wait for an answer however busy the machine is, and repeat a read at once."""
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(cluster, "_DEADLINE_SECONDS", 300)


@pytest.fixture(scope="session")
def pems(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def api(pems):
    with loopback.serve(DISCOVERY, tls=pems.server_context()) as server:
        yield server


@pytest.fixture
def write_kubeconfig(monkeypatch, pems):
    """Write kubeconfigs beside the certificates, and name them in KUBECONFIG."""

    def write(*contents, context=None):
        paths = [pems.folder / f"config-{number}" for number, _ in enumerate(contents)]
        for path, content in zip(paths, contents, strict=True):
            path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, paths)))
        return KubeAccess(None, context)

    return write


@pytest.fixture
def project(tmp_path):
    """Make a repository with a program in a folder, and a file with a secret outside of the repository."""
    program = tmp_path / "repository" / "program"
    program.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "repository" / "shared.yaml").write_text("labels: {a: b}\n")
    (tmp_path / "outside.yaml").write_text("labels: {a: topsecret value}\n")
    return program
