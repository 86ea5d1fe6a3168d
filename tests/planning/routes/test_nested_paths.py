"""Services whose paths lie inside the paths of other services take requests from them."""

import pytest

from tests.support.stacks import lines, plan, tree

HOST = "llm.example.com"


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
    messages = (*told(a=outer, b=inner), *told(a=inner, b=outer))
    assert [line for line in messages if "takes requests from" in line] == []


def test_of_many_services_around_a_path_three_are_named():
    """See defects H9."""
    around = {f"a{number}": at("/v1", headers={f"x-{number}": "1", "x-b": "1"}) for number in range(5)}
    (line,) = [line for line in told(**around, b=at("/v1/x")) if line.startswith(B)]
    named = "services.a0 at /v1, services.a1 at /v1, services.a2 at /v1 and others"
    assert line == f"{B}: takes requests from {named} (/v1/x); {MEANT}"
