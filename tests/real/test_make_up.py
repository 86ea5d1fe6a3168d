"""The newcomer's three commands on a fresh clone: only tools come from the cache that this run already filled."""

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
import yaml

from local import processes
from local.tools import cache_directory
from models import lock
from models.paths import Path as ConfigPath
from models.pins import Pin
from tests.support import sample
from tests.support.cluster.deployments import ROOT

pytestmark = pytest.mark.real
UNWANTED = {"go", "pulumi", "llm-d-epp"}
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
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    changed = {"HOME": str(home), "PATH": os.pathsep.join(fitting), "INFERENCE_STACKS_CACHE": str(cache_directory())}
    yield checkout, inherited | changed, home
    clean_up(checkout, inherited | changed)


def clean_up(checkout, environment):
    """Take down what a checkout runs. End what is left nevertheless, such as after a `make up` that was not ended."""
    subprocess.run(["make", "down"], cwd=checkout, env=environment, check=False, capture_output=True)
    leftovers = (processes.Process.of(int(number)) for number in processes_of(checkout))
    processes.end(process for process in leftovers if process is not None)


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


def test_what_a_failed_run_leaves_is_ended(tmp_path):
    """See defects T2."""
    (tmp_path / "Makefile").write_text("down:\n\tfalse\n", encoding="utf-8")
    program = "import time; print('up', flush=True); time.sleep(600)"
    left = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / ".state" / "cluster")],
        stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert left.stdout.readline() == b"up\n"
    assert processes_of(tmp_path) == [str(left.pid)]
    clean_up(tmp_path, dict(os.environ))
    assert left.wait() == -signal.SIGTERM
    assert processes_of(tmp_path) == []


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
        "kubectl wait --for=condition=Available deployment/qwen-decode -n models --timeout=120s",
        "kubectl get inferencepool/qwen httproute/qwen -n models",
        "pulumi preview --refresh --expect-no-changes --non-interactive",
    ):
        found = run(["bash", "-c", shell + command], clone)
        assert found.returncode == 0, found.stdout + found.stderr
    node = run(["bash", "-c", shell + "kubectl get pods -n models -l llm-d.ai/role=decode -o wide"], clone)
    assert "gpu-" in node.stdout
    again = run(["bash", "-c", shell + "make up"], clone)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "19 unchanged" in again.stdout
    assert run(["git", "status", "--porcelain"], clone).stdout == ""
    assert processes_of(checkout)
    assert run(["make", "down"], clone).returncode == 0
    assert processes_of(checkout) == []
    assert not (checkout / ".state").exists()
    assert {path: digest for path, digest in of(home).items() if path.relative_to(home).parts[0] in OURS} == before


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_make_try_on_a_fresh_clone_answers_and_make_down_leaves_nothing(clone):
    checkout, _, _ = clone
    done = run(["make", "try"], clone)
    assert done.returncode == 0, done.stdout + done.stderr
    sample_of_try = sample.written(sample.TRY)
    printed = re.sub(r"(?s)^.*?(?=Trying a copy)", "", done.stdout)
    assert list(sample.differences(sample_of_try, re.sub(r"(?m)^.*control plane.*\n", "", printed))) == []
    assert len(sample_of_try.splitlines()) <= 20
    (command,) = re.findall(r"(?m)^\$ (curl .+)", done.stdout)
    for change, status in (("", "200"), ("/v1/other", "404")):
        line = command.replace("/v1/completions", change or "/v1/completions")
        found = run(["bash", "-c", f"{line} --silent --write-out '\n%{{http_code}}'"], clone)
        body, _, code = found.stdout.rpartition("\n")
        assert code == status, found.stdout + found.stderr
        assert ('"Qwen/Qwen3-0.6B"' in body) == (status == "200")
    again = run(["make", "try"], clone)
    assert again.returncode == 0, again.stdout + again.stderr
    assert command in again.stdout
    assert processes_of(checkout)
    assert run(["make", "down"], clone).returncode == 0
    assert processes_of(checkout) == []
    assert not (checkout / ".state").exists()
    assert run(["bash", "-c", f"{command} --silent"], clone).returncode != 0


def write_lock(checkout):
    """Write a lock of the stack in a clone, and return what its pods are to fetch.

    The stack file names no commit, and the lock has one that no hub would answer, so that its effect is seen.
    """
    file = checkout / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    written = yaml.safe_load(text)["config"]["inference-stacks:stack"]["services"]["qwen"]["model"]["source"]
    name = written.partition("@")[0]
    commit = "c1" * 20
    file.write_text(text.replace(written, name), encoding="utf-8")
    values = {"was": name, "source": f"{name}@{commit}", "asked": "2026-11-22T05:00:00Z", "from": "nobody"}
    pins = {ConfigPath("services", "qwen", "model"): Pin.model_validate(values)}
    (checkout / lock.file_name("dev")).write_text(
        lock.text(lock.Lock("organization/inference-stacks/dev", pins)), encoding="utf-8"
    )
    return f"{name}:{commit}"


@pytest.mark.timeout(1800)
def test_make_up_that_is_killed_again_and_again_finishes_in_the_end(clone):
    """The deployment in the end is that of the lock in the folder of the program. See defects T1."""
    checkout, environment, _ = clone
    fetched = write_lock(checkout)
    for moment in (
        (checkout / ".venv" / "bin").exists,
        (checkout / ".state" / "cluster").exists,
        lambda: list((checkout / ".state").glob("engine/backend/.pulumi/locks/**/*.json")),
    ):
        child = subprocess.Popen(
            ["make", "up"], cwd=checkout, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            # How long a start takes says how busy the machine is. A start that hangs meets the limit of this test.
            while not moment():
                assert child.poll() is None
                time.sleep(0.01)
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    done = run(["make", "up"], clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^models +qwen-decode +1/1", done.stdout, re.MULTILINE)
    shell = 'eval "$(python3 -m local env)" && kubectl get deployment/qwen-decode -n models -o yaml'
    assert f"- {fetched}\n" in run(["bash", "-c", shell], clone).stdout
