"""A deployment run waits for its routes; a preview reports on the others; and so they are rendered."""

import json

import pytest

from facts import facts_file
from manifests.assembly import objects, render
from planning import outputs
from planning.ground import parts
from planning.ground.awaiting import PROVIDER_DEFAULT
from planning.ground.cluster_facts import (
    NOTHING_READ,
    ClusterFacts,
    GatewayRef,
    Gateways,
    LiveGateway,
    Routes,
    Served,
    Unknown,
)
from planning.routes import acceptance
from tests.support.commands import rendering
from tests.support.stacks import lines, plan, tree

REF = GatewayRef("gateway.networking.k8s.io", "Gateway", "gateways", "gateway")
ACCEPTED = LiveGateway(REF, accepted=True, programmed=True)


def decided(*found, services=("qwen",)):
    return acceptance.decide(plan(tree(**{key: {} for key in services})).routes, Gateways(found))


def route(awaited):
    (resource,) = [resource for resource in objects(render(plan(tree()), awaited)) if resource.id.part is parts.ROUTE]
    return resource


def test_the_routes_of_a_gateway_that_a_controller_has_accepted_are_awaited():
    waits = decided(ACCEPTED, services=("a", "b"))
    assert (waits.routes, waits.gateways, waits.warnings) == ({"a", "b"}, (REF,), ())


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ((), "there is no such Gateway, so nobody will accept the routes of services.qwen"),
        (
            (LiveGateway(REF, accepted=False, programmed=False),),
            "no controller has accepted this Gateway, so nobody will accept the routes of services.qwen",
        ),
        (
            (LiveGateway(REF, accepted=False, programmed=False, reason="Not: sure"),),
            "no controller has accepted this Gateway (Not: sure), so nobody will accept the routes of services.qwen",
        ),
    ],
)
def test_without_a_controller_nothing_is_awaited_and_that_is_said(found, message):
    verdict = decided(*found)
    assert (verdict.routes, verdict.gateways) == (set(), ())
    assert lines(verdict.warnings, "warning") == [f"gateways/gateway: {message}"]


def test_a_gateway_that_is_not_in_effect_accepts_routes_all_the_same():
    verdict = decided(LiveGateway(REF, accepted=True, programmed=False, reason="AddressNotAssigned: none"))
    assert verdict.routes == {"qwen"}
    (line,) = lines(verdict.warnings, "warning")
    assert line.startswith("gateways/gateway: this Gateway is not in effect yet (AddressNotAssigned: none)")


def test_what_could_not_be_read_is_said_and_not_taken_for_absent():
    verdict = acceptance.decide(plan(tree()).routes, Unknown("no answer"))
    assert verdict.routes == set()
    assert lines(verdict.warnings, "warning") == [
        "gateways/gateway: acceptance of the routes of services.qwen went unchecked: no answer"
    ]


def test_a_parent_of_another_kind_is_not_taken_for_absent():
    stack = tree() | {"gateway": tree()["gateway"] | {"group": "example.com", "kind": "Other"}}
    (line,) = lines(acceptance.decide(plan(stack).routes, Gateways((ACCEPTED,))).warnings, "warning")
    assert (
        line == "gateways/gateway: acceptance of the routes of services.qwen went unchecked: "
        "the parent is not a Gateway (Other)"
    )


def test_of_many_services_three_are_named():
    (line,) = lines(decided(services="abcde").warnings, "warning")
    assert line.endswith("the routes of services.a, services.b, services.c and 2 more")


def test_a_stack_without_routes_asks_for_no_gateway_and_says_nothing():
    planned = plan(tree(qwen={"route": {"enabled": False}}))
    assert acceptance.gateways(planned.routes) == set()
    assert acceptance.decide(planned.routes, Unknown("no answer")).warnings == ()
    assert acceptance.gateways(plan(tree()).routes) == {REF}


def test_a_route_that_is_awaited_says_of_which_gateway_and_generation():
    awaited = route({"qwen"})
    conditions = json.loads(awaited.manifest["metadata"]["annotations"]["pulumi.com/waitFor"])
    assert len(conditions) == 3
    for condition in conditions:
        assert "@.parentRef.name=='gateway'" in condition
        assert "@.observedGeneration==$.metadata.generation" in condition
        assert condition.endswith("=True")
    assert awaited.wait.seconds == 300


def test_a_route_that_is_not_awaited_is_as_it_was():
    awaited = route({"qwen"})
    other = route(set())
    assert other == route({"other"})
    assert other.wait == PROVIDER_DEFAULT
    assert "pulumi.com/waitFor" not in other.manifest["metadata"].get("annotations", {})
    assert other.manifest["spec"] == awaited.manifest["spec"]


def test_the_outputs_say_which_routes_are_awaited():
    output = outputs.of_stack(plan(tree(a={}, b={})), None, {"b"})["services"]
    assert output["a"]["awaited"] == ["endpointPicker", "pool", "replicas", "workload"]
    assert output["b"]["awaited"] == ["endpointPicker", "pool", "replicas", "route", "workload"]


def test_the_digest_of_facts_tells_whose_routes_are_awaited():
    facts = ClusterFacts(Served(frozenset({"v1/Service"})), Gateways((ACCEPTED,)), Routes(()))
    assert facts.digest(["v1/Service"], [REF]) != facts.digest(["v1/Service"]) == facts.digest(["v1/Service"], [])
    assert NOTHING_READ.digest(["v1/Service"], [REF]) is None


def test_a_rendered_file_waits_where_its_facts_say_so(tmp_path, capsys):
    kinds = Served(frozenset({"v1/Service"}))
    ref = GatewayRef(REF.group, REF.kind, "gateways", "inference-gateway")
    texts = {}
    for accepted in (True, False):
        gateways = Gateways((LiveGateway(ref, accepted, accepted),))
        (tmp_path / "facts.json").write_text(facts_file.text(ClusterFacts(kinds, gateways, Routes(()))))
        texts[accepted] = rendering("examples/canary.yaml", "--facts", str(tmp_path / "facts.json"))
        assert ("no controller has accepted" in capsys.readouterr().err) is not accepted
    assert "pulumi.com/waitFor" in texts[True]
    assert "pulumi.com/waitFor" not in texts[False]
    assert texts[True].splitlines()[1] != texts[False].splitlines()[1]
