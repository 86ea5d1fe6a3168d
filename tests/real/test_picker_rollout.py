"""How pickers come up and are replaced: by their own state, never by that of the pods before them."""

import pytest

from tests.support.cluster.deployments import in_namespace
from tests.support.cluster.leader import WAITING, is_ready, leading, pods, settled

pytestmark = pytest.mark.real

PICKER = "qwen-epp-deployment"
NEVER = {"image": "registry.example/picker:never", "pod": {"annotations": WAITING}}
UPDATES = 4
"""Number of updates of which the provider waits for at least one. It takes an older status for the present one if its
watch lags behind an update (`planning.ground.awaiting.ROLLED_OUT`)."""


def stack(namespace, **picker):
    return in_namespace(namespace, qwen={"endpointPicker": picker})


def hurry(deployed):
    """Deploy from now on without patience for pickers that do not start."""
    deployed.alter("planning/ground/lifecycle.py", WAIT_MARGIN=15, PICKER_START=30)


def uids(found):
    return [pod["metadata"]["uid"] for pod in found]


def test_several_pickers_are_up_once_one_of_them_leads(deploy, plane):
    name = "elected"
    several = {"replicas": 2, "pod": {"annotations": WAITING}}
    deployed = deploy(stack(name, **several))
    with leading(plane, name, "qwen"):
        done = deployed.operate()
    assert done.of(PICKER).ended is not None
    done.assert_order({PICKER}, {"routing-qwen-route"})
    settled(plane, name, "qwen", ready=[True, False])
    status = deployed.get("deployment", "qwen-epp", name)["status"]
    assert (status["replicas"], status["readyReplicas"]) == (2, 1)
    old = uids(pods(plane, name, "qwen"))
    assert deployed.preview("--expect-no-changes").returncode == 0
    # A refresh of the provider's misses the pods that wait, whatever is waited for: it says so, and no pod changes.
    assert deployed.operate("--refresh").done == {PICKER: "update"}
    assert uids(pods(plane, name, "qwen")) == old
    # An update is waited for by the new pods' leader: while none leads, the one before says nothing.
    hurry(deployed)
    deployed.write(stack(name, **several, image=NEVER["image"]))
    failed, operations = deployed.attempt()
    assert failed.returncode != 0
    assert "timed out waiting for the condition" in failed.stdout + failed.stderr
    assert operations.done == {PICKER: "update"}
    assert operations.of(PICKER).ended is None
    assert not {*old} & {*uids(pods(plane, name, "qwen"))}
    # One picker elects nobody: it may no longer write a lease, and nothing else is taken from it.
    deployed.write(stack(name))
    assert deployed.operate().done == {"qwen-epp-role": "update", PICKER: "update"}
    assert not [rule for rule in deployed.get("role", "qwen-epp", name)["rules"] if "leases" in rule["resources"]]
    settled(plane, name, "qwen", ready=[True])


def update_in_vain(deployed, name):
    """Deploy images that no pod starts with until a run fails; return the run and its operations."""
    for number in range(UPDATES):
        deployed.write(stack(name, **NEVER | {"image": f"{NEVER['image']}-{number}"}))
        failed, operations = deployed.attempt()
        if failed.returncode != 0:
            break
    return failed, operations


def test_a_picker_whose_pods_never_start_fails_and_the_one_before_serves_on(deploy, plane):
    name = "stuck-picker"
    deployed = deploy(stack(name))
    hurry(deployed)
    deployed.up()
    (old,) = pods(plane, name, "qwen")
    failed, operations = update_in_vain(deployed, name)
    assert failed.returncode != 0
    assert "ProgressDeadlineExceeded" in failed.stdout + failed.stderr
    assert operations.done == {PICKER: "update"}
    assert operations.of(PICKER).ended is None
    there = {pod["metadata"]["uid"]: is_ready(pod) for pod in pods(plane, name, "qwen")}
    assert there.pop(old["metadata"]["uid"]) is True
    assert list(there.values()) == [False]
    deployed.write(stack(name))
    deployed.up()
    assert uids(pods(plane, name, "qwen")) == uids([old])


def test_a_changed_weight_restarts_its_own_picker_and_nothing_else(deploy, plane):
    name = "weighed"
    services = {"bert": {}, "qwen": {}}
    deployed = deploy(in_namespace(name, **services))
    deployed.up()
    before = {key: item["metadata"]["uid"] for key, item in deployed.named("pods", name).items()}
    (old,) = pods(plane, name, "qwen")
    weights = {"endpointPicker": {"scorerWeights": {"queue-scorer": 5}}}
    deployed.write(in_namespace(name, **services | {"qwen": weights}))
    changed = dict.fromkeys(("qwen-epp-config", PICKER), "update")
    assert deployed.operate().done == deployed.changed() == changed
    settled(plane, name, "qwen", ready=[True])
    (new,) = pods(plane, name, "qwen")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    after = {key: item["metadata"]["uid"] for key, item in deployed.named("pods", name).items()}
    assert {key for key, uid in before.items() if after.get(key) != uid} <= {old["metadata"]["name"]}
    assert "weight: 5" in deployed.get("configmap", "qwen-epp", name)["data"]["config.yaml"]
