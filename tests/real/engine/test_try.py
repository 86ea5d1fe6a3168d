"""`make try ENGINE=vllm`: gateway, picker and engine of the embedded stack are real."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from local import processes, up
from local.tools import cache_directory
from local.vllm.server import MARK
from tests.support.cluster.deployments import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.timeout(3600)]
CHANGED = {"/models", "--tensor-parallel-size"}
"""Arguments of the container that the process has otherwise: the path, and what needs devices."""
PROVIDERS = "kubeconfig"
"""Beginning of the names of files that Pulumi's provider for Kubernetes leaves."""
LISTENING = "0A"
"""State of a listening socket in /proc/net/tcp."""
INHERITED = ("LANG", "PATH", "PIP_INDEX_URL", "SSL_CERT_FILE", "http_proxy", "https_proxy")


@pytest.fixture
def checkout(tools, tmp_path):
    """Return a fresh copy of the checkout, and an environment with a home and temporary files of its own."""
    folder = tmp_path / "checkout"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    temporary = tempfile.mkdtemp(prefix="try-")
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    changed = {"HOME": str(tmp_path / "home"), "TMPDIR": temporary, "INFERENCE_STACKS_CACHE": str(cache_directory())}
    (tmp_path / "home").mkdir()
    yield folder, inherited | changed
    subprocess.run(["make", "down"], cwd=folder, env=inherited | changed, check=False, capture_output=True)
    shutil.rmtree(temporary)


def run(checkout, *command):
    folder, environment = checkout
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def owner(address, port):
    """Return the pid of the process that listens at an address, from Linux' table of sockets."""
    packed = int.from_bytes(socket.inet_aton(address), "little")
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    (inode,) = (row[9] for row in rows if row[1] == f"{packed:08X}:{port:04X}" and row[3] == LISTENING)
    processes_of_all = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    return next(pid for pid in processes_of_all if has_socket(pid, inode))


def has_socket(pid, inode):
    try:
        return any(str(link.readlink()) == f"socket:[{inode}]" for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def marked(folder):
    """Return the processes that the checkout started, by any of the marks."""
    marks = [mark for name in (*up.MARKS, MARK) for mark in processes.find_marked(name).values()]
    return [mark for mark in marks if mark.startswith(str(folder))]


def engine_container():
    (manifest,) = (
        manifest
        for manifest in up.render(ROOT)
        if manifest["kind"] == "Deployment" and manifest["metadata"]["name"] == "qwen-decode"
    )
    return manifest["spec"]["template"]["spec"]["containers"][0]


def test_a_real_engine_with_the_container_s_own_arguments_answers_and_leaves_nothing(checkout):
    folder, environment = checkout
    result = run(checkout, "make", "try", "ENGINE=vllm")
    assert result.returncode == 0, result.stdout + result.stderr
    (command,) = re.findall(r"(?m)^\$ (curl .+)", result.stdout)
    answer = json.loads(run(checkout, "bash", "-c", f"{command} --silent").stdout)
    assert answer["usage"]["completion_tokens"] > 0
    # The simulated model servers play one token.
    assert answer["usage"]["prompt_tokens"] > 1

    address, port = re.search(r"(?m)^Answered by .* at ([\d.]+):(\d+)$", result.stdout).groups()
    pid = owner(address, int(port))
    arguments = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    container = engine_container()
    assert {text for text in container["args"] if text.partition("=")[0] not in CHANGED} <= set(arguments)
    assert arguments[arguments.index("serve") + 1].endswith("/root/models")
    variables = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    for item in container["env"]:
        if item["name"] != "HOME":
            assert f"{item['name']}={item['value']}" in variables
    assert f"pid {pid}, log" in result.stdout
    assert "stays simulated" not in result.stdout

    assert marked(folder)
    assert run(checkout, "make", "down").returncode == 0
    assert marked(folder) == []
    assert not (folder / ".state").exists()
    assert [path.name for path in Path(environment["TMPDIR"]).iterdir() if not path.name.startswith(PROVIDERS)] == []
    assert run(checkout, "bash", "-c", f"{command} --silent").returncode != 0
    assert run(checkout, "git", "status", "--porcelain").stdout == ""
