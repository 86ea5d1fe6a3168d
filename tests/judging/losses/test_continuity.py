"""An inference stack beside Pulumi's state and the cluster."""

from judging.losses import continuity
from judging.losses.continuity import Continuity
from manifests.assembly import render
from planning.ground.cluster_facts import LiveObjects, Routes, Unknown
from planning.ground.instances import MAIN
from planning.ground.recorded import NOTHING_RECORDED, ClusterRecord, Recorded
from tests.support.stacks import plan, tree

PLAN = plan(tree())


def compared(state=NOTHING_RECORDED, live=LiveObjects({})):  # noqa: B008, frozen
    return continuity.compare(render(PLAN), state, live, Routes(()), MAIN, PLAN.identity, "prod", ())


def test_a_state_that_could_not_be_read_is_a_check_that_did_not_run():
    (problem,) = compared(Unknown("no answer")).problems
    assert str(problem) == "whether this run ends running services went unchecked: no answer"


def test_a_first_run_has_no_problems_and_takes_note_of_its_cluster():
    first = compared(live=LiveObjects({}, cluster="uid"))
    assert (first.problems, first.aliases, first.used) == ((), {}, frozenset())
    assert (first.cluster, first.owner) == (ClusterRecord("uid", "prod"), PLAN.identity)
    assert compared().cluster is None


def test_nothing_that_was_compared_has_no_owner():
    assert Continuity().owner is None


def test_a_run_is_moved_if_it_leads_to_another_cluster_than_the_one_in_the_state():
    recorded = Recorded(clusters={MAIN.name: ClusterRecord("uid", "prod")})
    relations = {"uid": False, "other": True, None: False}
    for uid, is_moved in relations.items():
        assert compared(recorded, LiveObjects({}, cluster=uid)).is_moved is is_moved
    assert not compared(recorded, Unknown("no answer")).is_moved
    assert not compared(live=LiveObjects({}, cluster="uid")).is_moved
