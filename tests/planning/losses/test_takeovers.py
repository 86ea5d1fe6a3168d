"""Objects in the cluster that the state lacks: of another state, or lost by this one."""

import pytest

from planning.ground.cluster_facts import LiveObjects, Unknown
from planning.ground.marks import Identity, Mark, StackName
from planning.losses import takeovers

NAME = StackName("organization", "chat", "prod")
OWNER = Identity(NAME, ("inference-stacks/prod",))
FIRST, SECOND = ("", "Service", "models", "qwen"), ("apps", "Deployment", "models", "qwen-decode")
FORMER = Mark(stack="organization/inference-stacks/prod")


def live(**marks):
    return LiveObjects({}, marks=dict(zip((FIRST, SECOND), marks.values(), strict=False)))


def problems(current, recorded=()):
    return [str(problem) for problem in takeovers.problems((FIRST, SECOND), recorded, current, OWNER)]


def returns(current, recorded=()):
    return [str(problem) for problem in takeovers.returns((FIRST, SECOND), recorded, current, OWNER)]


def test_objects_of_an_earlier_name_are_refused_unless_the_state_has_them():
    current = live(first=FORMER, second=FORMER)
    (refusal,) = problems(current)
    assert refusal == (
        "formerly: Service models/qwen and 1 further object exist with the mark of organization/inference-stacks/prod, "
        "whose state has them, too, and can delete them; rename that stack (pulumi stack rename "
        "organization/chat/prod), or write allow: [takeover] for one run"
    )
    assert problems(current, {FIRST, SECOND}) == []
    assert len(problems(current, {FIRST})) == 1


@pytest.mark.parametrize(
    "mark", [Mark(), Mark(stack="organization/chat/prod"), Mark(label="chat.prod"), Mark(stack="organization/a/b")]
)
def test_objects_of_this_stack_and_of_others_are_not_taken_over(mark):
    assert problems(live(first=mark)) == []


def test_objects_of_this_stack_that_the_state_lacks_come_back():
    current = live(first=Mark(label="chat.prod"), second=Mark(stack="organization/chat/prod"))
    (both,) = returns(current)
    assert both == (
        "Service models/qwen and 1 further object exist in the cluster, but not in the state; "
        "this run takes them back as they are"
    )
    assert returns(current, {SECOND}) == [
        "Service models/qwen exists in the cluster, but not in the state; this run takes them back as they are"
    ]
    assert returns(current, {FIRST, SECOND}) == returns(live(first=FORMER)) == []


def test_a_cluster_that_was_not_read_shows_nothing():
    assert problems(Unknown("late")) == returns(Unknown("late")) == []
