"""Defects of what a stack does to a gateway that it shares, and to the requests of other teams there."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.routes import precedence
from planning.routes.crowds import Crowd
from tests.support.stacks import lines, plan, tree
from tests.support.stacks.routed import told as refused

AT = "services.qwen.route.setHeaders.x-a"
ISTIO, GKE, AGENTGATEWAY, UNKNOWN = "istio", "gke", "agentgateway", "none"


def setting(value, provider):
    """Return a stack whose route sets a header, on a gateway of a provider."""
    gateway = {"name": "gateway", "namespace": "gateways", "provider": provider}
    return tree(qwen={"route": {"setHeaders": {"x-a": value}}}) | {"gateway": gateway}


@pytest.mark.parametrize("provider", [ISTIO, UNKNOWN])
@pytest.mark.parametrize("value", ["100%", "50% off", "%NOPE%", "%REQ(authorization)%", "%ENVIRONMENT(PATH)%", "100%%"])
def test_no_header_has_a_command_of_envoy(value, provider):
    """See defects H3."""
    (line,) = refused(setting(value, provider))
    assert line.startswith(f"{AT}: has '%', with which a command for ")
    assert value not in line.replace("'%'", "")


def test_no_header_has_a_variable_of_googles_load_balancer():
    """See defects H3."""
    (line,) = refused(setting("{client_region}", GKE))
    assert line == f"{AT}: has '{{', with which a command for Google's load balancer begins; write the value without it"


@pytest.mark.parametrize(
    ("value", "provider"),
    [("{a}", ISTIO), ("{a}", UNKNOWN), ("100%", GKE), ("100%", AGENTGATEWAY), ("{a}", AGENTGATEWAY)],
)
def test_what_is_no_command_of_a_gateway_is_a_value(value, provider):
    """See defects H3."""
    (service,) = plan(setting(value, provider)).services
    assert service.route.set_headers == {"x-a": value}


def test_a_header_that_is_matched_is_no_command():
    """See defects H3."""
    stack = tree(qwen={"route": {"matches": [{"path": "/a", "headers": {"x-a": "100%"}}]}})
    (route,) = plan(stack).routes
    assert route.matches[0].headers == {"x-a": "100%"}


HOST = "llm.example.com"


def at(path, *hostnames, headers=None, **more):
    """Return a service with a route on a path."""
    route = {"hostnames": list(hostnames), "matches": [{"path": path, "headers": headers or {}}]}
    return {"route": route} | more


def told(**services):
    return lines(plan(tree(**services)).warnings, "warning")


def by_headers(count, **shared):
    return {f"s{number}": at("/v1", HOST, headers={f"x-{number}": "1", **shared}) for number in range(count)}


def test_many_routes_that_tie_are_one_warning():
    """See defects H21."""
    (line,) = told(**by_headers(300))
    assert line == (
        "services.s99.route.matches[0].path: is one of 300 matches that tie for requests that have several of the "
        "headers x-0, x-1, x-10 and 297 more: the oldest route wins (services.s0, services.s1, services.s2 and 296 "
        "more); use another path, or require all of these headers in one of the routes"
    )


@pytest.mark.parametrize("shared", [{}, {"x-shared": "1"}])
def test_routes_are_not_compared_in_pairs(shared, monkeypatch):
    """See defects H21."""
    routes, calls, meeting = plan(tree(**by_headers(300, **shared))).routes, [], Crowd.meeting
    monkeypatch.setattr(Crowd, "meeting", lambda *inputs: calls.append(1) or meeting(*inputs))
    assert precedence.warnings(routes)
    assert len(calls) == 300


NAMES = st.sampled_from(["x-a", "x-b", "x-c", "x-d"])
HEADERS = st.dictionaries(NAMES, st.sampled_from("12"), max_size=3)


def ties(first, second):
    """Compare the headers of two matches on one path."""
    may_meet = all(second.get(name, value) == value for name, value in first.items())
    return may_meet and len(first) == len(second) and first.keys() != second.keys()


@given(st.lists(HEADERS, min_size=2, max_size=6, unique_by=lambda headers: tuple(sorted(headers.items()))))
def test_groups_of_ties_are_those_that_a_comparison_of_all_pairs_finds(matches):
    """See defects H21."""
    groups = {number: {number} for number in range(len(matches))}
    for first, second in product(range(len(matches)), repeat=2):
        if ties(matches[first], matches[second]):
            union = groups[first] | groups[second]
            groups |= dict.fromkeys(union, union)
    expected = {max(group) for group in groups.values() if len(group) > 1}
    stack = tree(**{f"s{number}": at("/v1", headers=headers) for number, headers in enumerate(matches)})
    found = lines(precedence.warnings(plan(stack).routes), "warning")
    assert sorted(line.split(".")[1] for line in found) == sorted(f"s{number}" for number in expected)
