"""A stack that gets another name or project, or whose state moves: what runs stays, or the run is refused."""

import json

import pytest

from tests.support.cluster.workstations import UNCHANGED, Workstation, small, uids

pytestmark = pytest.mark.real

UP = ("up", "--yes", "--skip-preview")
UPDATED = (("preview",), ("preview", "--refresh"), UP, *UNCHANGED)
"""Commands of which the first run changes metadata."""
REFUSED = (("preview",), ("preview", "--refresh"), UP, (*UP, "--refresh"))
FORMER = "organization/inference-stacks"


@pytest.fixture
def ann(home, packages, plane, tmp_path, request):
    """Return a workstation with a stack that is deployed, called as the test's row."""
    user = Workstation(tmp_path / "ann", home, packages, called=request.param)
    user.kubeconfig(plane)
    user.begin(small(f"moved-{request.param}"))
    user.succeed(*UP)
    return user


def commands(user, plane, done, namespace):
    """Run commands that succeed, and assert after each that namespaces, workloads and pods are the same."""
    before = uids(plane, namespace)
    assert before
    for command in done:
        user.succeed(*command)
        assert uids(plane, namespace) == before, command


def refusals(user, plane, namespace, text):
    """Run commands that are refused with a text, and assert after each that nothing has changed."""
    before = uids(plane, namespace)
    assert before
    for command in REFUSED:
        assert text in user.fail(*command), command
        assert uids(plane, namespace) == before, command


def end(user, plane, namespace):
    user.succeed("destroy", "--yes", "--skip-preview")
    assert uids(plane, namespace) == {}


@pytest.mark.parametrize("ann", ["stack"], indirect=True)
def test_a_stack_that_is_renamed_keeps_its_pods_and_says_its_earlier_name(ann, plane):
    """See defects L1."""
    namespace = "moved-stack"
    former = ann.stack_file
    ann.succeed("stack", "rename", "renamed")
    ann.called = "renamed"
    assert not former.exists()
    refusals(ann, plane, namespace, f"belongs to stack {FORMER}/stack")
    ann.write(small(namespace, formerly=["inference-stacks/stack"]))
    commands(ann, plane, UPDATED, namespace)
    end(ann, plane, namespace)


@pytest.mark.parametrize("ann", ["project"], indirect=True)
def test_a_project_that_is_renamed_with_its_state_keeps_its_pods(ann, plane):
    """See defects L1."""
    namespace = "moved-project"
    ann.succeed("stack", "rename", "organization/chat/project")
    ann.rename_project("chat")
    ann.write(small(namespace))
    refusals(ann, plane, namespace, f"belongs to stack {FORMER}/project")
    ann.write(small(namespace, formerly=["inference-stacks/project"]))
    commands(ann, plane, UPDATED, namespace)
    end(ann, plane, namespace)


@pytest.mark.parametrize("ann", ["left"], indirect=True)
def test_a_project_that_is_renamed_without_its_state_is_refused(ann, plane):
    """See defects L1."""
    namespace = "moved-left"
    ann.rename_project("chat")
    ann.begin(small(namespace))
    refusals(ann, plane, namespace, f"belongs to stack {FORMER}/left")
    ann.write(small(namespace, formerly=["inference-stacks/left"]))
    refusals(
        ann,
        plane,
        namespace,
        f"with the mark of {FORMER}/left, whose state has them, too, and can delete them; rename that stack",
    )
    ann.rename_project("inference-stacks")
    end(ann, plane, namespace)


@pytest.mark.parametrize("ann", ["bucket"], indirect=True)
def test_a_state_that_moves_to_a_bucket_and_back_changes_nothing(ann, plane, backends, tmp_path, home, packages):
    """See defects L2."""
    namespace = "moved-bucket"
    ben = Workstation(tmp_path / "ben", home, packages, called="bucket")
    ben.kubeconfig(plane)
    ben.variables |= backends["bucket"]("moved-state").environment()
    ben.begin(small(namespace))
    for sender, receiver in ((ann, ben), (ben, ann)):
        file = tmp_path / "state.json"
        sender.succeed("stack", "export", "--file", str(file))
        assert json.loads(file.read_text())["deployment"]["resources"]
        receiver.succeed("stack", "import", "--file", str(file))
        commands(receiver, plane, UNCHANGED, namespace)
    end(ann, plane, namespace)
