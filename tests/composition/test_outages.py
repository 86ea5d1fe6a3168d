"""`checks.outage` refuses a run before anything changes, and `allow: [outage]` lets it pass."""

from dataclasses import replace

import pytest

from composition import Composition, Given, compose, lost_services
from composition.instances import Sibling
from manifests.assembly import objects, render
from models.problems import errors, warnings
from planning.ground.cluster_facts import NOTHING_READ, LiveObject, LiveObjects, Served
from planning.ground.instances import MAIN
from tests.support.stacks import NAME, plan, tree

BEFORE = {"engine": {"args": ["--seed=1"]}}
AFTER = {"engine": {"args": ["--seed=2"]}}


class RunningCluster(Given):
    """A cluster in which a stack runs with ready pods."""

    def objects(self, _spec, _kinds, _names):
        stack = objects(render(plan(tree(qwen=BEFORE))))
        return LiveObjects(
            {item.place: LiveObject({**item.manifest, "status": {"readyReplicas": 1}}) for item in stack}
        )


def run(after, **more):
    """Return what a run says of outages, and the composition."""
    kinds = {item.api for item in objects(render(plan(tree(qwen=after))))}
    target = RunningCluster(replace(NOTHING_READ, apis=Served(frozenset(kinds))))
    composed = compose({**tree(qwen=after), **more}, target, NAME)
    assert isinstance(composed, Composition)
    return [
        [problem.what for problem in severity(composed.preflight) if "leaves no replica" in problem.what]
        for severity in (errors, warnings)
    ], composed


def unused(composed):
    """Return the words in `allow` that have no effect."""
    return [str(problem) for problem in lost_services.problems([Sibling(MAIN, composed, "")])]


WHAT = "leaves no replica of qwen-decode ready for up to 62 min"


@pytest.mark.parametrize(
    ("after", "more", "expected"),
    [
        (AFTER, {}, [[], []]),
        (AFTER, {"checks": {"outage": "warn"}}, [[], [WHAT]]),
        (AFTER, {"checks": {"outage": "strict"}}, [[WHAT], []]),
        (AFTER, {"checks": {"outage": "strict"}, "allow": ["outage"]}, [[], [WHAT]]),
        (BEFORE, {"checks": {"outage": "strict"}}, [[], []]),
    ],
)
def test_a_run_is_judged_as_the_configuration_says(after, more, expected):
    assert run(after, **more)[0] == expected


def test_the_word_is_taken_out_after_the_run():
    strict = {"checks": {"outage": "strict"}, "allow": ["outage"]}
    assert unused(run(AFTER, **strict)[1]) == []
    assert unused(run(BEFORE, **strict)[1]) == ["allow[0]: has no effect in this run (outage); take it out"]
    assert unused(run(AFTER, allow=["outage"])[1]) == ["allow[0]: has no effect in this run (outage); take it out"]
