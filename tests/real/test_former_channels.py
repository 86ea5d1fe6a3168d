"""Stacks that were deployed when channels had other names: nothing restarts before the user chooses."""

import json

import pytest

from composition import Composition, Given, compose
from judging.report.rehearsal import PlannedStack, rehearse
from planning.ground.cluster_facts import NOTHING_READ
from planning.releases import channel, former_channels
from tests.support.cluster.deployments import QUIET
from tests.support.cluster.upgrades import restore_on, stack
from tests.support.cluster.workstations import UNCHANGED, Workstation, uids
from tests.support.rows import mostly_proven
from tests.support.stacks import NAME

pytestmark = pytest.mark.real

UP = ("up", "--yes", "--skip-preview")
COMMIT = "2d119e1"
FORMER = {f"{COMMIT}-{former.written.replace('.', '-')}": name for name, former in former_channels().items()}
"""Recordings by the name that their channel has now."""
KEPT = "the stack keeps that"


@pytest.fixture
def restored(home, packages, plane, tmp_path):
    """Return a function that restores what the earlier version deployed, and returns its workstation and objects."""

    def new(name):
        ben = Workstation(tmp_path / "ben", home, packages, called=name)
        ben.kubeconfig(plane)
        restore_on(name, ben, plane)
        return ben, uids(plane, stack(name)["namespace"])

    return new


def assert_nothing_restarts(ben, before, plane, name):
    for command in (("preview",), UP, *UNCHANGED):
        ben.succeed(*command)
        assert uids(plane, stack(name)["namespace"]) == before, command


def rehearsed(old, new):
    """Return the names of the workloads whose pods begin, restart or end, as a rehearsal says them."""
    stacks = [compose(tree, Given(NOTHING_READ), NAME) for tree in (old, new)]
    assert all(isinstance(composed, Composition) for composed in stacks)
    before, after = (PlannedStack(composed.stack, composed.plan, composed.objects) for composed in stacks)
    return {workload.name for step in rehearse(before, after).services for workload in step.workloads}


def previewed(ben):
    """Return the names of the workloads that a preview changes."""
    steps = json.loads(ben.succeed("preview", "--json"))["steps"]
    changed = (step for step in steps if step["op"] not in QUIET and "/v1:Deployment::" in step["urn"])
    states = (step.get("newState") or step["oldState"] for step in changed)
    return {state["inputs"]["metadata"]["name"] for state in states}


@pytest.mark.parametrize("name", mostly_proven(FORMER, {next(iter(FORMER))}))
def test_a_name_with_another_meaning_restarts_nothing_and_says_so_once(name, restored, plane):
    ben, before = restored(name)
    output = ben.succeed("preview", "--diff")
    assert output.count(KEPT) == 1
    assert "replace" not in output
    assert_nothing_restarts(ben, before, plane, name)
    former = {**stack(name), "release": FORMER[name]}
    ben.write(former)
    assert KEPT not in ben.succeed("preview", "--expect-no-changes")
    ben.write({**stack(name), "allow": ["meaning", "release"]})
    chosen = channel(stack(name)["release"]).images.picker.ref
    assert chosen in ben.succeed("preview", "--diff")
    assert previewed(ben) == rehearsed(former, stack(name))
    ben.succeed("destroy", "--yes", "--skip-preview")


def test_a_name_that_kept_its_meaning_restarts_nothing(restored, plane):
    name = f"{COMMIT}-gie-1-3"
    ben, before = restored(name)
    assert KEPT not in ben.succeed("preview")
    assert_nothing_restarts(ben, before, plane, name)
    ben.succeed("destroy", "--yes", "--skip-preview")


def test_a_retired_channel_is_refused_and_its_pods_stay(restored, plane):
    name = f"{COMMIT}-llm-d-0-6"
    ben, before = restored(name)
    output = ben.fail("preview")
    assert (
        "release: is retired (llm-d-0.6): its picker ghcr.io/llm-d/llm-d-inference-scheduler cannot be pulled" in output
    )
    assert uids(plane, stack(name)["namespace"]) == before
    ben.succeed("destroy", "--yes", "--skip-preview")
