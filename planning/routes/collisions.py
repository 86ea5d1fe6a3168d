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

from models.paths import Path
from models.problems import Problem
from planning.ground.cluster_facts import GatewayRef, LiveRouteMatch, ParentRef
from planning.routes import request_claims
from planning.routes.records import EVERY_HOST, PlannedRoute, RequestClaim

REMEDY = "give one of the two routes another path or hostname"
_IndexKey = tuple[tuple[str, str | int | None], ...]
"""Listener, port and host, each as (relation, value).

With the relation `itself`, the claim is for exactly this value. With `below`, the claim is for a narrower value that
this value covers.
"""
_SELF = "itself"
_BELOW = "below"


@dataclass(frozen=True, slots=True)
class Collision:
    """Requests that two claims share."""

    at: Path
    """Path of the later claim."""
    holders: tuple[Path, Path]
    """Holders of the later and of the earlier claim."""
    what: str
    """Message without values of headers, because these may be credentials."""


class ClaimIndex:
    """Index of claims by gateway and match, then by listener, port and host."""

    def __init__(self) -> None:
        self._claims = dict[tuple[GatewayRef, LiveRouteMatch], dict[_IndexKey, RequestClaim]]()

    def add(self, claim: RequestClaim) -> None:
        """Add a claim, unless an earlier claim has the same requests."""
        for parent, host in claim.parents_and_hosts():
            claims = self._claims.setdefault(_group(parent, claim.match), {})
            relations = (
                [(_SELF, value), *((_BELOW, wider) for wider in covering)]
                for value, covering in _dimensions(parent, host)
            )
            for index_key in product(*relations):
                claims.setdefault(index_key, claim)

    def collisions(self, claims: Iterable[RequestClaim]) -> Iterator[Collision]:
        """Yield a collision for each of `claims` that collides with a claim of the index."""
        for claim in claims:
            collision = self.collision(claim)
            if collision is not None:
                yield collision

    def collision(self, claim: RequestClaim) -> Collision | None:
        """Return the collision of `claim` with an earlier claim; None if it collides with none."""
        for parent, host in claim.parents_and_hosts():
            claims = self._claims.get(_group(parent, claim.match))
            if claims is None:
                continue
            relations = (
                [(_SELF, value), *((_SELF, wider) for wider in covering), (_BELOW, value)]
                for value, covering in _dimensions(parent, host)
            )
            for index_key in product(*relations):
                if index_key in claims:
                    return _collision(claim, parent, host, claims[index_key].holder)
        return None


def judge(routes: Iterable[PlannedRoute]) -> Iterator[Problem]:
    """Yield a problem for every claim of a service that collides with a claim of an earlier service of the stack.

    Of routes with the same namespace and name only the last route is checked, because another rule reports equal names.
    """
    index = ClaimIndex()
    for route in {(route.namespace, route.name): route for route in routes}.values():
        for claim in route.claims:
            collision = index.collision(claim)
            index.add(claim)
            if collision is not None:
                yield Problem(collision.at, collision.what, REMEDY, tuple(dict.fromkeys(collision.holders)))


def between(routes: Iterable[PlannedRoute], others: Mapping[Path, Iterable[PlannedRoute]]) -> Iterator[Problem]:
    """Yield the collisions of an inference stack's routes with `others`: routes of other inference stacks, by path."""
    index = ClaimIndex()
    for place, planned in others.items():
        for claim in request_claims.of_routes(planned):
            index.add(replace(claim, holder=Path(*place, *claim.holder)))
    for collision in index.collisions(request_claims.of_routes(routes)):
        yield Problem(collision.at, collision.what, REMEDY)


def _collision(claim: RequestClaim, parent: ParentRef, host: str, holder: Path) -> Collision:
    requests = [claim.match.path, host]
    if host == EVERY_HOST:
        requests[1] = "any host"
    requests += [f"header {name}" for name in claim.header_names]
    what = f"is taken on {parent.gateway} by {holder} ({', '.join(requests)})"
    return Collision(claim.at, (claim.holder, holder), what)


def _group(parent: ParentRef, match: LiveRouteMatch) -> tuple[GatewayRef, LiveRouteMatch]:
    return parent.gateway, match


def _dimensions(parent: ParentRef, host: str) -> Iterator[tuple[str | int | None, tuple[str | None, ...]]]:
    """Yield listener, port and host, each with the wider values that collide with it.

    The value None covers every listener or port. A wider host does not collide: the narrower host takes precedence.
    """
    for value in (parent.section_name, parent.port):
        wider = ()
        if value is not None:
            wider = (None,)
        yield value, wider
    yield host, ()
