"""The walk of a configuration through the program: each decision is made once, and no room is entered again."""

from functools import cache
from pathlib import Path

import pytest
import yaml

import planning
from composition import Composition, Given, compose
from models import cleartext
from models.load import load
from planning.ground.cluster_facts import NOTHING_READ
from planning.hardware import accelerators, devices
from tests.support.calls import record, repetitions
from tests.support.stacks import NAME, tree
from tests.support.stacks.varied import VARIED

ORDER = ("models", "planning", "manifests", "judging")
"""Rooms in the order of the walk. `facts` is asked wherever a step needs an answer."""
EXAMPLES = ("canary", "devices", "metered", "multi-node", "network-policies", "profile", "routes", "shared-weights")
FURTHER = ("apart", "ranked")
_CLAIMED = "rules check the size of a claim before the plan has it"
_ENDS = "flows of several pods have the same end"
_FETCHED = "a rule reads a Job's variables without those of the user, of which these Jobs have none"
_GRANTED = "a Role and its binding have the same metadata"
_LAYERS = "a value of the configuration goes into several merged trees"
_LINE = "an image is looked up for an error of its settings, and for a warning of the plan"
_MODEL = "roles of a variant, or profiles of a service, have the same model"
_ORDER = "several objects of an owner have the same predecessors"
_PODS = "leader and workers of a replica have equal parts"
_PRIVILEGES = "a cluster's namespaces have to admit what is found, and a namespace of the stack refuses it"
_RELEASE = "several variants have the same part of the release"
_ROLES = "a generation, and the facts of a picker, are told by the spec of a variant alone"
_SHAPE = "the release repeats a shape, and pickers of several variants are judged by it"
_STARTUP = "probes and waits of several roles have the same startup time"
_STAGES = "a later stage of a selection asks it again of the profiles that an earlier one has left"
_TEXTS = "each variant searches its preset for a URL, and its file for texts to quote"
_TRIED = "a profile is tried, and then the service that has it"
REPEATED = {
    "judging.pod_security.findings": _PRIVILEGES,
    "manifests.network._peers": _ENDS,
    "manifests.pods._mounts": _PODS,
    "manifests.pods._probe": _PODS,
    "manifests.pods._variable": _PODS,
    "manifests.pods._volumes": _PODS,
    "manifests.pods.affinity": _PODS,
    "manifests.pods.fetching": _PODS,
    "models.layers._copy_below": _LAYERS,
    "models.layers.copy_value": _LAYERS,
    "planning.fit.cache.groups": _MODEL,
    "planning.fit.memory.fits": _TRIED,
    "planning.fit.served._source": _MODEL,
    "planning.ground.flows._ends": _ENDS,
    "planning.ground.lifecycle.startup_seconds": _STARTUP,
    "planning.ground.marks.with_mark": _GRANTED,
    "planning.ground.order._Order._before": _ORDER,
    "planning.ground.yaml_text.texts": _TEXTS,
    "planning.hardware.device_claims.requests": _CLAIMED,
    "planning.interceptor.facts.Facts.line_of": _LINE,
    "planning.picker.config._with_flow_control": _RELEASE,
    "planning.picker.value_combinations._fits": _RELEASE,
    "planning.picker.value_shapes.without_constraints": _SHAPE,
    "planning.releases.engine_versions.of_image": _RELEASE,
    "planning.selection.stages.StageFacts.nodes": _STAGES,
    "planning.selection.stages.preferred_place": _STAGES,
    "planning.variant.roles.of": _ROLES,
    "planning.weights.claims.fetch": _FETCHED,
}
"""Functions that do the same work again, with the reason. None may come to them, and whoever mends one removes it."""
_AWAITED = "what is awaited depends on the cluster, whose facts are read for the needs of the rendered objects"
_LISTING = "says what a component or an object is"
_SELECTION = "a service whose profile is selected is loaded with it"
_VERDICT = "makes or sorts problems, which every room does"
RETURNS = {
    "manifests.assembly.await_routes": _AWAITED,
    "manifests.marking.mark": _AWAITED,
    "models.load.load": _SELECTION,
    "models.problems.errors": _VERDICT,
    "models.problems.warnings": _VERDICT,
    "planning.routes.acceptance.decide": _AWAITED,
    "planning.selection.decisions.warnings": "says what the selection could not know without the cluster",
    "models.trees.at": _LISTING,
    "models.trees.mapping": _LISTING,
}
"""Functions of an earlier room that composition calls after one of a later room, with the reason."""


