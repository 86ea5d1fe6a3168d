"""A test run that is interrupted or killed while the engine waits: none of its processes stays."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.cluster import leftovers
from tests.support.cluster.server import read

pytestmark = pytest.mark.real
DEADLINE = 180
"""Seconds, which only a busy machine needs."""
MODULE = """
import os
import pathlib

import pytest

from local.cluster import ControlPlane
from tests.support.cluster.deployments import in_namespace


@pytest.fixture(scope="session")
def plane(tools):
    return ControlPlane(pathlib.Path(os.environ["PLANE"]), tools)


def test_up(deploy):
    deploy(in_namespace(os.environ["NAMESPACE"], bert={})).up()
"""


def wait_until(condition):
    until = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture
def cordoned(plane):
    """Let no pod be scheduled, so that every Deployment is waited for."""
    nodes = plane.kubectl("get", "nodes", "-o", "name").split()
    names = [node.removeprefix("node/") for node in nodes]
    plane.kubectl("cordon", *names)
    yield
    plane.kubectl("uncordon", *names)


@pytest.mark.usefixtures("cordoned")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_no_process_outlives_an_interrupted_test_run(number, plane, tmp_path):
    namespace = f"interrupted-by-{number.name.lower()}"
    module = tmp_path / "test_inner.py"
    module.write_text(MODULE)
    plugins = [f"-ptests.support.cluster.{name}" for name in ("plane", "forks", "deployments")]
    directory = tmp_path / "inner"
    command = [sys.executable, "-m", "pytest", "-n1", *plugins, f"--basetemp={directory}", f"--rootdir={tmp_path}"]
    environment = os.environ | {"PLANE": str(plane.directory), "NAMESPACE": namespace}
    run = subprocess.Popen([*command, str(module)], env=environment, start_new_session=True)
    try:
        wait_until(lambda: run.poll() is not None or read(plane, "deployments", namespace))
        assert run.poll() is None
        assert len(leftovers.find(directory)) >= 3
        os.killpg(run.pid, number)
        run.wait(DEADLINE)
    finally:
        run.kill()
    wait_until(lambda: not leftovers.find(directory))
