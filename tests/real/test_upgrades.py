"""Stacks that earlier versions of this program deployed: what an upgrade changes, restarts and deletes, and why."""

import json

import pytest

from tests.support.cluster.deployments import QUIET, found, told
from tests.support.cluster.upgrades import restore, stack

pytestmark = pytest.mark.real

GRANT = {f"routing-upgraded-interceptor-{part}" for part in ("role", "binding")}
"""Objects whose names carry the stack, so that the new ones come before the old ones go (A24)."""
REPLACED = "create-replacement, replace, delete-replaced"


@pytest.fixture
def restored(deploy):
    """Return a function that restores what an earlier version deployed."""

    def new(name):
        deployment = deploy(stack(name))
        restore(name, deployment)
        return deployment

    return new


def running(deployment, namespace):
    """Return the UIDs of pods and ReplicaSets, by name."""
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in found(deployment.plane, "pods,rs", namespace)}


def previewed(deployment):
    """Return the fields of each object that a preview changes, by logical name."""
    done = deployment.preview("--json")
    assert done.returncode == 0, told(done)
    steps = [step for step in json.loads(done.stdout)["steps"] if step["op"] not in QUIET]
    return {
        step["urn"].rpartition("::")[2]: {*(step.get("detailedDiff") or {})} | {step["op"]}
        for step in steps
        if "kubernetes:" in step["urn"].split("::")[2]
    }
