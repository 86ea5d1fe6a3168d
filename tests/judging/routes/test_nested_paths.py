"""Planned routes neither take requests from other stacks unnoticed, nor lose requests to them."""

from dataclasses import replace

import pytest

from composition import Given, compose
from judging.routes import judge
from planning.ground.cluster_facts import NOTHING_READ, LiveRoute, LiveRouteMatch, ParentRef, Routes, Unknown
from planning.ground.marks import NO_MARK, Identity, Mark
from planning.routes import acceptance
from tests.support.stacks import NAME, lines, plan, tree

ANOTHER = Mark(stack="acme/chat/prod")


HOST = "llm.example.com"


B = "services.b.route.matches[0].path"


MEANT = "use another path, unless this is meant"


def at(path, *hostnames, headers=None, **more):
    """Return a service with a route on a path."""
    route = {"hostnames": list(hostnames), "matches": [{"path": path, "headers": headers or {}}]}
    return {"route": route} | more


def live(path, *hostnames, mark=ANOTHER, kind="PathPrefix", headers=(), more=(), section=None):
    """Return a route of the cluster on the gateway of `tree`."""
    (gateway,) = acceptance.gateways(plan(tree()).routes)
    match = LiveRouteMatch(kind, path, tuple(("Exact", name, "1") for name in headers), more)
    return LiveRoute("team-a", "a", (ParentRef(gateway, section, None),), hostnames, (match,), mark)


def beside(service, *routes, mode="strict", formerly=()):
    identity = Identity(NAME, formerly)
    routes = Routes(routes)
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
