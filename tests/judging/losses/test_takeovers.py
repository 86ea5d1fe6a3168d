"""Objects in the cluster that the state lacks: of another state, or lost by this one."""

import pytest

from judging.losses import takeovers
from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.cluster_facts import LiveObject, LiveObjects, LiveRoute, Routes, Unknown
from planning.ground.marks import Identity, Mark, StackName, Verdict

NAME = StackName("organization", "chat", "prod")
OWNER = Identity(NAME, ("inference-stacks/prod",))
FIRST, SECOND = ("", "Service", "models", "qwen"), ("apps", "Deployment", "models", "qwen-decode")
NOTHING_LIVE, UNREAD = LiveObjects({}), Unknown("late")
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


ROUTE = (GATEWAY_GROUP, "HTTPRoute", "team-a", "chat")
ELSEWHERE = ("apps", "Deployment", "models", "chat-decode")


def routes(mark=FORMER):
    return Routes((LiveRoute("team-a", "chat", (), (), (), mark),))


def deployed(place=ELSEWHERE, stack=FORMER.stack):
    metadata = {"labels": {}, "annotations": {"inference-stacks.io/stack": stack}}
    return LiveObjects({place: LiveObject({"metadata": metadata})})


def living(current=NOTHING_LIVE, there=UNREAD, planned=(FIRST, SECOND), recorded=(), owner=OWNER):
    strangers = takeovers.strangers(planned, recorded, current, there, owner)
    return [str(problem) for problem in takeovers.living(strangers)], takeovers.without_living(owner, strangers)


def test_a_stack_that_lives_on_is_no_earlier_name():
    """See defects H9."""
    (refusal,), owner = living(deployed(), routes())
    assert refusal == (
        "formerly: Deployment models/chat-decode and 1 further object exist with the mark of "
        "organization/inference-stacks/prod, which is another stack: neither this stack nor its state has them; remove "
        "organization/inference-stacks/prod from formerly, or write allow: [takeover] for one run that takes other "
        "objects of that stack"
    )
    assert owner == Identity(NAME)
    assert owner.verdict(FORMER) is Verdict.ANOTHER


def test_only_the_name_of_the_stack_that_lives_on_is_left_out():
    """See defects H9."""
    several = Identity(NAME, ("inference-stacks/prod", "chat/old"))
    (refusal,), owner = living(there=routes(), owner=several)
    assert "HTTPRoute team-a/chat exists" in refusal
    assert owner == Identity(NAME, ("chat/old",))


@pytest.mark.parametrize(
    "known",
    [
        {"there": routes(), "planned": (ROUTE,)},
        {"there": routes(), "recorded": (ROUTE,)},
        {"there": routes(Mark(stack="organization/chat/prod"))},
        {"there": routes(Mark(stack="organization/a/b"))},
        {"there": routes(Mark())},
        {"current": deployed(("", "PersistentVolumeClaim", "models", "weights"))},
        {"current": Unknown("late")},
    ],
)
def test_after_a_rename_no_object_of_the_earlier_name_is_a_strangers(known):
    """See defects H9. A claim may stay after its stack has ended."""
    assert living(**known) == ([], OWNER)
