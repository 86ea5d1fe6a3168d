"""Claims are compared by sets, and not in pairs."""

import pytest

from planning.routes import hosts_and_ties, nested_paths
from planning.routes.claim_sets import ClaimSet
from tests.support.stacks import plan, tree

HOST = "llm.example.com"


def at(path, *hostnames, headers=None, **more):
    """Return a service with a route on a path."""
    route = {"hostnames": list(hostnames), "matches": [{"path": path, "headers": headers or {}}]}
    return {"route": route} | more


def by_headers(count, **shared):
    return {f"s{number}": at("/v1", HOST, headers={f"x-{number}": "1", **shared}) for number in range(count)}


@pytest.mark.parametrize("shared", [{}, {"x-shared": "1"}])
def test_routes_are_not_compared_in_pairs(shared, monkeypatch):
    """See defects H21."""
    routes = plan(tree(**by_headers(300, **shared))).routes
    calls = []
    meeting = ClaimSet.meeting
    monkeypatch.setattr(ClaimSet, "meeting", lambda *inputs: calls.append(1) or meeting(*inputs))
    assert list(hosts_and_ties.judge(routes))
    assert list(nested_paths.judge(routes)) == []
    assert len(calls) == 600
