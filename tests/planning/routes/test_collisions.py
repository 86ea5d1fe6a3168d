"""Two routes never claim the same requests on one gateway: within a stack, and beside what the cluster has."""

from dataclasses import replace
from itertools import combinations, count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.paths import Path
from models.problems import errors
from planning.ground.cluster_facts import GatewayRef, LiveRoute, ParentRef, RouteMatch, Routes, Unknown
from planning.ground.marks import Identity, Mark
from planning.routes import collisions
from planning.routes.records import Match, Parent, Route, Rule
from tests.support.stacks import NAME, lines

GROUP, KIND = "gateway.networking.k8s.io", "Gateway"
US = Identity(NAME, ("inference-stacks/past",))
REMEDY = "give one of the two routes another path or hostname"


def route(key, path="/models/qwen", headers=None, hostnames=(), *, more=(), canary=None, gateways="gateways", **parent):
    """Return a planned route of a service, on one gateway unless the parent says otherwise."""
    whole = {"name": "gateway", "namespace": gateways, "section_name": None, "port": None} | parent
    pairs = [(path, headers or {}), *more]
    matches = tuple(
        Match(match_path, match_headers, Path("services", key, "route", "matches", n))
        for n, (match_path, match_headers) in enumerate(pairs)
    )
    rules = [Rule(matches, (), "/")]
    if canary is not None:
        rules.insert(
            0, Rule(tuple(Match(match.path, {**match.headers, **canary}, match.at) for match in matches), (), "/")
        )
    return Route(
        key=key, namespace="models", name=key, parent=Parent(GROUP, KIND, provider="istio", **whole),
        gateway_at=Path("gateway"),
        hostnames=tuple(hostnames), matches=matches, rules=tuple(rules), annotations={}, set_headers={},
        remove_headers=(), mirror=None, timeouts=None,
    )  # fmt: skip


def live(name, path="/models/qwen", kind="PathPrefix", headers=(), hostnames=(), **more):
    """Return a route of the cluster on the same gateway."""
    section, port = more.pop("section_name", None), more.pop("port", None)
    parent = ParentRef(GatewayRef(GROUP, KIND, "gateways", "gateway"), section, port)
    match = RouteMatch(kind, path, tuple(headers), more.pop("more", ()))
    defaults = {"namespace": "elsewhere", "parents": (parent,), "matches": (match,)}
    return LiveRoute(name=name, hostnames=tuple(hostnames), **(defaults | more))


def found(*routes):
    return [str(problem) for problem in collisions.problems(routes)]


def beside(*others, mode="strict", planned=None):
    return collisions.cluster_problems(planned or [route("b")], US, Routes(others), mode)


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
def test_who_names_no_listener_or_port_claims_all_of_them(parent, other, meet):
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
    found = collisions.cluster_problems([route("b")], US, Unknown("no answer"), "strict")
    assert errors(found) == []
    assert lines(found, "warning") == ["collisions with other routes on gateways/gateway went unchecked: no answer"]
    assert collisions.cluster_problems([], US, Unknown("no answer"), "strict") == []


HOSTS = st.sampled_from(["a", "x.a", "y.x.a", "*.a", "*.x.a", "b", "*.b"])
SECTIONS = st.sampled_from([None, "http", "https"])
PORTS = st.sampled_from([None, 80, 443])


@st.composite
def routes(draw):
    """Draw routes that are close to each other: few gateways, hosts, listeners, paths and headers."""
    names = (f"s{number}" for number in count())
    return [
        route(
            next(names),
            draw(st.sampled_from(["/", "/a", "/a/b"])),
            draw(st.sampled_from([{}, {"x": "1"}, {"X": "1"}, {"x": "2"}])),
            draw(st.lists(HOSTS, max_size=3, unique=True)),
            name=draw(st.sampled_from(["gateway", "other"])),
            section_name=draw(SECTIONS),
            port=draw(PORTS),
        )
        for _ in range(draw(st.integers(0, 7)))
    ]


def meet(left, right):
    """Compare two routes as the Gateway API says it, part by part."""
    first, second = left.parent, right.parent
    return (
        first.name == second.name
        and (first.section_name == second.section_name or None in {first.section_name, second.section_name})
        and (first.port == second.port or None in {first.port, second.port})
        and left.matches[0].path == right.matches[0].path
        and lowered(left.matches[0].headers) == lowered(right.matches[0].headers)
        and bool({*(left.hostnames or ["*"])} & {*(right.hostnames or ["*"])})
    )


def lowered(headers):
    return {name.lower(): value for name, value in headers.items()}


@given(routes())
def test_the_collisions_of_a_stack_are_those_that_a_comparison_of_all_pairs_finds(planned):
    pairs = {(later.key, earlier.key) for earlier, later in combinations(planned, 2) if meet(earlier, later)}
    reported = [(line.split(".")[1], line.split(" by services.")[1].split(" ")[0]) for line in found(*planned)]
    assert set(reported) <= pairs
    assert sorted(later for later, _ in reported) == sorted({later for later, _ in pairs})


@given(routes(), routes())
def test_the_collisions_with_a_cluster_are_those_that_a_comparison_of_all_pairs_finds(planned, others):
    there = [
        live(f"o{other.name}", other.matches[0].path, hostnames=other.hostnames,
             headers=[("Exact", *pair) for pair in other.matches[0].headers.items()],
             parents=(collisions.reference(other),))
        for other in others
    ]  # fmt: skip
    pairs = {(ours.key, f"o{theirs.name}") for ours in planned for theirs in others if meet(ours, theirs)}
    verdict = collisions.cluster_problems(planned, US, Routes(tuple(there)), "strict")
    reported = {(line.split(".")[1], line.split("elsewhere/")[1].split(" ")[0]) for line in lines(verdict, "error")}
    assert reported <= pairs
    assert sorted(line.split(".")[1] for line in lines(verdict, "error")) == sorted({key for key, _ in pairs})
