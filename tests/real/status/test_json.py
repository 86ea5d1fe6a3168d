"""`status --json` of a real control plane: it fits its schema, and two readings differ in their times alone."""

import json
import os
import subprocess
import sys
import time

import jsonschema_rs
import pytest

from cli import schema
from judging.status.records import Link
from tests.support.cluster.deployments import ROOT

pytestmark = pytest.mark.real

SECONDS = 5.0
"""Time in which the command names a culprit, beside the start of Python."""
SECONDS_OF_GRACES = 180
NO_NODE = {"pod": {"nodeSelector": {"example.org/nowhere": "yes"}}, "replicas": 2}


def status(space):
    """Run the command, and return its exit code, its document, and the seconds that it took."""
    variables = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(space.plane.kubeconfig)}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "cli", "status", "--json"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - start
    assert not done.stderr
    tree = json.loads(done.stdout)
    services = [service for service in tree["services"] if service["namespace"] == space.name]
    return done.returncode, {**tree, "services": services}, seconds


def test_a_pod_that_finds_no_node_is_named_with_its_time_and_in_the_words_of_other_systems(space):
    space.apply(**NO_NODE)
    space.await_state(Link.WORKLOAD, "no-node")
    code, tree, seconds = status(space)
    assert seconds < SECONDS + start_seconds()
    jsonschema_rs.validator_for(schema.KINDS["status"]()).validate(tree)
    assert tree["exitCode"] == code
    (service,) = tree["services"]
    assert service["serves"] is False
    (entry,) = [component for component in service["components"] if component["link"] == "workload"]
    assert "no-node" in entry["states"]
    findings = [service["culprit"], *service["others"]]
    (finding,) = [finding for finding in findings if finding["id"] == "no-node"]
    assert (finding["count"], finding["object"]["kind"], finding["role"]) == (2, "Pod", "decode")
    assert finding["since"] <= tree["readAt"]
    heritage = service["heritage"]
    assert heritage["otterscale"]["reason"] == "PodsStarting"
    reasons = {condition["type"]: condition["reason"] for condition in heritage["aimEngine"]["conditions"]}
    assert reasons["InferenceServicePodsReady"] == "FailedScheduling"
    assert (heritage["aimEngine"]["status"], heritage["aimEngine"]["runtime"]["replicas"]) == ("Pending", "2")
    assert "has 0 of 2 replicas ready" in heritage["zerfoo"]["message"]


def test_two_readings_of_one_cluster_differ_in_the_time_of_reading_alone(space):
    space.apply(**NO_NODE)
    space.await_state(Link.WORKLOAD, "no-node")
    readings = [reading(space, "")]
    # At a reading some grace may have ended since the one before it.
    end = time.monotonic() + SECONDS_OF_GRACES
    while len(readings) == 1 or readings[-1]["services"] != readings[-2]["services"]:
        assert time.monotonic() < end, readings[-2:]
        readings.append(reading(space, readings[-1]["readAt"]))


def reading(space, before):
    """Return the first document that is later than another one."""
    while True:
        _, tree, _ = status(space)
        if tree["readAt"] > before:
            return tree


def start_seconds():
    """Return the seconds in which the command starts, and prints its options."""
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "cli", "status", "--help"], cwd=ROOT, check=True, capture_output=True)
    return time.monotonic() - start
