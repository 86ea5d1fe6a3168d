"""Claims of routes: the requests that each match of a route takes, on the hosts and listeners of the route."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from models.paths import Path
from planning.ground.cluster_facts import GatewayRef, LiveRouteMatch, ParentRef
from planning.routes.records import Match, PlannedRoute

EVERY_HOST = "*"
"""Host of a claim without hostnames."""
PREFIX = "PathPrefix"
"""Type of a match of all paths below a path."""
EXACT = "Exact"
"""Type of a match of a single path or of a single value of a header."""


@dataclass(frozen=True, slots=True)
class RequestClaim:
    """The requests that one match of a route claims, on the hosts and listeners of the route."""

    at: Path
    """Path of the match in the configuration, or the name of a route from the cluster."""
    holder: Path
    """Path of the service that claims the requests, or the name of a route from the cluster."""
    parents: tuple[ParentRef, ...]
    hostnames: tuple[str, ...]
    """Hosts of the requests; empty for every host."""
    match: LiveRouteMatch

    def parents_and_hosts(self) -> Iterator[tuple[ParentRef, str]]:
        """Yield the listeners and hosts of the claim."""
        return product(self.parents, self.hostnames or (EVERY_HOST,))

    @property
    def header_names(self) -> tuple[str, ...]:
        """Return the names of the headers that the claim requires."""
        return tuple(name for _, name, _ in self.match.headers)


def of_routes(routes: Iterable[PlannedRoute]) -> tuple[RequestClaim, ...]:
    """Return the claims of planned routes."""
    return tuple(claim for route in routes for claim in of_route(route))


def of_route(route: PlannedRoute) -> Iterator[RequestClaim]:
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
