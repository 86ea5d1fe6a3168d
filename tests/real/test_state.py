"""State in a folder and in a bucket: locks, runs that are killed, and a state that is restored."""

import json
import os
import signal
import subprocess
import time

import pytest

from tests.support.cluster.buckets import BACKENDS
from tests.support.cluster.deployments import in_namespace, told

pytestmark = pytest.mark.real

LOCKED = "the stack is currently locked by 1 lock(s)"
HALF_WRITTEN = "failed to load checkpoint: EOF"
DEADLINE = 180


@pytest.fixture(scope="session")
def packages(plain_python):
    """Let the run that is killed be what a user has."""
    return plain_python


def waiting(deployment, nodes, namespace):
    """Start a run that waits for pods that no node takes, and return it once it waits."""
    deployment.plane.kubectl("cordon", *nodes)
    process = deployment.engine.popen("up", "--yes", "--skip-preview", output=subprocess.DEVNULL)
    until = time.monotonic() + DEADLINE
    while "bert-decode" not in deployment.named("deployments", namespace):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)
    return process


def plainly(deployment, *command):
    """Run a command of the engine as a user's shell does: nothing recovers what a killed run left."""
    return deployment.engine._call(*command, check=False)


def beside(deployment):
    """Run `up` beside another run. The engine reads a folder's state before it looks for locks, also half-written."""
    while (done := plainly(deployment, "up", "--yes", "--skip-preview")).returncode and HALF_WRITTEN in told(done):
        time.sleep(1)
    return done


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_locked_stack_a_killed_run_and_a_restored_state(backend, backends, deploy, plane):
    namespace = f"state-in-a-{backend}"
    deployment = deploy(in_namespace(namespace, bert={}), backend=backends[backend](namespace))
    nodes = [node.removeprefix("node/") for node in plane.kubectl("get", "nodes", "-o", "name").split()]
    try:
        first = waiting(deployment, nodes, namespace)
        second = beside(deployment)
        assert (second.returncode != 0, LOCKED in told(second)) == (True, True), told(second)
        assert first.poll() is None
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    finally:
        plane.kubectl("uncordon", *nodes)
    deployment.engine.stop()
    assert LOCKED in told(plainly(deployment, "up", "--yes", "--skip-preview"))
    assert plainly(deployment, "cancel", "--yes").returncode == 0
    again = plainly(deployment, "up", "--yes", "--skip-preview")
    assert again.returncode == 0, told(again)
    restored(deployment, namespace)


def restored(deployment, namespace):
    """Restore the state of an earlier run, and assert that the next run finds everything as it is."""
    earlier = deployment.project / "earlier.json"
    earlier.write_text(json.dumps(deployment.engine.export()))
    deployment.write(in_namespace(namespace, bert={"endpointPicker": {"logLevel": 4}}, qwen={}))
    deployment.up()
    uids = {name: item["metadata"]["uid"] for name, item in deployment.named("deployments", namespace).items()}
    deployment.engine.run("stack", "import", "--file", str(earlier))
    assert "qwen" not in deployment.names()
    deployment.up("--refresh")
    assert {"qwen", "bert"} <= {*deployment.names()}
    after = {name: item["metadata"]["uid"] for name, item in deployment.named("deployments", namespace).items()}
    assert after == uids
    deployment.assert_in_step()
