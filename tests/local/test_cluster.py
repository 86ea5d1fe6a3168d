"""The embedded control plane: real, isolated, repaired after any part was killed, gone without a trace."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import yaml

from local import processes
from local.cluster import MARK, NODES, ControlPlane, parts
from local.errors import LocalError
from local.ports import free_ports
from local.report import Report

pytestmark = pytest.mark.real


RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def deployment(name: str, **container) -> str:
    pod = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [{"name": "unpack", "image": "example.invalid/x", "securityContext": RESTRICTED}],
        "containers": [{"name": "c", "image": "example.invalid/x", "securityContext": RESTRICTED, **container}],
    }
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})


@pytest.fixture
def namespace(plane, request):
    name = f"test-{abs(hash(request.node.nodeid)) % 10**8}"
    plane.kubectl("create", "namespace", name)
    plane.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def module_plane(new_plane):
    """Start a control plane of the module's own, which each test leaves whole."""
    plane = new_plane(crds=())
    yield plane
    plane.remove()


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "amd.com/gpu"])
def test_a_gpu_deployment_is_available_within_ten_seconds_ten_times_in_a_row(plane, namespace, resource):
    times = []
    for number in range(10):
        started = time.monotonic()
        text = deployment(f"d{number}", resources={"limits": {resource: "1"}})
        plane.kubectl("create", "-n", namespace, "-f", "-", input=text)
        plane.kubectl("wait", "-n", namespace, "--for=condition=Available", f"deployment/d{number}", "--timeout=240s")
        times.append(time.monotonic() - started)
        plane.kubectl("delete", "-n", namespace, f"deployment/d{number}", "--cascade=foreground")
    assert max(times) < 10, times


def test_more_gpus_than_a_node_has_stay_pending(plane, namespace):
    plane.kubectl(
        "create", "-n", namespace, "-f", "-", input=deployment("big", resources={"limits": {"nvidia.com/gpu": "9"}})
    )
    plane.kubectl(
        "wait", "-n", namespace, "--for=condition=PodScheduled=False", "pod", "-l", "app=big", "--timeout=240s"
    )


def test_a_restricted_namespace_refuses_a_pod_that_runs_as_root(plane, namespace):
    with pytest.raises(LocalError, match="violates PodSecurity"):
        plane.kubectl("run", "root", "-n", namespace, "--image=example.invalid/x")


def test_a_service_account_gets_a_token_and_only_its_rights(plane, namespace):
    token = plane.kubectl("create", "token", "default", "-n", namespace).strip()
    with pytest.raises(LocalError, match="forbidden"):
        plane.kubectl(f"--token={token}", "get", "secrets", "-n", namespace)


def test_what_an_owner_leaves_is_collected(plane, namespace):
    plane.kubectl("create", "-n", namespace, "-f", "-", input=deployment("gone"))
    plane.kubectl("wait", "-n", namespace, "--for=condition=Available", "deployment/gone", "--timeout=240s")
    plane.kubectl("delete", "-n", namespace, "deployment/gone")
    plane.kubectl("wait", "-n", namespace, "--for=delete", "pod", "-l", "app=gone", "--timeout=240s")


def test_the_nodes_are_those_of_the_file(plane):
    nodes = json.loads(plane.kubectl("get", "nodes", "-o", "json"))["items"]
    gpus: dict[str | None, list[int]] = {}
    for node in nodes:
        labels = node["metadata"]["labels"]
        allocatable = node["status"]["allocatable"]
        product = labels.get("nvidia.com/gpu.product") or labels.get("amd.com/gpu.product-name")
        gpus.setdefault(product, []).append(int(allocatable.get("nvidia.com/gpu", allocatable.get("amd.com/gpu", 0))))
    assert gpus == {"NVIDIA-H100-80GB-HBM3": [8, 8], "NVIDIA-L40S": [4], "AMD_Instinct_MI300X_OAM": [8], None: [0]}


def test_two_late_heartbeats_in_a_row_lose_no_node(tools, tmp_path):
    stage = yaml.safe_load((tools["kwok-stages"].path / "node-heartbeat.yaml").read_text(encoding="utf-8"))
    latest = max(stage["spec"]["delay"].values()) / 1000
    line = parts.arguments("kube-controller-manager", tmp_path, {}, tools["kwok-stages"].path)
    (grace,) = (argument.partition("=")[2] for argument in line if "grace-period" in argument)
    assert int(grace.removesuffix("h")) * 3600 > 2 * latest


def test_two_planes_run_at_once_and_know_nothing_of_each_other(plane, module_plane):
    module_plane.kubectl("create", "configmap", "mine", "-n", "default")
    assert "mine" not in plane.kubectl("get", "configmap", "-n", "default")
    assert not set(plane.pids().values()) & set(module_plane.pids().values())
    assert module_plane.kubectl("get", "crd") == ""


