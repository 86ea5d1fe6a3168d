"""Names that are taken in the cluster are told with their owner, before a run takes anything over or fails."""

import pytest

from judging import ownership
from judging.ownership import NamedObject
from models.problems import errors
from planning.ground.cluster_facts import LiveObjects, Unknown
from planning.ground.instances import Instance
from planning.ground.marks import Identity, Mark, StackName
from tests.support.stacks import lines

NAME = StackName("acme", "chat", "prod")
US = Identity(NAME)
PLACE = ("apps", "Deployment", "models", "qwen-decode")
QWEN = NamedObject(
    PLACE, "kubernetes:apps/v1:Deployment", "qwen-decode", ("inference-stacks:index:ModelServiceStack", "qwen")
)
BINDING = NamedObject(
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "", "inference-stacks:models:qwen-epp"),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
    "qwen-epp-metrics-auth",
    None,
)
OTHER, OLD, FOREIGN = Mark("chat.blue", "acme/chat/blue"), Mark(is_generated=True), Mark()
UNCHECKED = "whether existing objects belong to other stacks went unchecked"


def problems(mark, *objects, mode="strict", identity=US, unchecked=()):
    named = objects or (QWEN,)
    live = LiveObjects({}, marks={each.place: mark for each in named}, unchecked=unchecked)
    return ownership.judge(named, live, identity, mode)


def test_nothing_is_said_of_what_is_ours_or_nobodys():
    assert problems(Mark("chat.prod", "acme/chat/prod")) == []
    assert ownership.judge([QWEN], LiveObjects({}), US, "strict") == []


def test_an_object_of_another_stack_is_an_error_that_names_it():
    (line,) = lines(problems(OTHER), "error")
    assert line == (
        "Deployment models/qwen-decode: belongs to stack acme/chat/blue; choose another name or namespace, or write "
        "formerly: [acme/chat/blue] if this stack had that name"
    )
    assert problems(OTHER, identity=Identity(NAME, ("acme/chat/blue",))) == []
    (line,) = lines(problems(Mark("chat.blue")), "error")
    assert "belongs to stack chat.blue; choose another name or namespace, or write formerly: [project/stack]" in line


def test_the_modes_of_the_check():
    assert errors(problems(OTHER, mode="warn")) == []
    assert len(lines(problems(OTHER, mode="warn"), "warning")) == 1
    assert problems(OTHER, mode="skip") == []
    assert ownership.judge([QWEN], Unknown("no answer"), US, "skip") == []


def test_objects_from_before_the_mark_are_one_warning():
    remedy = "make sure that no other stack deploys them"
    assert lines(problems(OLD), "warning") == [
        f"objects without a mark get the mark of acme/chat/prod: Deployment models/qwen-decode; {remedy}"
    ]
    (line,) = lines(problems(OLD, QWEN, BINDING), "warning")
    assert line.endswith(f"prod: Deployment models/qwen-decode and 1 further object; {remedy}")
    assert errors(problems(OLD, QWEN, BINDING)) == []


def test_a_job_from_before_the_mark_is_left_without_a_word():
    job = NamedObject(("batch", "Job", "models", "qwen-weights"), "kubernetes:batch/v1:Job", "qwen-fill", None)
    assert problems(OLD, job) == []
    assert len(problems(OTHER, job)) == 1


def test_somebodys_object_is_told_with_the_command_that_adopts_it():
    (line,) = lines(problems(FOREIGN), "warning")
    urn = "urn:pulumi:prod::chat::inference-stacks:index:InferenceStack"
    assert line == (
        "Deployment models/qwen-decode: exists without the mark of a stack; unless this stack imported it, a run "
        "overwrites it or fails; choose another name, or adopt it (then look at a preview): "
        "pulumi import kubernetes:apps/v1:Deployment "
        f"qwen-decode models/qwen-decode --parent 'qwen={urn}$inference-stacks:index:ModelServiceStack::qwen' "
        f"--provider 'cluster={urn}$pulumi:providers:kubernetes::cluster' --protect=false"
    )
    (line,) = lines(problems(FOREIGN, BINDING), "warning")
    assert line.startswith("ClusterRoleBinding inference-stacks:models:qwen-epp: exists without")
    parent = f"'inference-stack={urn}::inference-stack'"
    assert f"qwen-epp-metrics-auth inference-stacks:models:qwen-epp --parent {parent} --provider" in line
    chat = ownership.import_command(BINDING, NAME, Instance("chat", "chat-"))
    assert f"--parent 'chat={urn}::chat' --provider 'cluster={urn}$pulumi:providers:kubernetes::chat-cluster'" in chat


def test_a_claim_of_somebodys_is_used_rather_than_adopted():
    claim = NamedObject(
        ("", "PersistentVolumeClaim", "models", "weights"), "kubernetes:core/v1:PersistentVolumeClaim", "a", None
    )
    (line,) = lines(problems(FOREIGN, claim), "warning")
    assert line.endswith("fails; choose another name, or use this claim: storage.claimName: weights")


@pytest.mark.parametrize("identity", [US, Identity(NAME, ("chat/old",))])
def test_what_was_not_read_is_said(identity):
    found = ownership.judge([QWEN], Unknown("no answer"), identity, "strict")
    assert lines(found, "warning") == [f"{UNCHECKED}: no answer"]
    (line,) = lines(problems(FOREIGN, unchecked=("v1/ConfigMap", "v1/Service")), "warning")[1:]
    assert line == f"{UNCHECKED} for v1/ConfigMap, v1/Service: the API server refused to list them"
