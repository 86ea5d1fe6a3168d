"""`kill -9` of a run, at each moment that matters: the next run converges and nothing is left running."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.server import read
from tests.support.cluster.snapshots import at_rest, snapshot

pytestmark = pytest.mark.real
DEADLINE = 180
"""Seconds, which a busy machine takes and an idle one never."""


@pytest.fixture(scope="session")
def packages(plain_python):
    """Let what is killed be what a user has."""
    return plain_python


def wait_for(condition, process):
    until = time.monotonic() + DEADLINE
    while not condition():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < until
        time.sleep(0.002)


def kill(process, whole_group):
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def count(deployed, namespace):
    """Return how many resources the state holds, and of which kinds the namespace has objects."""
    resources = deployed.state()["resources"]
    kinds = "deployments,services,inferencepools,httproutes,configmaps,roles,rolebindings,serviceaccounts,pods"
    found = read(deployed.plane, kinds, namespace)
    return len(resources), sorted(item["kind"] for item in found)


def orphans(deployed):
    """Return the processes whose environment names this engine."""
    mark = str(deployed.engine.directory).encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in environ.read_bytes():
                found.append(environ.parent.name)
    return found


def locks(deployed):
    return list((deployed.engine.directory / "backend").glob(".pulumi/locks/**/*.json"))


def checkpoint(deployed):
    (found,) = (deployed.engine.directory / "backend" / ".pulumi" / "stacks").rglob("dev.json.gz")
    return found


def waiting_for_a_deployment(deployed, namespace):
    def condition():
        return "bert-decode" in deployed.named("deployments", namespace)

    return condition


def no_routes(plane, namespace):
    return lambda: not read(plane, "httproutes", namespace)


def moment(name, deployed, namespace):
    """Return the condition under which a run is at the named moment."""
    if name == "before the lock":
        return lambda: True
    if name == "a Deployment's wait":
        return waiting_for_a_deployment(deployed, namespace)
    first = checkpoint(deployed).stat().st_mtime_ns
    seen = set()

    def saving():
        seen.add(checkpoint(deployed).stat().st_mtime_ns)
        return len(seen - {first}) > 4

    return saving


@pytest.fixture(scope="module")
def complete(deploy_for_all):
    """Return what a run that nobody kills makes."""
    deployed = deploy_for_all(in_namespace("not-killed", bert={}))
    deployed.up()
    return count(deployed, "not-killed")


@pytest.mark.parametrize("whole_group", [False, True], ids=["parent", "group"])
@pytest.mark.parametrize("when", ["before the lock", "a Deployment's wait", "a checkpoint"])
def test_a_killed_up_converges_when_run_again(when, whole_group, deploy, plane, complete):
    namespace = f"killed-{when.split()[-1]}-{'group' if whole_group else 'parent'}"
    deployed = deploy(in_namespace(namespace, bert={}))
    deployed.engine.ensure_stack()
    nodes = plane.kubectl("get", "nodes", "-o", "name").split()
    if when == "a Deployment's wait":
        plane.kubectl("cordon", *[node.removeprefix("node/") for node in nodes])
    try:
        running = deployed.engine.popen("up", "--yes", "--skip-preview", output=subprocess.DEVNULL)
        wait_for(moment(when, deployed, namespace), running)
        assert bool(locks(deployed)) == (when != "before the lock")
        kill(running, whole_group)
    finally:
        plane.kubectl("uncordon", *[node.removeprefix("node/") for node in nodes])
    deployed.up()
    assert count(deployed, namespace) == complete
    assert orphans(deployed) == []
    assert locks(deployed) == []
    deployed.assert_in_step()


@pytest.mark.parametrize("whole_group", [False, True], ids=["parent", "group"])
def test_a_killed_destroy_can_be_finished_or_undone(whole_group, deploy, plane, complete):
    namespace = f"killed-destroy-{'group' if whole_group else 'parent'}"
    before = at_rest(plane)
    deployed = deploy(in_namespace(namespace, bert={}))
    deployed.up()
    assert count(deployed, namespace) == complete
    for again in (deployed.up, deployed.destroy):
        running = deployed.engine.popen("destroy", "--yes", "--skip-preview", output=subprocess.DEVNULL)
        wait_for(no_routes(plane, namespace), running)
        kill(running, whole_group)
        again()
        assert orphans(deployed) == []
        if again == deployed.up:
            assert count(deployed, namespace) == complete
    until = time.monotonic() + DEADLINE
    while (left := snapshot(plane)) != before and time.monotonic() < until:
        time.sleep(1)
    assert left == before


def test_what_a_killed_run_made_is_not_forgotten_where_the_service_is_taken_out(deploy, plane):
    namespace = "killed-orphan"
    deployed = deploy(in_namespace(namespace, bert={}, qwen={}))
    deployed.engine.ensure_stack()
    nodes = [node.removeprefix("node/") for node in plane.kubectl("get", "nodes", "-o", "name").split()]
    plane.kubectl("cordon", *nodes)
    try:
        running = deployed.engine.popen("up", "--yes", "--skip-preview", output=subprocess.DEVNULL)
        wait_for(waiting_for_a_deployment(deployed, namespace), running)
        kill(running, whole_group=True)
    finally:
        plane.kubectl("uncordon", *nodes)
    deployed.write(in_namespace(namespace, qwen={}))
    deployed.up()
    assert "bert-decode" in pending(deployed)
    deployed.write(in_namespace(namespace, bert={}, qwen={}))
    deployed.up()
    assert pending(deployed) == []


def pending(deployed):
    """Return the logical names of what the state says was interrupted."""
    operations = deployed.state().get("pending_operations") or []
    return [operation["resource"]["urn"].rpartition("::")[2] for operation in operations]