@pytest.mark.parametrize("part", parts.PARTS)
def test_a_killed_part_is_repaired_by_the_next_start(module_plane, part):
    name = f"kept-{part}"
    module_plane.kubectl("create", "configmap", name, "-n", "default")
    before = module_plane.pids()
    os.kill(before[part], signal.SIGKILL)
    wait_until(lambda: part not in module_plane.pids())
    module_plane.start(Report(io.StringIO()))
    after = module_plane.pids()
    assert after.pop(part) != before.pop(part)
    assert after == before
    assert name in module_plane.kubectl("get", "configmap", "-n", "default")


@pytest.mark.parametrize("part", parts.CONTROLLERS)
def test_a_start_names_a_controller_that_ended_meanwhile(module_plane, monkeypatch, part):
    os.kill(module_plane.pids()[part], signal.SIGKILL)
    wait_until(lambda: part not in module_plane.pids())
    with monkeypatch.context() as patches:
        patches.setattr(module_plane, "_start_part", lambda _part: None)
        with pytest.raises(LocalError, match=f"{part} ended; the end of "):
            module_plane.start(Report(io.StringIO()))
    module_plane.start(Report(io.StringIO()))
    assert module_plane.alive()


def test_a_restart_on_a_port_that_was_taken_meanwhile_picks_another(module_plane):
    module_plane.stop()
    port = json.loads((module_plane.directory / "state.json").read_text())["ports"]["kube-apiserver"]
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        module_plane.start(Report(io.StringIO()))
    assert module_plane.alive()
    assert f":{port}" not in module_plane.kubeconfig.read_text()


def test_a_pid_that_is_not_ours_any_more_is_left_alone(tools, tmp_path):
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        process = processes.Process.of(stranger.pid)
        assert process is not None
        record = {part: [process.pid, process.started - 1, process.boot] for part in parts.PARTS}
        plane = ControlPlane(tmp_path / "plane", tools)
        plane.directory.mkdir()
        (plane.directory / "state.json").write_text(json.dumps({"ports": free_ports(parts.PORTS), "processes": record}))
        assert plane.pids() == {}
        plane.remove()
        assert stranger.poll() is None
        assert not plane.directory.exists()
    finally:
        stranger.kill()
        stranger.wait()


def test_parts_die_with_the_test_run_that_they_are_tied_to(tools, tmp_path):
    program = (
        "import io, os, pathlib, sys, signal\nfrom local.cluster import ControlPlane\nfrom local.report import Report\n"
        "from local.tools import ensure\nsay = Report(io.StringIO())\n"
        "ControlPlane(pathlib.Path(sys.argv[1]), ensure(None, say), crds=(), tie_to_parent=True).start(say)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    directory = tmp_path / "plane"
    assert subprocess.run([sys.executable, "-c", program, str(directory)], check=False).returncode == -signal.SIGKILL
    wait_until(lambda: not processes.find_marked(MARK, str(directory)))


def test_a_start_that_was_killed_half_way_is_finished_by_the_next_one(tools, tmp_path):
    program = (
        "import io, pathlib, sys\nfrom local.cluster import ControlPlane\nfrom local.report import Report\n"
        "from local.tools import ensure\nsay = Report(io.StringIO())\n"
        "ControlPlane(pathlib.Path(sys.argv[1]), ensure(None, say), crds=()).start(say)\n"
    )
    plane = ControlPlane(tmp_path / "plane", tools, crds=())
    child = subprocess.Popen([sys.executable, "-c", program, str(plane.directory)])
    try:
        wait_until(lambda: "kube-apiserver" in plane.pids())
        child.kill()
        child.wait()
        plane.start(Report(io.StringIO()))
        assert plane.alive()
        assert len(processes.find_marked(MARK, str(plane.directory))) == len(parts.PARTS)
    finally:
        child.kill()
        plane.remove()
    assert not processes.find_marked(MARK, str(plane.directory))
    assert not plane.directory.exists()


def test_a_part_that_cannot_start_is_named_with_the_end_of_its_log(tools, tmp_path):
    plane = ControlPlane(tmp_path / "plane", {**tools, "etcd": tools["kwok"]}, tie_to_parent=True)
    with pytest.raises(LocalError, match=r"(?s)etcd ended; the end of .*etcd\.log:\n.*unknown flag"):
        plane.start(Report(io.StringIO()))
    plane.remove()


def test_no_fake_node_is_tainted():
    nodes = list(yaml.safe_load_all(NODES.read_text()))
    assert len(nodes) == 5
    assert not any(node["spec"] for node in nodes)


def wait_until(condition, seconds=240.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
