"""Collisions of routes: requests that two routes on one gateway claim, so that either route may receive them.

Of two routes whose hosts match a request, the route with the longer host gets the request (Gateway API, HTTPRouteSpec,
hostnames). So two claims collide only on the same host. Claims without a host have the host `*`. A claim without a
listener covers all listeners, and a claim without a port covers all ports. Two claims collide if their values are equal
or if one value covers the other. The index stores a claim under its values and under every wider value. A collision is
therefore found by a lookup, not by a comparison of pairs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from models.paths import Path
from models.problems import Problem, gap, warning
from planning.ground.cluster_facts import GatewayRef, LiveRoute, ParentRef, RouteMatch, Routes, Unknown
from planning.ground.marks import Identity, Verdict
from planning.routes.records import Match, Route

_REMEDY = "give one of the two routes another path or hostname"
_OLDER_WINS = "keep only one of the two routes; while both exist, the older route gets the requests"
_UNTIL_REMOVED = "this run removes that route; until then the older route gets the requests"
EVERY_HOST = "*"
"""Host of a claim without hostnames."""


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
    match: RouteMatch


_IndexKey = tuple[tuple[str, str | int | None], ...]
"""Listener, port and host, each as (relation, value).

With the relation `itself`, the claim is for exactly this value. With `below`, the claim is for a narrower value that
this value covers.
"""
_SELF, _BELOW = "itself", "below"


class _Index:
    """Index of claims by gateway and match, then by listener, port and host."""

    def __init__(self) -> None:
        self._claims = dict[tuple[GatewayRef, RouteMatch], dict[_IndexKey, RequestClaim]]()

    def add(self, claim: RequestClaim) -> None:
        """Add a claim, unless an earlier claim has the same requests."""
        for parent, host in parents_and_hosts(claim):
            claims = self._claims.setdefault(_group(parent, claim.match), {})
            relations = (
                [(_SELF, value), *((_BELOW, wider) for wider in covering)]
                for value, covering in _dimensions(parent, host)
            )
            for index_key in product(*relations):
                claims.setdefault(index_key, claim)

    def collision(self, claim: RequestClaim) -> tuple[RequestClaim, ParentRef, str] | None:
        """Return an earlier claim that collides with `claim`, and the parent and host of the collision, or None."""
        for parent, host in parents_and_hosts(claim):
            claims = self._claims.get(_group(parent, claim.match))
            if claims is None:
                continue
            relations = (
                [(_SELF, value), *((_SELF, wider) for wider in covering), (_BELOW, value)]
                for value, covering in _dimensions(parent, host)
            )
            for index_key in product(*relations):
                if index_key in claims:
                    return claims[index_key], parent, host
        return None


def route_claims(route: Route) -> Iterator[RequestClaim]:
    """Yield the claims of a planned route: one for each match, and one for each match of the canary's rules."""
    of_canary = (match for rule in route.rules for match in rule.matches if match not in route.matches)
    claimed, holder, parents = dict[RouteMatch, Match](), Path("services", route.key), (reference(route),)
    for match in (*route.matches, *of_canary):
        claimed.setdefault(_planned_match(match), match)
    for planned, match in claimed.items():
        yield RequestClaim(match.at / "path", holder, parents, route.hostnames, planned)


def reference(route: Route) -> ParentRef:
    """Return the parent of a planned route, in the form that cluster facts use."""
    parent = route.parent
    return ParentRef(
        GatewayRef(parent.group, parent.kind, parent.namespace, parent.name), parent.section_name, parent.port
    )


def problems(routes: Iterable[Route]) -> Iterator[Problem]:
    """Yield a problem for every claim of a service that collides with a claim of an earlier service of the stack.

    Of routes with the same namespace and name only the last route is checked, because another rule reports equal names.
    """
    index = _Index()
    for route in {(route.namespace, route.name): route for route in routes}.values():
        for claim in route_claims(route):
            collision = index.collision(claim)
            index.add(claim)
            if collision is not None:
                other, parent, host = collision
                paths = tuple(dict.fromkeys((claim.holder, other.holder)))
                yield Problem(claim.at, _collision_text(claim, parent, host, other.holder), _REMEDY, paths)


