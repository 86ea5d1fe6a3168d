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
from tests.support.calls import record, repetitions
from tests.support.stacks import NAME, tree
from tests.support.stacks.varied import VARIED

ORDER = ("models", "planning", "manifests", "judging")
"""Rooms in the order of the walk. `facts` is asked wherever a step needs an answer."""
EXAMPLES = ("canary", "devices", "metered", "multi-node", "network-policies", "profile", "routes", "shared-weights")
FURTHER = ("apart", "ranked")
REPEATED = {
    "judging.pod_rules._context",
    "judging.pod_security.findings",
    "manifests.network._peers",
    "manifests.pods._variable",
    "manifests.pods._volumes",
    "manifests.pods.affinity",
    "manifests.pods.fetching",
    "manifests.serving._claim_spec",
    "models.layers._copy_below",
    "models.layers.copy_value",
    "planning.fit.cache.groups",
    "planning.fit.memory.fits",
    "planning.fit.served.request",
    "planning.fit.served.source_of",
    "planning.ground.flows._ends",
    "planning.ground.lifecycle.wait_seconds",
    "planning.ground.marks.with_mark",
    "planning.ground.order._Order._before",
    "planning.ground.yaml_text.texts",
    "planning.hardware.accelerators._classes",
    "planning.hardware.devices.layout",
    "planning.hardware.devices.spread_of",
    "planning.hardware.nodes.of_class",
    "planning.interceptor.edge.edge",
    "planning.interceptor.facts.Facts.line_of",
    "planning.picker.config._with_flow_control",
    "planning.picker.config._with_weights",
    "planning.picker.graph._declared_types",
    "planning.picker.graph._shape",
    "planning.picker.graph.app_protocol",
    "planning.picker.graph.used_parsers",
    "planning.picker.value_combinations._fits",
    "planning.picker.value_combinations._values",
    "planning.picker.value_shapes.without_constraints",
    "planning.refusals.values.one_of",
    "planning.releases.engine_versions.of_image",
    "planning.routes.request_claims.of_route",
    "planning.routes.rules._served_names",
    "planning.selection.fleet.Fleet.nodes",
    "planning.selection.stages.StageFacts.nodes",
    "planning.selection.stages.preferred_place",
    "planning.serving.engine_arguments._arguments",
    "planning.variant.images.engine",
    "planning.weights.claims.fetch",
    "planning.weights.sizes.variant_question",
    "planning.weights.sources.plan",
}
"""Functions that do the same work again. Some decide twice; others meet equal values of two variants or pods.

None may come to them, and whoever mends a function removes it here."""
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
    assert repeated == REPEATED


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
