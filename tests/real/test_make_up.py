"""The newcomer's two commands on a fresh clone: only tools come from the cache that this run already filled."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local.tools import cache_directory
from tests.support import sample
from tests.support.cluster.deployments import ROOT

pytestmark = pytest.mark.real
UNWANTED = {"go", "pulumi"}
OTHERS = ("PULUMI", "KUBE", "PYTEST", "MAKE", "MFLAGS")
"""Beginnings of variables that a test run sets, or its Make: a Make below another one prints its directory."""
OURS = {".kube", ".pulumi"}
"""Folders of a user's home that Kubernetes' and Pulumi's own tools would write to."""


@pytest.fixture
def clone(tools, tmp_path):
    """Return a fresh clone, and the environment of somebody who has neither Go nor Pulumi, but files of their own."""
    home = tmp_path / "home"
    for name, text in (
        (".pulumi/credentials.json", '{"current": "https://example.com"}'),
        (".kube/config", "kind: Config"),
    ):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, encoding="utf-8")
    checkout = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
    folders = [Path(sys.executable).resolve().parent, *map(Path, os.environ["PATH"].split(os.pathsep))]
    fitting = [str(folder) for folder in folders if not any((folder / name).exists() for name in UNWANTED)]
    others = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    own = {"HOME": str(home), "PATH": os.pathsep.join(fitting), "INFERENCE_STACKS_CACHE": str(cache_directory())}
    yield checkout, others | own, home
    subprocess.run(["make", "down"], cwd=checkout, env=others | own, check=False, capture_output=True)


def run(command, clone):
    checkout, environment, _ = clone
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False, timeout=500
    )


def of(folder):
    """Return the checksum of every file below a folder that somebody else could have written."""
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def processes_of(checkout):
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(checkout / ".state").encode() in command.read_bytes():
                found.append(command.parent.name)
        except OSError:
            continue
    return found


def test_make_up_on_a_fresh_clone_deploys_and_make_down_leaves_nothing(clone):
    """See defects C19."""
    checkout, _, home = clone
    before = of(home)
    assert shutil.which("go", path=clone[1]["PATH"]) is None
    done = run(["make", "up"], clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(sample.differences(sample.written(), done.stdout)) == []
    shell = 'eval "$(python3 -m local env)" && '
    for command in (
        "kubectl wait --for=condition=Available deployment/qwen-decode -n models --timeout=10s",
        "kubectl get inferencepool/qwen httproute/qwen -n models",
        "pulumi preview --refresh --expect-no-changes --non-interactive",
    ):
        found = run(["bash", "-c", shell + command], clone)
        assert found.returncode == 0, found.stdout + found.stderr
    node = run(["bash", "-c", shell + "kubectl get pods -n models -l llm-d.ai/role=decode -o wide"], clone)
    assert "gpu-" in node.stdout
    again = run(["bash", "-c", shell + "make up"], clone)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "20 unchanged" in again.stdout
    assert run(["git", "status", "--porcelain"], clone).stdout == ""
    assert processes_of(checkout)
    assert run(["make", "down"], clone).returncode == 0
    assert processes_of(checkout) == []
    assert not (checkout / ".state").exists()
    assert {path: digest for path, digest in of(home).items() if path.relative_to(home).parts[0] in OURS} == before


@pytest.mark.timeout(1800)
def test_make_up_that_is_killed_again_and_again_finishes_in_the_end(clone):
    checkout, environment, _ = clone
    for moment in (
        (checkout / ".venv" / "bin").exists,
        (checkout / ".state" / "cluster").exists,
        lambda: list((checkout / ".state").glob("engine/backend/.pulumi/locks/**/*.json")),
    ):
        child = subprocess.Popen(
            ["make", "up"], cwd=checkout, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 400
        while not moment():
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    done = run(["make", "up"], clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^models +qwen-decode +1/1", done.stdout, re.MULTILINE)
