"""The order of the verdicts about a stack, and what ends them."""

from dataclasses import replace

from judging import Situation, announce, judge
from judging.losses.continuity import Continuity
from models.load import load
from models.paths import Path
from models.problems import Problem, warning
from planning.ground.cluster_facts import NOTHING_READ, LiveObjects, Pools, Served, Unknown
from planning.ground.instances import MAIN
from planning.ground.needs import NOTHING_NEEDED
from tests.support.stacks import plan, tree

ELSEWHERE = Problem(Path("cluster"), "leads elsewhere")


def situation(**fields):
    values = {
        "loaded": load(tree()), "plan": plan(tree()), "components": (), "needs": NOTHING_NEEDED, "instance": MAIN,
        "facts": NOTHING_READ, "earlier": None, "live": LiveObjects({}), "continuity": Continuity(), "cluster": None,
        "now": None,
    }  # fmt: skip
    return Situation(**(values | fields))


def test_nothing_else_of_another_cluster_is_judged():
    assert list(judge(situation(continuity=Continuity(problems=(ELSEWHERE,))))) == [ELSEWHERE]


def test_warnings_about_the_cluster_and_the_selection_come_with_the_others():
    moved, stale = warning(Path("cluster"), "moves"), warning(Path("services"), "is stale")
    found = list(judge(situation(continuity=Continuity(problems=(moved,)), selection=(stale,))))
    assert found[0] == moved
    assert stale in found[1:]


def test_unread_objects_are_announced_unless_preflight_has_said_so():
    live = Unknown("no answer")
    served = replace(NOTHING_READ, apis=Served(frozenset()))
    assert list(announce(situation(live=live), None, Pools({}))) == []
    (line,) = map(str, announce(situation(live=live, facts=served), None, Pools({})))
    assert line == "changes by others to objects went unchecked: no answer"
