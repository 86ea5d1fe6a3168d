"""Warnings about routes on one gateway whose precedence may surprise users, although their claims differ.

If several routes match a request, Gateway API gives it to the route whose matching host is the longest. If these are
equally long, the longest path decides, then the largest number of headers, then the age: the older route gets it.

- A route with a narrower host takes requests even from routes with longer paths, if these routes lack the host.
- If two routes have equally many headers on one path, a request with the headers of both goes to the older route.

An index finds conflicting claims by lookups. Only claims on the same host and path with different header names are
compared in pairs, and such claims are few.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from models.problems import Problem, warning
from planning.ground.cluster_facts import GatewayRef, ParentRef, RouteMatch, Routes, Unknown
from planning.routes.collisions import (
    EVERY_HOST,
    RequestClaim,
    live_route_claims,
    parents_and_hosts,
    route_claims,
)
from planning.routes.records import Route

_PREFIX, _EXACT = "PathPrefix", "Exact"
_Claim = tuple[RequestClaim, ParentRef, str]
"""A claim on one listener and host."""
_Rank = tuple[GatewayRef, str, str, str, tuple[str, ...], int]
"""Gateway, host, type of path, path, further conditions and number of headers of a claim."""
_MAX_NAMES = 3
"""Maximum number of services that a warning names. Of all other services, the warning states only the number."""


class _Index:
    """Two indices of claims: `_narrower` by gateway, wildcard host and path; `_equal` by rank, then by header names."""

    def __init__(self, claims: Iterable[RequestClaim]) -> None:
        self._narrower = dict[tuple[GatewayRef, str, str], list[_Claim]]()
        self._equal = dict[_Rank, dict[tuple[str, ...], list[_Claim]]]()
        for claim in claims:
            for parent, host in parents_and_hosts(claim):
                if claim.match.type == _PREFIX and not claim.match.more:
                    for wider in _covering_hosts(host):
                        key = parent.gateway, wider, claim.match.path
                        self._narrower.setdefault(key, []).append((claim, parent, host))
                names = self._equal.setdefault(_rank(claim, parent, host), {})
                names.setdefault(_header_names(claim.match), []).append((claim, parent, host))

    def narrower(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[_Claim]:
        """Yield the claims on hosts below `host` that take requests from `claim` despite the longer path of `claim`."""
        for path in _shorter_paths(claim.match):
            for other, listener, narrow in self._narrower.get((parent.gateway, host, path), ()):
                is_apart = narrow in claim.hostnames or other.holder == claim.holder
                if not is_apart and _meet(parent, listener) and {*other.match.headers} <= {*claim.match.headers}:
                    yield other, listener, narrow

    def ties(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[_Claim]:
        """Yield the claims with the rank of `claim` that require other headers, but may match the same request."""
        own_names = _header_names(claim.match)
        for names, claims in self._equal.get(_rank(claim, parent, host), {}).items():
            if names == own_names:
                continue
            for other, listener, same_host in claims:
                if other.holder != claim.holder and _meet(parent, listener) and _compatible(claim.match, other.match):
                    yield other, listener, same_host


def warnings(routes: Iterable[Route]) -> tuple[Problem, ...]:
    """Return a warning for each surprising precedence between services of a stack."""
    claims = tuple(chain.from_iterable(map(route_claims, routes)))
    index = _Index(claims)
    ties = (tie for tie in _ties(claims, index) if str(tie[1].holder) < str(tie[0].holder))
    return (*_losses(claims, index), *dict.fromkeys(_tie(claim, other) for claim, other in ties))


def cluster_warnings(routes: Iterable[Route], live: Routes | Unknown) -> tuple[Problem, ...]:
    """Return a warning for each surprising precedence between planned routes and other routes of the cluster."""
    planned = tuple(routes)
    if isinstance(live, Unknown) or not planned:
        return ()
    names = {(route.namespace, route.name) for route in planned}
    others = (route for route in live.routes if (route.namespace, route.name) not in names)
    theirs = tuple(chain.from_iterable(map(live_route_claims, others)))
    ours = tuple(chain.from_iterable(map(route_claims, planned)))
    their_index = _Index(theirs)
    ties = dict.fromkeys(_tie(claim, other) for claim, other in _ties(ours, their_index))
    return (*_losses(ours, their_index), *_losses(theirs, _Index(ours)), *ties)


def _losses(claims: Iterable[RequestClaim], index: _Index) -> Iterator[Problem]:
    """Yield a warning for each claim of the index that takes requests from `claims` with longer paths."""
    losers = dict[tuple[RequestClaim, str], dict[str, None]]()
    for claim in claims:
        for parent, host in parents_and_hosts(claim):
            for other, _, narrow in index.narrower(claim, parent, host):
                losers.setdefault((other, narrow), {})[str(claim.holder)] = None
    for (taker, host), holders in losers.items():
        what = f"takes all requests for {host}, also for the longer paths of {_name_list(tuple(holders))}"
        yield warning(taker.at, what, f"add {host} to the hostnames of these routes, or use another path")


def _ties(claims: Iterable[RequestClaim], index: _Index) -> Iterator[tuple[RequestClaim, RequestClaim]]:
    for claim in claims:
        for parent, host in parents_and_hosts(claim):
            yield from ((claim, other) for other, _, _ in index.ties(claim, parent, host))


def _tie(claim: RequestClaim, other: RequestClaim) -> Problem:
    """Return the warning about a tie. The message has no header values, because these may be credentials."""
    names = sorted({name for _, name, _ in (*claim.match.headers, *other.match.headers)})
    what = f"ties with {other.holder} for requests that have the headers {', '.join(names)}: the older route wins"
    return warning(claim.at, what, "use another path, or require all of these headers in one of the routes")


def _name_list(names: tuple[str, ...]) -> str:
    shown, more = ", ".join(names[:_MAX_NAMES]), len(names) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _rank(claim: RequestClaim, parent: ParentRef, host: str) -> _Rank:
    """Return the key that claims share if only the age of their routes decides between them."""
    match = claim.match
    return parent.gateway, host, match.type, match.path, match.more, len(match.headers)


def _header_names(match: RouteMatch) -> tuple[str, ...]:
    return tuple(name for _, name, _ in match.headers)


def _compatible(first: RouteMatch, second: RouteMatch) -> bool:
    """Tell whether a request can meet the headers of both matches. Regular expressions count as never met."""
    if any(kind != _EXACT for kind, _, _ in (*first.headers, *second.headers)):
        return False
    values = {name: value for _, name, value in first.headers}
    return all(values.get(name, value) == value for _, name, value in second.headers)


def _meet(first: ParentRef, second: ParentRef) -> bool:
    """Tell whether two parents share a listener. A `section_name` or `port` of None fits all listeners."""
    sections, ports = {first.section_name, second.section_name}, {first.port, second.port}
    return (len(sections) == 1 or None in sections) and (len(ports) == 1 or None in ports)


def _shorter_paths(match: RouteMatch) -> Iterator[str]:
    """Yield the shorter paths that are prefixes of a match's path in whole segments."""
    path = match.path
    while match.type in {_PREFIX, _EXACT} and path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path


def _covering_hosts(host: str) -> Iterator[str]:
    """Yield the wildcards that cover a host: for `x.a.b` these are `*.a.b`, `*.b` and `*`."""
    if host == EVERY_HOST:
        return
    rest = host.removeprefix("*.")
    while rest := rest.partition(".")[2]:
        yield f"*.{rest}"
    yield EVERY_HOST
