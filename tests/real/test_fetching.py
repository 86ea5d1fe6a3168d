"""The container that fetches a locked S3 prefix: its command, run with the real downloader against a real S3 server.

The image's entrypoint is a script that calls the downloader as the image's does; its module is that of the release.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import planning
from facts.source_sizes import contents
from manifests.assembly import objects, render
from models.load import load
from models.lock import Lock
from models.paths import Path as ConfigPath
from models.pins import Pin
from planning.weights import locks
from planning.weights.sizes import Wanted
from tests.support.stacks import NAME, find, tree
from tests.support.traffic.sources import put

pytestmark = pytest.mark.real

SOURCE = "s3://models/llama"
MODEL = ConfigPath("services", "qwen", "model")
DOWNLOAD = """#!/usr/bin/env python3
import sys

from kserve_storage import Storage

Storage.download_files(sys.argv[1::2], sys.argv[2::2])
"""
CHANGE = """
import boto3

boto3.client("s3", aws_access_key_id="owner", aws_secret_access_key="of-owner").put_object(
    Bucket="models", Key="llama/config.json", Body=b"changed"
)
"""
FAILURE = "#!/bin/sh\nexit 3\n"


class Fetching:
    """The init container of a pod, and a machine that has what its image has."""

    def __init__(self, moto, tools, folder):
        self.moto = moto
        self.folder = folder
        self.weights = folder / "weights"
        self.modules = tools["kserve-storage"].path
        self.entrypoint = folder / "entrypoint"

    def digest(self):
        question = Wanted(SOURCE, self.moto, "us-east-1")
        return contents([question])[question].digest

    def container(self, digest):
        """Return the container as it is rendered with a lock; without one if there is no digest."""
        model = {"name": "org/m", "source": SOURCE, "endpoint": self.moto, "region": "us-east-1", "secrets": ["keys"]}
        fields = {"was": SOURCE, "source": SOURCE, "digest": digest, "asked": "2026-11-22T05:00:00Z", "from": "moto"}
        pins = {} if digest is None else {MODEL: Pin.model_validate(fields | {"settings": {"endpoint": self.moto}})}
        loaded = locks.apply(load(tree(qwen={"model": model})), Lock(str(NAME), pins), NAME.stack).loaded
        manifests = [each.manifest for each in objects(render(planning.plan(loaded, NAME)))]
        (container,) = find(manifests, "Deployment", "qwen-decode")["spec"]["template"]["spec"]["initContainers"]
        return container

    def run(self, digest, entrypoint=DOWNLOAD):
        """Run the container."""
        self.entrypoint.write_text(entrypoint, encoding="utf-8")
        self.entrypoint.chmod(0o755)
        container = self.container(digest)
        source, _ = container["args"]
        command = [*container.get("command", [None])[:-1], self.entrypoint, source, self.weights]
        variables = {each["name"]: each.get("value", "of-the-secret") for each in container["env"]} | {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "PYTHONPATH": str(self.modules),
            # A tool whose folder has other files than when it was built is built again.
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_PROXY": "127.0.0.1",
        }
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=300)

    def fetched(self):
        return sorted(str(path.relative_to(self.weights)) for path in self.weights.rglob("*") if path.is_file())


@pytest.fixture
def fetching(moto, bucket, credentials, tools, tmp_path):
    put(moto, "llama/config.json", b"x" * 10)
    return Fetching(moto, tools, tmp_path)


def test_what_is_fetched_is_what_the_lock_has(fetching):
    done = fetching.run(fetching.digest())
    assert done.returncode == 0, done.stderr
    assert fetching.fetched() == ["config.json", "original/part-1", "original/part-2"]


def test_an_object_that_changed_fails_the_fetch_which_nothing_else_does(fetching):
    """Without the lock, the same container fetches what is there."""
    locked = fetching.digest()
    put(fetching.moto, "llama/config.json", b"y" * 10)
    done = fetching.run(locked)
    message = f"{SOURCE}/ is not what the lock of the stack has: its listing is {fetching.digest()}, and not {locked}"
    assert (done.returncode, done.stderr.splitlines()[-1], fetching.fetched()) == (1, message, [])
    assert fetching.run(None).returncode == 0
    assert "config.json" in fetching.fetched()


def test_an_object_that_changes_during_the_fetch_fails_it(fetching):
    done = fetching.run(fetching.digest(), DOWNLOAD + CHANGE)
    assert done.returncode == 1
    assert "is not what the lock of the stack has" in done.stderr
    assert "config.json" in fetching.fetched()


def test_a_fetch_that_fails_fails_with_its_exit_code(fetching):
    assert fetching.run(fetching.digest(), FAILURE).returncode == 3
