"""Defects of what a stack does to a gateway that it shares, and to the requests of other teams there."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import Given, compose
from judging.routes import judge
from planning.ground.cluster_facts import NOTHING_READ, LiveRoute, ParentRef, RouteMatch, Routes, Unknown
from planning.ground.marks import NO_MARK, Identity, Mark
from planning.routes import acceptance, hosts_and_ties, nested_paths
from planning.routes.claim_sets import ClaimSet
from tests.support.stacks import NAME, lines, plan, tree
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


ANOTHER = Mark(stack="acme/chat/prod")
HOST = "llm.example.com"
A = "services.a.route.matches[0].path"
B = "services.b.route.matches[0].path"
MEANT = "use another path, unless this is meant"


def at(path, *hostnames, headers=None, **more):
    """Return a service with a route on a path."""
    route = {"hostnames": list(hostnames), "matches": [{"path": path, "headers": headers or {}}]}
    return {"route": route} | more


def told(**services):
    return lines(plan(tree(**services)).warnings, "warning")


def test_a_path_inside_the_path_of_another_service_is_told():
    """See defects H9."""
    b = at("/team-a/a/v1", namespace="team-b")
    assert told(a={"namespace": "team-a"}, b=b) == [
        f"{B}: takes requests from services.a at /team-a/a (/team-a/a/v1); {MEANT}"
    ]
    assert told(a=at("/v1"), b=at("/v1/x", HOST)) == [f"{B}: takes requests from services.a at /v1 (/v1/x); {MEANT}"]


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        (at("/team-a/ab"), at("/team-a/a")),
        (at("/v1/x"), at("/v1", HOST)),
        (at("/v1/x", "other.example.com"), at("/v1", HOST)),
        (at("/v1/x", headers={"x-a": "1"}), at("/v1", headers={"x-a": "2"})),
        (at("/v1", headers={"x-a": "1"}), at("/v1")),
        (at("/v1", HOST), at("/", HOST)),
    ],
)
def test_a_path_that_takes_nothing_or_what_a_fallback_leaves_is_not_told(inner, outer):
    """See defects H9."""
    found = (*told(a=outer, b=inner), *told(a=inner, b=outer))
    assert [line for line in found if "takes requests from" in line] == []


def test_of_many_services_around_a_path_three_are_named():
    """See defects H9."""
    around = {f"a{number}": at("/v1", headers={f"x-{number}": "1", "x-b": "1"}) for number in range(5)}
    (line,) = [line for line in told(**around, b=at("/v1/x")) if line.startswith(B)]
    named = "services.a0 at /v1, services.a1 at /v1, services.a2 at /v1 and others"
    assert line == f"{B}: takes requests from {named} (/v1/x); {MEANT}"


def live(path, *hostnames, mark=ANOTHER, kind="PathPrefix", headers=(), more=(), section=None):
    """Return a route of the cluster on the gateway of `tree`."""
    (gateway,) = acceptance.gateways(plan(tree()).routes)
    match = RouteMatch(kind, path, tuple(("Exact", name, "1") for name in headers), more)
    return LiveRoute("team-a", "a", (ParentRef(gateway, section, None),), hostnames, (match,), mark)


def beside(service, *routes, mode="strict", formerly=()):
    identity, routes = Identity(NAME, formerly), Routes(routes)
    problems = judge(plan(tree(b=service)).routes, identity, routes, mode)
    return [problem for problem in problems if "takes requests" in problem.what or "loses requests" in problem.what]


THEIRS = "HTTPRoute team-a/a of stack acme/chat/prod"


@pytest.mark.parametrize(
    ("service", "route", "place"),
    [
        (at("/team-a/a/v1"), live("/team-a/a"), "/team-a/a/v1"),
        (at("/v1", HOST), live("/", HOST), "/v1"),
        (at("/team-a/a", headers={"Content-Type": "1"}), live("/team-a/a"), "/team-a/a, header content-type"),
    ],
)
def test_taking_the_requests_of_another_stack_is_refused(service, route, place):
    """See defects H9."""
    (error,) = lines(beside(service, route), "error")
    (path,) = (match.path for match in route.matches)
    assert error == f"{B}: takes requests from {THEIRS} at {path} ({place}); use another path or hostname"
    (warning,) = beside(service, route, mode="warn")
    assert str(warning) == f"{B}: takes requests from {THEIRS} at {path} ({place}); {MEANT}"
    assert warning.severity == "warning"
    assert beside(service, route, mode="skip") == []


def test_a_route_of_somebody_else_is_as_safe_as_one_of_a_stack():
    """See defects H9."""
    assert lines(beside(at("/chat/v1"), live("/chat", mark=NO_MARK)), "error")
    assert lines(beside(at("/chat/v1"), live("/chat", mark=Mark(is_generated=True))), "error") == []
    assert lines(beside(at("/chat/v1"), live("/chat", mark=Mark(is_generated=True))), "warning")


@pytest.mark.parametrize(
    ("service", "route", "count"),
    [
        (at("/v1", HOST), live("/", HOST, mark=NO_MARK), 1),
        (at("/team-a/a/v1", HOST), live("/team-a/a"), 1),
        (at("/v1", HOST), live("/"), 0),
        (at("/v1", HOST), live("/", "*.example.com"), 0),
        (at("/v1/x"), live("/v1", HOST), 0),
        (at("/", headers={"x-a": "1"}), live("/", mark=NO_MARK), 0),
        (at("/", HOST, headers={"x-a": "1"}), live("/", HOST, mark=NO_MARK), 1),
        (at("/v1/x"), live("/v1", mark=Mark(stack=str(NAME))), 0),
        (at("/v1/x"), live("/v1", kind="RegularExpression"), 0),
        (at("/v1/x"), live("/v1", kind="Exact"), 0),
        (at("/v1/x"), LiveRoute("models", "b", live("/v1").parents, (), live("/v1").matches), 0),
    ],
)
def test_what_belongs_to_whoever_names_its_host_is_a_warning_or_nothing(service, route, count):
    """See defects H9."""
    assert [problem.severity for problem in beside(service, route)] == ["warning"] * count


@pytest.mark.parametrize(
    ("route", "place"),
    [
        (live("/chat/v1"), "/chat/v1"),
        (live("/chat/v1", HOST), "/chat/v1"),
        (live("/chat", kind="Exact"), "/chat"),
        (live("/chat", headers=["x-a"]), "/chat"),
        (live("/chat", more=('{"method": "POST"}',)), "/chat"),
    ],
)
def test_what_others_take_from_a_service_is_told(route, place):
    """See defects H9."""
    (warning,) = beside(at("/chat"), route)
    assert str(warning) == f"{B}: loses requests to {THEIRS} at {place} (/chat); {MEANT}"
    assert warning.severity == "warning"


def test_without_routes_of_the_cluster_nothing_is_compared():
    """See defects H9."""
    planned = plan(tree(b=at("/chat"))).routes
    (warning,) = judge(planned, Identity(NAME), Unknown("late"), "strict")
    assert warning.kind == "unchecked"


@pytest.mark.parametrize("place", ["/team-a/a", "/team-a/a/v1"])
def test_formerly_opens_no_route_of_a_stack_that_lives_on(place):
    """See defects H9."""
    facts = replace(NOTHING_READ, routes=Routes((live("/team-a/a"),)))

    def errors(**keys):
        return lines(compose(tree(b=at(place)) | keys, Given(facts), NAME).preflight, "error")

    (refusal,) = errors()
    assert THEIRS in refusal
    (living,) = errors(formerly=["chat/prod"])
    assert living.startswith(
        "formerly: HTTPRoute team-a/a exists with the mark of acme/chat/prod, which is another stack"
    )
    assert errors(formerly=["chat/prod"], allow=["takeover"]) == [refusal]


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
    routes, calls, meeting = plan(tree(**by_headers(300, **shared))).routes, [], ClaimSet.meeting
    monkeypatch.setattr(ClaimSet, "meeting", lambda *inputs: calls.append(1) or meeting(*inputs))
    assert list(hosts_and_ties.judge(routes))
    assert list(nested_paths.judge(routes)) == []
    assert len(calls) == 600


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
    found = lines(hosts_and_ties.judge(plan(stack).routes), "warning")
    assert sorted(line.split(".")[1] for line in found) == sorted(f"s{number}" for number in expected)
