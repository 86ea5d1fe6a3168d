"""Warnings about routes on one gateway whose precedence may surprise users, although their claims differ.

If several routes match a request, Gateway API gives it to the route whose matching host is the longest. If these are
equally long, the longest path decides, then the largest number of headers, then the age: the older route gets it.

- A route with a narrower host takes requests even from routes with longer paths, if these routes lack the host.
- If two routes have equally many headers on one path, a request with the headers of both goes to the older route.

Claims with the same rank are a crowd, so that no pairs are compared. Claims that tie get one warning, however many they
are.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from models.problems import Problem, warning
from planning.ground.cluster_facts import GatewayRef, ParentRef, Routes, Unknown
from planning.routes.collisions import RequestClaim, live_route_claims, parents_and_hosts, route_claims
from planning.routes.crowds import Crowd, covering_hosts, header_names, lowest, shorter_paths
from planning.routes.records import Route

_PREFIX, _EXACT = "PathPrefix", "Exact"
_Claim = tuple[RequestClaim, ParentRef, str]
"""A claim on one listener and host."""
_Rank = tuple[GatewayRef, str, str, str, tuple[str, ...], int]
"""Gateway, host, type of path, path, further conditions and number of headers of a claim."""
_MAX_NAMES = 3
"""Maximum number of names in a warning. Of all other names, the warning states only the number."""
_PAIR = 2


class _Index:
    """Index of claims by gateway, wildcard above their host, and path."""

    def __init__(self, claims: Iterable[RequestClaim]) -> None:
        self._narrower = dict[tuple[GatewayRef, str, str], list[_Claim]]()
        for claim in claims:
            if claim.match.type != _PREFIX or claim.match.more:
                continue
            for parent, host in parents_and_hosts(claim):
                for wider in covering_hosts(host):
                    key = parent.gateway, wider, claim.match.path
                    self._narrower.setdefault(key, []).append((claim, parent, host))

    def narrower(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[_Claim]:
        """Yield the claims on hosts below `host` that take requests from `claim` despite the longer path of `claim`."""
        for path in shorter_paths(claim.match.path) if claim.match.type in {_PREFIX, _EXACT} else ():
            for other, listener, narrow in self._narrower.get((parent.gateway, host, path), ()):
                is_apart = narrow in claim.hostnames or other.holder == claim.holder
                if not is_apart and _meet(parent, listener) and {*other.match.headers} <= {*claim.match.headers}:
                    yield other, listener, narrow


def warnings(routes: Iterable[Route]) -> tuple[Problem, ...]:
    """Return a warning for each surprising precedence between services of a stack."""
    claims = tuple(chain.from_iterable(map(route_claims, routes)))
    return (*_losses(claims, _Index(claims)), *dict.fromkeys(_ties(claims)))


def cluster_warnings(routes: Iterable[Route], live: Routes | Unknown) -> tuple[Problem, ...]:
    """Return a warning for each surprising precedence between planned routes and other routes of the cluster."""
    planned = tuple(routes)
    if isinstance(live, Unknown) or not planned:
        return ()
    names = {(route.namespace, route.name) for route in planned}
    others = (route for route in live.routes if (route.namespace, route.name) not in names)
    theirs = tuple(chain.from_iterable(map(live_route_claims, others)))
    ours = tuple(chain.from_iterable(map(route_claims, planned)))
    ties = dict.fromkeys(_ties(ours, theirs))
    return (*_losses(ours, _Index(theirs)), *_losses(theirs, _Index(ours)), *ties)


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


def _ties(ours: Iterable[RequestClaim], theirs: Iterable[RequestClaim] | None = None) -> Iterator[Problem]:
    """Yield a warning for each group of claims that tie: `ours` among themselves, or `ours` with `theirs`."""
    crowds = dict[_Rank, Crowd]()
    _fill(crowds, ours)
    of_ours = {rank: crowd.everybody for rank, crowd in crowds.items()}
    _fill(crowds, theirs or ())
    for rank, crowd in crowds.items():
        side = of_ours.get(rank, 0)
        for group in _groups(crowd, side, crowd.everybody if theirs is None else crowd.everybody & ~side):
            yield _tie(crowd.claims(group & side), crowd.claims(group))


def _fill(crowds: dict[_Rank, Crowd], claims: Iterable[RequestClaim]) -> None:
    """Add each claim to the crowds of its rank on its gateways and hosts."""
    for claim in claims:
        for parent, host in parents_and_hosts(claim):
            match = claim.match
            rank = parent.gateway, host, match.type, match.path, match.more, len(match.headers)
            crowds.setdefault(rank, Crowd()).add(claim, parent)


def _groups(crowd: Crowd, side: int, opposite: int) -> Iterator[int]:
    """Yield the sets of members that tie, directly or by others: members of `side` with members of `opposite`."""
    remaining = crowd.everybody
    while remaining:
        group, unvisited = 0, remaining & -remaining
        while unvisited:
            bit = unvisited & -unvisited
            group |= bit
            allowed = (opposite if bit & side else 0) | (side if bit & opposite else 0)
            unvisited = (unvisited | _ties_of(crowd, lowest(bit)) & allowed) & ~group
        remaining &= ~group
        if group.bit_count() > 1:
            yield group


def _ties_of(crowd: Crowd, index: int) -> int:
    """Return the members that require other headers than a member, but may match the same request.

    Regular expressions count as never met.
    """
    claim, parent = crowd.members[index].claim, crowd.members[index].parent
    if not crowd.exact & 1 << index:
        return 0
    return crowd.meeting(claim, parent) & crowd.exact & ~crowd.with_names(header_names(claim))


def _tie(ours: Sequence[RequestClaim], group: Sequence[RequestClaim]) -> Problem:
    """Return the warning about a group of claims that tie, at the last of `ours`.

    The message has no header values, because these may be credentials.
    """
    claim = max(ours, key=lambda claim: str(claim.holder))
    others = tuple(dict.fromkeys(str(other.holder) for other in group if other is not claim))
    names = tuple(sorted({name for member in group for name in header_names(member)}))
    if len(group) == _PAIR:
        what = f"ties with {others[0]} for requests that have the headers {', '.join(names)}: the older route wins"
    else:
        headers = f"for requests that have several of the headers {_name_list(names)}"
        what = f"is one of {len(group)} matches that tie {headers}: the oldest route wins ({_name_list(others)})"
    return warning(claim.at, what, "use another path, or require all of these headers in one of the routes")


def _name_list(names: tuple[str, ...]) -> str:
    shown, more = ", ".join(names[:_MAX_NAMES]), len(names) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _meet(first: ParentRef, second: ParentRef) -> bool:
    """Tell whether two parents share a listener. A `section_name` or `port` of None fits all listeners."""
    sections, ports = {first.section_name, second.section_name}, {first.port, second.port}
    return (len(sections) == 1 or None in sections) and (len(ports) == 1 or None in ports)
