"""Warnings about routes on one gateway whose precedence may surprise users, although their claims differ.

If several routes match a request, Gateway API gives it to the route whose matching host is the longest. If these are
equally long, the longest path decides, then the largest number of headers, then the age: the older route gets it.

- A route with a narrower host takes requests even from routes with longer paths, if these routes lack the host.
- If two routes have equally many headers on one path, a request with the headers of both goes to the older route.

Claims with the same rank are one set, so that no pairs are compared. Claims that tie get one warning, however many they
are.
"""

from collections.abc import Iterable, Iterator, Sequence

from models.problems import Problem, warning
from planning.ground.cluster_facts import GatewayRef, ParentRef
from planning.routes import request_claims
from planning.routes.claim_sets import ClaimSet, covering_hosts, lowest, shorter_paths
from planning.routes.records import PlannedRoute, RequestClaim
from planning.routes.request_claims import EXACT, PREFIX

_Claim = tuple[RequestClaim, ParentRef, str]
"""A claim on one listener and host."""
_Rank = tuple[GatewayRef, str, str, str, tuple[str, ...], int]
"""Gateway, host, type of path, path, further conditions and number of headers of a claim."""
_MAX_NAMES = 3
"""Maximum number of names in a warning. Of all other names, the warning states only the number."""
_PAIR = 2


class HostIndex:
    """Index of claims by gateway, wildcard above their host, and path."""

    def __init__(self, claims: Iterable[RequestClaim]) -> None:
        self._narrower = dict[tuple[GatewayRef, str, str], list[_Claim]]()
        for claim in claims:
            if claim.match.type != PREFIX or claim.match.more:
                continue
            for parent, host in claim.parents_and_hosts():
                for wider in covering_hosts(host):
                    key = parent.gateway, wider, claim.match.path
                    self._narrower.setdefault(key, []).append((claim, parent, host))

    def narrower(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[_Claim]:
        """Yield the claims on hosts below `host` that take requests from `claim` despite the longer path of `claim`."""
        if claim.match.type not in {PREFIX, EXACT}:
            return
        for path in shorter_paths(claim.match.path):
            for other, listener, narrow in self._narrower.get((parent.gateway, host, path), ()):
                is_apart = narrow in claim.hostnames or other.holder == claim.holder
                if not is_apart and _meet(parent, listener) and {*other.match.headers} <= {*claim.match.headers}:
                    yield other, listener, narrow


def judge(routes: Iterable[PlannedRoute]) -> Iterator[Problem]:
    """Yield a warning for each surprising precedence between services of a stack."""
    claims = request_claims.of_routes(routes)
    yield from losses(claims, HostIndex(claims))
    yield from dict.fromkeys(ties(claims))


def losses(claims: Iterable[RequestClaim], index: HostIndex) -> Iterator[Problem]:
    """Yield a warning for each claim of the index that takes requests from `claims` with longer paths."""
    losers = dict[tuple[RequestClaim, str], dict[str, None]]()
    for claim in claims:
        for parent, host in claim.parents_and_hosts():
            for other, _, narrow in index.narrower(claim, parent, host):
                losers.setdefault((other, narrow), {})[str(claim.holder)] = None
    for (taker, host), holders in losers.items():
        what = f"takes all requests for {host}, also for the longer paths of {_name_list(tuple(holders))}"
        yield warning(taker.at, what, f"add {host} to the hostnames of these routes, or use another path")


def ties(ours: Iterable[RequestClaim], theirs: Iterable[RequestClaim] | None = None) -> Iterator[Problem]:
    """Yield a warning for each group of claims that tie: `ours` among themselves, or `ours` with `theirs`."""
    claim_sets = dict[_Rank, ClaimSet]()
    _fill(claim_sets, ours)
    of_ours = {rank: claim_set.everybody for rank, claim_set in claim_sets.items()}
    _fill(claim_sets, theirs or ())
    for rank, claim_set in claim_sets.items():
        side = of_ours.get(rank, 0)
        opposite = claim_set.everybody
        if theirs is not None:
            opposite &= ~side
        for group in _groups(claim_set, side, opposite):
            yield _tie(claim_set.claims(group & side), claim_set.claims(group))


def _fill(claim_sets: dict[_Rank, ClaimSet], claims: Iterable[RequestClaim]) -> None:
    """Add each claim to the claim_sets of its rank on its gateways and hosts."""
    for claim in claims:
        for parent, host in claim.parents_and_hosts():
            match = claim.match
            rank = parent.gateway, host, match.type, match.path, match.more, len(match.headers)
            claim_sets.setdefault(rank, ClaimSet()).add(claim, parent)


def _groups(claim_set: ClaimSet, side: int, opposite: int) -> Iterator[int]:
    """Yield the sets of members that tie, directly or by others: members of `side` with members of `opposite`."""
    remaining = claim_set.everybody
    while remaining:
        group = 0
        unvisited = remaining & -remaining
        while unvisited:
            bit = unvisited & -unvisited
            group |= bit
            allowed = 0
            if bit & side:
                allowed |= opposite
            if bit & opposite:
                allowed |= side
            unvisited = (unvisited | _ties_of(claim_set, lowest(bit)) & allowed) & ~group
        remaining &= ~group
        if group.bit_count() > 1:
            yield group


def _ties_of(claim_set: ClaimSet, index: int) -> int:
    """Return the members that require other headers than a member, but may match the same request.

    Regular expressions count as never met.
    """
    member = claim_set.members[index]
    claim = member.claim
    if not claim_set.exact & 1 << index:
        return 0
    return claim_set.meeting(claim, member.parent) & claim_set.exact & ~claim_set.with_names(claim.header_names)


def _tie(ours: Sequence[RequestClaim], group: Sequence[RequestClaim]) -> Problem:
    """Return the warning about a group of claims that tie, at the last of `ours`.

    The message has no header values, because these may be credentials.
    """
    claim = max(ours, key=lambda claim: str(claim.holder))
    others = tuple(dict.fromkeys(str(other.holder) for other in group if other is not claim))
    names = tuple(sorted({name for member in group for name in member.header_names}))
    if len(group) == _PAIR:
        what = f"ties with {others[0]} for requests that have the headers {', '.join(names)}: the older route wins"
    else:
        headers = f"for requests that have several of the headers {_name_list(names)}"
        what = f"is one of {len(group)} matches that tie {headers}: the oldest route wins ({_name_list(others)})"
    return warning(claim.at, what, "use another path, or require all of these headers in one of the routes")


def _name_list(names: tuple[str, ...]) -> str:
    text = ", ".join(names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        return f"{text} and {len(names) - _MAX_NAMES} more"
    return text


def _meet(first: ParentRef, second: ParentRef) -> bool:
    """Tell whether two parents share a listener. A `section_name` or `port` of None fits all listeners."""
    sections = {first.section_name, second.section_name}
    ports = {first.port, second.port}
    return (len(sections) == 1 or None in sections) and (len(ports) == 1 or None in ports)