def cluster_problems(
    routes: Iterable[Route], identity: Identity, live: Routes | Unknown, mode: Literal["strict", "warn", "skip"]
) -> list[Problem]:
    """Return the collisions between the routes of a stack and other routes on its gateways in the cluster.

    A route of the cluster with the namespace and name of a planned route is the same object, so it is skipped. A
    collision with a route of another stack or of somebody else is an error if `mode` is strict. A collision with a
    route of this stack is a warning, because this run removes that route. A collision with an unmarked route is a
    warning, too. If the cluster's routes are unknown, the result is one warning that nothing was compared.
    """
    planned = tuple(routes)
    if mode == "skip" or not planned:
        return []
    if isinstance(live, Unknown):
        gateways = ", ".join(sorted({str(reference(route).gateway) for route in planned}))
        return [gap(Path(), f"collisions with other routes on {gateways}", live.reason)]
    planned_names = {(route.namespace, route.name) for route in planned}
    indices = {verdict: _Index() for verdict in Verdict}
    for route in live.routes:
        if (route.namespace, route.name) not in planned_names:
            index = indices[identity.verdict(route.mark)]
            for claim in live_route_claims(route):
                index.add(claim)
    severity, claims = "error" if mode == "strict" else "warning", _claims(planned)
    return [
        *(
            Problem(at, what, _REMEDY, severity=severity)
            for verdict in (Verdict.ANOTHER, Verdict.FOREIGN)
            for at, what in _collisions(claims, indices[verdict])
        ),
        *(warning(at, what, _OLDER_WINS) for at, what in _collisions(claims, indices[Verdict.UNMARKED])),
        *(warning(at, what, _UNTIL_REMOVED) for at, what in _collisions(claims, indices[Verdict.OURS])),
    ]


def between(routes: Iterable[Route], others: Mapping[Path, Iterable[Route]]) -> Iterator[Problem]:
    """Yield the collisions of an inference stack's routes with `others`: routes of other inference stacks, by path."""
    index = _Index()
    for place, planned in others.items():
        for route in planned:
            for claim in route_claims(route):
                index.add(replace(claim, holder=Path(*place, *claim.holder)))
    yield from (Problem(at, what, _REMEDY) for at, what in _collisions(_claims(routes), index))


def live_route_claims(route: LiveRoute) -> Iterator[RequestClaim]:
    """Yield the claims of a route in the cluster. The holder's name includes the stack that the route belongs to."""
    path = Path(f"HTTPRoute {route.namespace}/{route.name}")
    owner = route.mark.owner
    holder = path if owner is None else Path(f"HTTPRoute {route.namespace}/{route.name} of stack {owner}")
    for match in route.matches:
        yield RequestClaim(path, holder, route.parents, route.hostnames, _normalize(match))


def _claims(routes: Iterable[Route]) -> tuple[RequestClaim, ...]:
    return tuple(claim for route in routes for claim in route_claims(route))


def _collisions(claims: Iterable[RequestClaim], index: _Index) -> Iterator[tuple[Path, str]]:
    for claim in claims:
        collision = index.collision(claim)
        if collision is not None:
            other, parent, host = collision
            yield claim.at, _collision_text(claim, parent, host, other.holder)


def _collision_text(claim: RequestClaim, parent: ParentRef, host: str, holder: Path) -> str:
    """Return the message of a collision. The message has no header values, because these may be credentials."""
    requests = [claim.match.path, "any host" if host == EVERY_HOST else host]
    requests += [f"header {name}" for _, name, _ in claim.match.headers]
    return f"is taken on {parent.gateway} by {holder} ({', '.join(requests)})"


def _planned_match(match: Match) -> RouteMatch:
    headers = (("Exact", name.lower(), value) for name, value in match.headers.items())
    return RouteMatch("PathPrefix", _normal_path(match.path), tuple(sorted(headers)))


def _normalize(match: RouteMatch) -> RouteMatch:
    """Return the normal form of a match. Matches of the same requests have equal normal forms."""
    path = _normal_path(match.path) if match.type == "PathPrefix" else match.path
    headers = tuple(sorted((kind, name.lower(), value) for kind, name, value in match.headers))
    return RouteMatch(match.type, path, headers, match.more)


def _normal_path(prefix: str) -> str:
    return prefix.rstrip("/") or "/"


def _group(parent: ParentRef, match: RouteMatch) -> tuple[GatewayRef, RouteMatch]:
    return parent.gateway, match


def parents_and_hosts(claim: RequestClaim) -> Iterator[tuple[ParentRef, str]]:
    """Yield the listeners and hosts of a claim."""
    return product(claim.parents, claim.hostnames or (EVERY_HOST,))


def _dimensions(parent: ParentRef, host: str) -> Iterator[tuple[str | int | None, tuple[str | None, ...]]]:
    """Yield listener, port and host, each with the wider values that collide with it.

    The value None covers every listener or port. A wider host does not collide: the narrower host takes precedence.
    """
    for value in (parent.section_name, parent.port):
        yield value, () if value is None else (None,)
    yield host, ()
