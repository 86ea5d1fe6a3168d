"""Planned routes never claim the requests of other routes in the cluster."""

import pytest
from hypothesis import given

from judging.routes import judge
from models.problems import errors
from planning.ground.cluster_facts import GatewayRef, ParentRef, Routes, Unknown
from planning.ground.marks import Identity, Mark
from planning.routes import request_claims
from tests.support.stacks import NAME, lines
from tests.support.stacks.route_records import GROUP, KIND, live, meet, route, routes

US = Identity(NAME, ("inference-stacks/past",))
REMEDY = "give one of the two routes another path or hostname"


def beside(*others, mode="strict", planned=None):
    return about_collisions(judge(planned or [route("b")], US, Routes(others), mode))


def about_collisions(problems):
    return [problem for problem in problems if problem.what.startswith("is taken")]


def test_a_route_of_somebody_else_is_an_error_that_names_both():
    verdict = beside(live("theirs"))
    (error,) = lines(verdict, "error")
    assert lines(verdict, "warning") == []
    assert error == (
        "services.b.route.matches[0].path: is taken on gateways/gateway by HTTPRoute elsewhere/theirs "
        f"(/models/qwen, any host); {REMEDY}"
    )


def test_the_modes_of_the_check():
    (warning,) = lines(beside(live("theirs"), mode="warn"), "warning")
    assert "elsewhere/theirs" in warning
    assert errors(beside(live("theirs"), mode="warn")) == []
    assert beside(live("theirs"), mode="skip") == []


def test_a_route_of_the_stacks_own_place_is_its_own():
    assert beside(live("b", namespace="models")) == []
    assert errors(beside(live("b", namespace="elsewhere")))


def test_a_route_that_this_run_removes_is_a_warning():
    verdict = beside(live("old", mark=Mark(stack=str(NAME))))
    assert errors(verdict) == []
    (warning,) = lines(verdict, "warning")
    assert "HTTPRoute elsewhere/old" in warning
    assert warning.endswith("this run removes that route; until then the older route gets the requests")
    assert errors(beside(live("old", mark=Mark(stack="organization/inference-stacks/past")))) == []


def test_a_route_of_another_stack_is_an_error_that_names_it():
    (error,) = lines(beside(live("old", mark=Mark(stack="acme/chat/prod"))), "error")
    assert f"HTTPRoute elsewhere/old of stack acme/chat/prod (/models/qwen, any host); {REMEDY}" in error


def test_a_route_from_before_the_mark_is_a_warning():
    verdict = beside(live("old", mark=Mark(is_generated=True)))
    assert errors(verdict) == []
    (warning,) = lines(verdict, "warning")
    assert warning.endswith("keep only one of the two routes; while both exist, the older route gets the requests")


@pytest.mark.parametrize(
    ("other", "meet"),
    [
        ({"path": "/models/qwen/"}, True),
        ({"kind": "Exact"}, False),
        ({"kind": "RegularExpression"}, False),
        ({"path": "/"}, False),
        ({"more": ('{"method": "GET"}',)}, False),
        ({"headers": [("Exact", "x-team", "a")]}, False),
        ({"hostnames": ["llm.example"]}, False),
        ({"section_name": "https"}, True),
        ({"parents": ()}, False),
    ],
    ids=str,
)
def test_what_a_route_of_the_cluster_claims(other, meet):
    assert bool(errors(beside(live("theirs", **other)))) is meet


def test_the_types_of_headers_are_told_apart():
    planned = [route("b", headers={"x-team": "a"})]
    assert errors(beside(live("theirs", headers=[("Exact", "X-Team", "a")]), planned=planned))
    assert not errors(beside(live("theirs", headers=[("RegularExpression", "X-Team", "a")]), planned=planned))


def test_any_of_several_parents_of_a_route_of_the_cluster_counts():
    elsewhere, here = (ParentRef(GatewayRef(GROUP, KIND, "gateways", name), None, None) for name in ("x", "gateway"))
    assert errors(beside(live("theirs", parents=(elsewhere, here))))
    assert not errors(beside(live("theirs", parents=(elsewhere,))))


def test_what_could_not_be_read_is_said_and_not_taken_for_absent():
    problems = list(judge([route("b")], US, Unknown("no answer"), "strict"))
    assert errors(problems) == []
    assert lines(problems, "warning") == ["collisions with other routes on gateways/gateway went unchecked: no answer"]
    assert list(judge([], US, Unknown("no answer"), "strict")) == []


@given(routes(), routes())
def test_the_collisions_with_a_cluster_are_those_that_a_comparison_of_all_pairs_finds(planned, others):
    there = [
        live(f"o{other.name}", other.matches[0].path, hostnames=other.hostnames,
             headers=[("Exact", *pair) for pair in other.matches[0].headers.items()],
             parents=(request_claims.reference(other),))
        for other in others
    ]  # fmt: skip
    pairs = {(ours.key, f"o{theirs.name}") for ours in planned for theirs in others if meet(ours, theirs)}
    verdict = about_collisions(judge(planned, US, Routes(tuple(there)), "strict"))
    reported = {(line.split(".")[1], line.split("elsewhere/")[1].split(" ")[0]) for line in lines(verdict, "error")}
    assert reported <= pairs
    assert sorted(line.split(".")[1] for line in lines(verdict, "error")) == sorted({key for key, _ in pairs})
