"""Planned routes and routes of a cluster that are close to each other, as records."""

from itertools import count

from hypothesis import strategies as st

from models.paths import Path
from planning.ground.cluster_facts import GatewayRef, LiveRoute, LiveRouteMatch, ParentRef
from planning.routes import request_claims
from planning.routes.records import Match, Parent, PlannedRoute, RouteRule

GROUP, KIND = "gateway.networking.k8s.io", "Gateway"


def route(key, path="/models/qwen", headers=None, hostnames=(), *, more=(), canary=None, gateways="gateways", **parent):
    """Return a planned route of a service, on one gateway unless the parent says otherwise."""
    whole = {"name": "gateway", "namespace": gateways, "section_name": None, "port": None} | parent
    pairs = [(path, headers or {}), *more]
    matches = tuple(
        Match(match_path, match_headers, Path("services", key, "route", "matches", n))
        for n, (match_path, match_headers) in enumerate(pairs)
    )
    rules = [RouteRule(matches, (), "/")]
    if canary is not None:
        rules.insert(
            0, RouteRule(tuple(Match(match.path, {**match.headers, **canary}, match.at) for match in matches), (), "/")
        )
    planned = PlannedRoute(
        key=key, namespace="models", name=key, parent=Parent(GROUP, KIND, provider="istio", **whole),
        gateway_at=Path("gateway"),
        hostnames=tuple(hostnames), matches=matches, rules=tuple(rules), annotations={}, set_headers={},
        remove_headers=(), mirror=None, timeouts=None,
    )  # fmt: skip
    return request_claims.with_claims(planned)


def live(name, path="/models/qwen", kind="PathPrefix", headers=(), hostnames=(), **more):
    """Return a route of the cluster on the same gateway."""
    section, port = more.pop("section_name", None), more.pop("port", None)
    parent = ParentRef(GatewayRef(GROUP, KIND, "gateways", "gateway"), section, port)
    match = LiveRouteMatch(kind, path, tuple(headers), more.pop("more", ()))
    defaults = {"namespace": "elsewhere", "parents": (parent,), "matches": (match,)}
    return LiveRoute(name=name, hostnames=tuple(hostnames), **(defaults | more))


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
