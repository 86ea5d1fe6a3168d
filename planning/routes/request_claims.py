"""Claims of routes: the requests that each match of a route takes, on the hosts and listeners of the route."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from models.paths import Path
from planning.ground.cluster_facts import GatewayRef, LiveRouteMatch, ParentRef
from planning.routes.records import Match, PlannedRoute, RequestClaim

PREFIX = "PathPrefix"
"""Type of a match of all paths below a path."""
EXACT = "Exact"
"""Type of a match of a single path or of a single value of a header."""


def of_routes(routes: Iterable[PlannedRoute]) -> tuple[RequestClaim, ...]:
    """Return the claims of planned routes."""
    return tuple(claim for route in routes for claim in route.claims)


def with_claims(route: PlannedRoute) -> PlannedRoute:
    """Return a planned route with its claims."""
    return replace(route, claims=tuple(_claims(route)))


def _claims(route: PlannedRoute) -> Iterator[RequestClaim]:
    """Yield the claims of a planned route: one for each match, and one for each match of the canary's rules."""
    of_canary = (match for rule in route.rules for match in rule.matches if match not in route.matches)
    matches = dict[LiveRouteMatch, Match]()
    for match in (*route.matches, *of_canary):
        matches.setdefault(_planned_match(match), match)
    for planned, match in matches.items():
        holder = Path("services", route.key)
        yield RequestClaim(match.at / "path", holder, (reference(route),), route.hostnames, planned)


def reference(route: PlannedRoute) -> ParentRef:
    """Return the parent of a planned route, in the form that cluster facts use."""
    parent = route.parent
    return ParentRef(
        GatewayRef(parent.group, parent.kind, parent.namespace, parent.name), parent.section_name, parent.port
    )


def normal_path(prefix: str) -> str:
    """Return a path prefix without a slash at its end."""
    return prefix.rstrip("/") or "/"


def _planned_match(match: Match) -> LiveRouteMatch:
    headers = ((EXACT, name.lower(), value) for name, value in match.headers.items())
    return LiveRouteMatch(PREFIX, normal_path(match.path), tuple(sorted(headers)))
