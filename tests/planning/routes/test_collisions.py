"""Two routes of a stack never claim the same requests on one gateway."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given

from planning.routes import collisions
from tests.support.stacks.route_records import meet, route, routes

REMEDY = "give one of the two routes another path or hostname"


def found(*routes):
    return [str(problem) for problem in collisions.judge(routes)]


def test_a_path_is_taken_once_on_a_gateway():
    """See aim-engine B25."""
    (line,) = found(route("a"), route("b"))
    assert line == (
        "services.b.route.matches[0].path: is taken on gateways/gateway by services.a (/models/qwen, any host); "
        f"{REMEDY}"
    )


@pytest.mark.parametrize(
    "other",
    [
        {"path": "/models/qwen/v1"},
        {"path": "/models/qwe"},
        {"headers": {"x-team": "a"}},
        {"name": "other"},
        {"gateways": "models"},
    ],
    ids=str,
)
def test_a_longer_path_more_headers_or_another_gateway_is_no_collision(other):
    assert found(route("a"), route("b", **other)) == []


@pytest.mark.parametrize(
    ("hosts", "others", "meet"),
    [
        ((), (), True),
        ((), ("a.example",), False),
        (("a.example",), ("a.example",), True),
        (("a.example",), ("b.example",), False),
        (("*.example",), ("*.example",), True),
        (("*.example",), ("x.y.example",), False),
        (("*.example",), ("example",), False),
        (("*.y.example",), ("*.example",), False),
        (("*.y.example",), ("*.z.example",), False),
        (("*.ample",), ("x.example",), False),
        (("b.example", "x.example"), ("a.example", "*.example"), False),
        (("*.example", "x.example"), ("*.example",), True),
    ],
)
def test_hosts_meet_where_one_is_the_other_or_a_wildcard_above_it(hosts, others, meet):
    """Of a host and a wildcard above it the longer one takes a request, so that only equal ones collide.

    See defects C10.
    """
    for first, second in ((hosts, others), (others, hosts)):
        assert bool(found(route("a", hostnames=first), route("b", hostnames=second))) is meet


@pytest.mark.parametrize(
    ("parent", "other", "meet"),
    [
        ({"section_name": "https"}, {"section_name": "http"}, False),
        ({"section_name": "https"}, {}, True),
        ({"section_name": "https", "port": 443}, {"port": 443}, True),
        ({"section_name": "https", "port": 443}, {"section_name": "https", "port": 8443}, False),
        ({"section_name": "https"}, {"port": 443}, True),
    ],
)
def test_a_route_without_listener_or_port_claims_all_of_them(parent, other, meet):
    for first, second in ((parent, other), (other, parent)):
        assert bool(found(route("a", **first), route("b", **second))) is meet


def test_names_of_headers_are_compared_without_capitals_and_their_values_are_not_told():
    (line,) = found(route("a", headers={"X-Team": "hunter2"}), route("b", headers={"x-team": "hunter2"}))
    assert "(/models/qwen, any host, header x-team)" in line
    assert "hunter2" not in line
    assert found(route("a", headers={"x-team": "A"}), route("b", headers={"x-team": "a"})) == []


def test_every_match_of_a_service_is_a_claim_and_the_message_names_the_one_that_is_taken():
    host = ["llm.example"]
    (line,) = found(route("a", hostnames=host), route("b", "/b", more=[("/models/qwen", {})], hostnames=host))
    assert line.startswith("services.b.route.matches[1].path: is taken")
    assert "(/models/qwen, llm.example)" in line


def test_what_a_canarys_headers_make_of_a_match_is_claimed_too():
    canary_route = route("a", canary={"x-canary": "always"})
    assert found(canary_route) == []
    (line,) = found(canary_route, route("b", headers={"X-Canary": "always"}))
    assert "by services.a" in line


def test_two_services_of_one_name_are_no_collision_but_a_mistake_of_their_own():
    assert found(route("a"), replace(route("b"), name="a")) == []


def test_a_service_is_in_nobodys_way_alone():
    assert found(route("a", more=[("/models/qwen", {})], hostnames=["*.a", "x.a", "*.x.a"])) == []


@given(routes())
def test_the_collisions_of_a_stack_are_those_that_a_comparison_of_all_pairs_finds(planned):
    pairs = {(later.key, earlier.key) for earlier, later in combinations(planned, 2) if meet(earlier, later)}
    reported = [(line.split(".")[1], line.split(" by services.")[1].split(" ")[0]) for line in found(*planned)]
    assert set(reported) <= pairs
    assert sorted(later for later, _ in reported) == sorted({later for later, _ in pairs})
