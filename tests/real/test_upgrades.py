"""Stacks that earlier versions of this program deployed: what an upgrade changes, restarts and deletes, and why."""

import json
import re

import pytest

from models.problems import ConfigError
from tests.support.cluster.deployments import OWN_PROVIDER, QUIET, found, told
from tests.support.cluster.upgrades import restore, restore_on, stack
from tests.support.cluster.workstations import UNCHANGED, Workstation, renamed, small, uids
from tests.support.rows import mostly_proven
from tests.support.stacks import plan

pytestmark = pytest.mark.real

UP = ("up", "--yes", "--skip-preview")
GRANT = ("interceptor-role", "interceptor-binding")
"""Objects that go with metering, which a service with prefill cannot have (defects A26)."""
UNMETERED = "split-3790d-decode-network-policy"
"""Policy that admits the interceptor no longer."""
NARROWED = {f"{name}-network-policy" for name in ("qwen-decode", "qwen-canary-decode", "split-fill-81d2213d")}
"""Policies of pods that ask outside of the cluster, which get exceptions for link-local addresses (defects H24)."""
COMPONENT = "inference-stack"
PARENT = "::inference-stacks:index:InferenceStack"
FIRST = "d953a59"
LATEST = "a0f2ada"
PICKERS = {"qwen-epp": "H8", "qwen-canary-epp": "H8", "split-3790d-epp": "H8"}
"""Workloads that restart in an upgrade from any version, each with the defect that the restart mends."""
RESTARTED = {"qwen-decode": "A4", "qwen-canary-decode": "A4", "split-3790d-decode": "A4", **PICKERS}
"""Workloads that restart in an upgrade from the first version, each with the defect that the restart mends."""
PICKER_DEPLOYMENTS = ("qwen-epp-deployment", "qwen-canary-epp-deployment", "split-epp-3790d-deployment")
"""Logical names of the Deployments in `PICKERS`."""
MONITORS = {
    f"{name}-monitor"
    for name in (
        "qwen-decode",
        "qwen-epp",
        "qwen-canary-decode",
        "qwen-canary-epp",
        "split-3790d-decode",
        "split-3790d-prefill",
        "split-epp-3790d",
    )
}
"""Monitors, which give more labels to their series."""
CHANGED = {
    **dict.fromkeys(PICKER_DEPLOYMENTS, "H8"),
    **dict.fromkeys(("qwen-decode", "qwen-canary-decode", "split-3790d-decode"), "A4"),
    **dict.fromkeys(("qwen-epp-role", "qwen-canary-epp-role", "split-epp-3790d-role"), "A6"),
    "network-policy": "A18",
    "routing-qwen-route": "A1",
}
"""Objects that change in more than metadata in that upgrade, by the end of their logical names."""


@pytest.fixture
def restored(deploy):
    """Return a function that restores what an earlier version deployed, and asks preview what becomes of it."""

    def new(name):
        deployment = deploy(stack(name))
        restore(name, deployment)
        with pytest.raises(ConfigError, match=r"services\.split\.prefill: would leave its pods without requests"):
            plan(stack(name))
        deployment.write(unmetered(stack(name)))
        return deployment, stack(name)["namespace"], previewed(deployment)

    return new


def unmetered(whole):
    """Return a stack as the message about its prefill advises."""
    split = whole["services"]["split"] | {"interceptor": {"enabled": False}}
    return whole | {"services": whole["services"] | {"split": split}}


def previewed(deployment):
    """Return the sections of each object that a preview changes, by logical name; those that are replaced are not."""
    done = deployment.preview("--json")
    assert done.returncode == 0, told(done)
    steps = [step for step in json.loads(done.stdout)["steps"] if step["op"] not in QUIET]
    created = {step["urn"].rpartition("::")[2] for step in steps if step["op"] == "create"}
    # Everything else has moved into the component by its aliases.
    assert created == {COMPONENT}
    objects = [step for step in steps if "kubernetes:" in step["urn"].split("::")[2] and step["op"] == "update"]
    return {
        step["urn"].rpartition("::")[2]: {re.split(r"[.\[]", field)[0] for field in step["detailedDiff"]}
        for step in objects
    }


