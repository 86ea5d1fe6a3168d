"""Runs that leave a workload without a ready replica, by live objects."""

import pytest

from judging.report import checks, outages
from judging.report.running import template
from manifests.assembly import objects, render
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ, LiveObject, LiveObjects, Unknown
from planning.hardware import accelerators
from tests.support.stacks import lines, plan, tree

LONGER = {"model": {"name": "org/m", "source": "kit://registry.example/m:v1", "maxModelLen": 8192}}
SHORTER = {"model": {**LONGER["model"], "maxModelLen": 4096}}
SURGE = {"rollout": {"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0}}
REMEDY = "replicas: 2, or maxSurge: 1 with maxUnavailable: 0 avoids it"
LEAVES = "services.qwen.rollout: leaves no replica of qwen-decode ready for up to 62 min"


def living(stack, ready):
    """Return the objects of a stack in a cluster, with a number of ready replicas in the status of each workload."""
    return LiveObjects(
        {
            item.place: LiveObject({**item.manifest, "status": {} if ready is None else {"readyReplicas": ready}})
            for item in objects(render(plan(stack)))
        }
    )


def judged(before, after, mode="strict", allow=(), ready=1, live=None):
    """Return errors and warnings of a run from one service to another."""
    stack = tree(qwen=after)
    planned = plan(stack)
    made = {item.place: item.manifest for item in objects(render(planned))}
    templates = {place: template(place[1], made[place]) for place in made}
    present = live or living(tree(qwen=before), ready)
    cluster = checks.ClusterBefore(NOTHING_READ, present, accelerators.classes({}), templates)
    of_run = outages.of_run(planned, cluster, load(stack).stack)
    problems = list(outages.judge(of_run, mode, allow))
    return lines(problems, "error"), lines(problems, "warning")


def test_the_restart_of_the_only_ready_replica_is_an_outage():
    assert judged(SHORTER, LONGER) == ([f"{LEAVES}; {REMEDY}, or write allow: [outage] for one run"], [])
    assert judged(SHORTER, LONGER, mode="warn") == ([], [f"{LEAVES}; {REMEDY}"])
    assert judged(SHORTER, LONGER, allow=["outage"]) == ([], [f"{LEAVES}; {REMEDY}"])


@pytest.mark.parametrize(
    ("before", "after", "ready"),
    [
        (SHORTER, SHORTER, 1),
        (SHORTER, {**LONGER, **SURGE}, 1),
        ({**SHORTER, "replicas": 2}, {**LONGER, "replicas": 2}, 2),
        (SHORTER, {**LONGER, "replicas": 2}, 1),
        (SHORTER, LONGER, 0),
        (SHORTER, LONGER, None),
        ({**SHORTER, "replicas": 0}, LONGER, 0),
    ],
    ids=["nothing", "surge", "two", "one more", "none was ready", "no status", "none was wanted"],
)
def test_a_run_that_takes_no_last_replica_is_none(before, after, ready):
    assert judged(before, after, ready=ready) == ([], [])


def test_all_replicas_at_once_and_no_replicas_are_outages():
    two = {"replicas": 2, "rollout": {"type": "Recreate"}}
    (recreated,), _ = judged({**SHORTER, **two}, {**LONGER, **two}, ready=2)
    assert recreated.endswith(" min; write rollout: {type: RollingUpdate}, or write allow: [outage] for one run")
    (ended,), _ = judged(SHORTER, {**SHORTER, "replicas": 0})
    assert ended == "services.qwen.replicas: ends all replicas of qwen-decode; write allow: [outage] for one run"


def test_a_new_service_is_no_outage():
    assert judged(None, LONGER, live=LiveObjects({})) == ([], [])


@pytest.mark.parametrize(
    ("live", "reason"),
    [
        (Unknown("no answer"), "no answer"),
        (LiveObjects({}, refused=("apps/v1/Deployment",)), "access was denied to apps/v1/Deployment"),
    ],
)
def test_what_nobody_could_read_goes_unchecked(live, reason):
    gap = f"whether this run leaves a service without a ready replica went unchecked: {reason}"
    assert judged(SHORTER, LONGER, live=live) == ([], [gap])