def stacks():
    """Yield name and tree of the stacks that walk."""
    for name in EXAMPLES:
        file = yaml.safe_load(Path(f"examples/{name}.yaml").read_text(encoding="utf-8"))
        yield name, file["config"]["inference-stacks:stack"]
    yield from ((name, VARIED[name]) for name in FURTHER)


@cache
def walks():
    """Return the calls of a composition by name of the stack. Tables of the releases are read before."""
    for _, stack in stacks():
        composed(stack)
    return {name: record(lambda stack=stack: composed(stack)) for name, stack in stacks()}


def composed(stack):
    result = compose(stack, Given(NOTHING_READ), NAME)
    assert isinstance(result, Composition)


def returns(steps):
    """Yield the functions among `(calling module, called module, name)` in whose room the walk was before."""
    furthest = 0
    for caller, module, name in steps:
        room = module.partition(".")[0]
        if caller.partition(".")[0] != "composition" or room not in ORDER or not name.isidentifier():
            continue
        if ORDER.index(room) < furthest:
            yield f"{module}.{name}"
        furthest = max(furthest, ORDER.index(room))


def steps(calls):
    return ((call.caller.module, call.module, call.code.co_qualname) for call in calls if call.caller)


def test_no_function_does_the_same_work_twice():
    repeated = {call.function for calls in walks().values() for call, _ in repetitions(calls)}
    assert repeated == REPEATED.keys()


def test_the_walk_returns_to_no_room_without_a_reason():
    returned = {function for calls in walks().values() for function in returns(steps(calls))}
    assert returned == RETURNS.keys()


def test_a_second_plan_of_a_stack_is_the_same_work():
    loaded = load(tree(), ())

    def twice():
        planning.plan(loaded, NAME)
        planning.plan(loaded, NAME)

    repeated = {call.function: times for call, times in repetitions(record(twice))}
    assert repeated["planning.plan"] == 2
    # The functions that it calls work again, too, but not on their own account.
    assert "planning.resolve.resolve" not in repeated


def test_equal_specs_of_two_services_are_not_the_same_work():
    stack = tree(a={"replicas": 2}, b={"replicas": 2})
    calls = record(lambda: planning.plan(load(stack, ()), NAME))
    plans = [call for call in calls if call.function == "planning.serving.workload.plan"]
    assert len(plans) > 1
    assert not [call for call, _ in repetitions(calls) if call in plans]


def test_a_default_of_two_services_is_not_the_same_work_and_their_release_is():
    calls = record(lambda: planning.plan(load(tree(a={}, b={}), ()), NAME))
    functions = [call.function for call in calls]
    repeated = {call.function for call, _ in repetitions(calls)}
    both = {"planning.hardware.devices.spread_of", "planning.releases.engine_versions.of_image"}
    assert {function: functions.count(function) for function in both} == dict.fromkeys(both, 2)
    assert repeated & both == {"planning.releases.engine_versions.of_image"}


def test_a_default_that_no_subject_tells_apart_is_the_same_work():
    spec = load(tree(), ()).stack.services["qwen"]
    cls = accelerators.classes({})[spec.accelerator]
    spread = devices.spread_of(spec.parallelism, None, cls)

    def twice():
        devices.layout(spread, spec.parallelism, None, cls)
        devices.layout(spread, spec.parallelism, None, cls)

    assert [(call.function, times) for call, times in repetitions(record(twice))] == [
        ("planning.hardware.devices.layout", 2)
    ]


def test_a_generator_is_one_call_however_many_values_it_yields():
    secrets = [{"AWS_SECRET_ACCESS_KEY": f"{letter * 40}"} for letter in "abc"]
    calls = record(lambda: [*cleartext.problems({"env": secrets})])
    assert [call.function for call in calls].count("models.cleartext.problems") == 1


@pytest.mark.parametrize(
    ("rooms", "returned"),
    [
        (["models", "models", "planning", "judging"], []),
        (["models", "planning", "models", "planning"], ["models.room.step"]),
        (["judging", "facts", "manifests", "planning"], ["manifests.room.step", "planning.room.step"]),
    ],
)
def test_a_return_to_a_room_is_found(rooms, returned):
    assert [*returns(("composition.pipeline", f"{room}.room", "step") for room in rooms)] == returned
    assert [*returns(("planning.plans", f"{room}.room", "step") for room in rooms)] == []