def running(deployment, namespace):
    """Return pods and ReplicaSets, by UID, each as its workload."""
    names = {"Pod": 2, "ReplicaSet": 1}
    return {
        item["metadata"]["uid"]: item["metadata"]["name"].rsplit("-", names[item["kind"]])[0]
        for item in found(deployment.plane, "pods,replicasets", namespace)
    }


def deployed(deployment, namespace):
    """Deploy. Return what was done, the workloads of pods and ReplicaSets that are gone, and of those that are new."""
    before = running(deployment, namespace)
    # Another cluster is reached by another kubeconfig, so the provider changes, too.
    done = {name: op for name, op in deployment.operate().done.items() if name != "cluster"}
    after = running(deployment, namespace)
    outside = {resource["type"] for resource in deployment.state()["resources"] if PARENT not in resource["urn"]}
    assert outside == {"pulumi:pulumi:Stack", OWN_PROVIDER}
    gone, new = (
        {all_of[uid] for uid in all_of.keys() - others.keys()} for all_of, others in ((before, after), (after, before))
    )
    return done, gone, new


def is_grant(name):
    return name.endswith(GRANT)


def test_an_upgrade_from_the_latest_version_restarts_the_pickers_and_changes_policies_monitors_and_metadata_alone(
    restored,
):
    """See defects A26, H8, H24."""
    deployment, namespace, changes = restored(LATEST)
    assert {name for name, sections in changes.items() if sections != {"metadata"}} == {
        UNMETERED,
        *PICKER_DEPLOYMENTS,
        *NARROWED,
        *MONITORS,
    }
    done, gone, new = deployed(deployment, namespace)
    assert {op for name, op in done.items() if not is_grant(name)} == {"update"}
    assert {op for name, op in done.items() if is_grant(name)} == {"delete"}
    assert {name for name in done if not is_grant(name)} == changes.keys()
    assert not any("-fill-" in name and "network-policy" not in name for name in done)
    assert gone == new == {*PICKERS}
    deployment.assert_plainly_unchanged()


def test_an_upgrade_from_the_first_version_restarts_what_has_to_and_nothing_else(restored):
    """See defects A1, A4, A6, A18, A26, H8."""
    deployment, namespace, changes = restored(FIRST)
    beyond = {name for name, sections in changes.items() if sections != {"metadata"}}
    assert {name for name in beyond - MONITORS if not name.endswith(tuple(CHANGED))} == set()
    assert all(any(name.endswith(end) for name in beyond) for end in CHANGED)
    done, gone, new = deployed(deployment, namespace)
    assert {op for name, op in done.items() if not is_grant(name)} == {"update"}
    assert {op for name, op in done.items() if is_grant(name)} == {"delete"}
    assert gone == new == {*RESTARTED}
    deployment.assert_plainly_unchanged()


LATER = {"04e1935": [{}, {"name": "prod"}], "04e1935-named": [{"name": "prod-eu"}, {}]}
"""Recordings of a small stack whose state has the path of a kubeconfig, each with later values of `cluster`.

The second one was deployed with `cluster.name`.
"""


@pytest.mark.parametrize("name", mostly_proven(LATER, {"04e1935-named"}))
def test_an_upgrade_forgets_the_path_of_the_kubeconfig_and_restarts_nothing(name, home, packages, plane, tmp_path):
    """See defects L1, L2."""
    namespace = stack(name)["namespace"]
    ben = Workstation(tmp_path / "ben", home, packages, called=name)
    ben.kubeconfig(plane, renamed("a", "b", "c"))
    restore_on(name, ben, plane)
    before = uids(plane, namespace)
    assert {kind for kind, *_ in before} == {"Namespace", "Pod", "Deployment", "ReplicaSet"}
    first, second = LATER[name]
    ben.write(small(namespace, cluster=first))
    # Until a run has written the state anew, a refresh looks for the kubeconfig at the path in the state.
    assert "failed to read resource state due to unreachable cluster" in ben.fail("refresh", "--yes", "--skip-preview")
    for command in (("preview",), UP, *UNCHANGED):
        ben.succeed(*command)
        assert uids(plane, namespace) == before, command
    ben.write(small(namespace, cluster=second))
    ben.succeed("preview", "--expect-no-changes", "--diff")
    assert "/home/ann" not in ben.succeed("stack", "export")
    ben.succeed("destroy", "--yes", "--skip-preview")
    assert uids(plane, namespace) == {}
