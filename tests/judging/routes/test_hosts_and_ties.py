"""Routes of others with narrower hosts, or with other headers on one path, are told."""

from judging.routes import judge
from planning.ground.cluster_facts import LiveRoute, LiveRouteMatch, ParentRef, Routes
from planning.ground.marks import Identity
from planning.routes import acceptance
from tests.support.stacks import NAME, lines, plan, tree

HOST = {"hostnames": ["llm.example.com"]}


def by(**headers):
    return {"route": {"hostnames": ["llm.example.com"], "matches": [{"headers": headers}]}}


def theirs(path, *hostnames, headers=()):
    (ref,) = acceptance.gateways(plan(tree()).routes)
    match = LiveRouteMatch("PathPrefix", path, tuple(headers))
    return LiveRoute("elsewhere", "theirs", (ParentRef(ref, None, None),), tuple(hostnames), (match,))


def beside(stack, *routes):
    return lines(judge(plan(stack).routes, Identity(NAME), Routes(routes), "strict"), "warning")


def test_precedence_beside_routes_of_others_is_told():
    """See defects C10."""
    (line,) = beside(tree(), theirs("/", "llm.example.com"))
    assert line.startswith("HTTPRoute elsewhere/theirs: takes all requests for llm.example.com, also for the longer ")
    (line,) = beside(tree(qwen={"route": {**HOST, "matches": [{}]}}), theirs("/chat"))
    assert "takes all requests for llm.example.com, also for the longer paths of HTTPRoute elsewhere/theirs" in line
    (line,) = beside(tree(qwen=by(a="1")), theirs("/", "llm.example.com", headers=[("Exact", "b", "2")]))
    assert "ties with HTTPRoute elsewhere/theirs" in line
    assert beside(tree(), theirs("/chat"), theirs("/", "llm.example.com", headers=[("Exact", "b", "2")])) == []
