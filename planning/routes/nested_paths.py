"""Routes that take requests from the routes of others, because their path lies inside the path of the other route.

Of the routes on one host that match a request, the route with the longest path gets the request. If paths are equally
long, an exact path, a method, and the larger number of headers decide (Gateway API, HTTPRouteRule). So a claim on
`/team-a/a/v1` takes what clients send to the service behind `/team-a/a`, although the two claims differ.

A fallback is nobody's loss: a claim on `/` without a host has what nobody else claims, and a claim on `/` of a wildcard
has what no narrower host claims.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from models.problems import Problem, warning
from planning.ground.cluster_facts import GatewayRef, ParentRef
from planning.routes import request_claims
from planning.routes.claim_sets import ClaimSet, covering_hosts, shorter_paths
from planning.routes.records import EVERY_HOST, PlannedRoute, RequestClaim
from planning.routes.request_claims import EXACT, PREFIX

ROOT = "/"
UNLESS_MEANT = "use another path, unless this is meant"
_MAX_NAMES = 3
"""Maximum number of routes that a message names."""
_Key = tuple[GatewayRef, str, str]
"""Gateway, host and path of a claim_set."""


@dataclass(frozen=True, slots=True)
class Losers:
    """Claims on one path, from which another claim takes requests."""

    host: str
    path: str
    claim_set: ClaimSet
    members: int
    """The set of these claims in the claim_set."""

    @property
    def names(self) -> dict[str, None]:
        """Return holders and paths of some of the claims, which are enough for a message."""
        return {name_of(claim): None for claim in self.claim_set.first_of(self.members, _MAX_NAMES + 1)}


class PathIndex:
    """Claims on path prefixes, by gateway, host and path."""

    def __init__(self, claims: Iterable[RequestClaim]) -> None:
        self._claim_sets = dict[_Key, ClaimSet]()
        for claim in claims:
            if claim.match.type == PREFIX:
                for parent, host in claim.parents_and_hosts():
                    self._claim_sets.setdefault((parent.gateway, host, claim.match.path), ClaimSet()).add(claim, parent)

    def losers(self, claim: RequestClaim) -> Iterator[Losers]:
        """Yield the claims around the path of `claim`, and those on its path that it precedes by other conditions."""
        if claim.match.type in {PREFIX, EXACT}:
            for parent, host in claim.parents_and_hosts():
                yield from self._around(claim, parent, host)
                yield from self._equal(claim, parent, host)

    def _around(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[Losers]:
        """Yield the claims around the path of `claim`, on its host and on the wildcards that cover its host."""
        for path in shorter_paths(claim.match.path):
            for wider in (host, *covering_hosts(host)):
                is_fallback = path == ROOT and (wider != host or host == EVERY_HOST)
                claim_set = self._claim_sets.get((parent.gateway, wider, path))
                if claim_set is None or is_fallback:
                    continue
                members = claim_set.meeting(claim, parent)
                if members:
                    yield Losers(wider, path, claim_set, members)

    def _equal(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[Losers]:
        """Yield the claims on the path and host of `claim` that have fewer conditions."""
        match = claim.match
        claim_set = self._claim_sets.get((parent.gateway, host, match.path))
        if claim_set is None:
            return
        members = claim_set.meeting(claim, parent) & ~claim_set.conditional
        if match.type == PREFIX and not match.more:
            members &= claim_set.with_fewer(len(match.headers))
        if match.path == ROOT and host == EVERY_HOST:
            members &= ~claim_set.with_fewer(1)
        if members:
            yield Losers(host, match.path, claim_set, members)


def judge(routes: Iterable[PlannedRoute]) -> Iterator[Problem]:
    """Yield a warning for each match of a service whose path lies inside the path of another service of the stack."""
    claims = request_claims.of_routes(routes)
    index = PathIndex(claims)
    for claim in claims:
        names = dict[str, None]()
        for losers in index.losers(claim):
            if losers.path not in {ROOT, claim.match.path}:
                names.update(losers.names)
        if names:
            yield warning(claim.at, taking(claim, names), UNLESS_MEANT)


def taking(claim: RequestClaim, names: Iterable[str]) -> str:
    """Return what a claim takes. The text has no header values, because these may be credentials."""
    place = [claim.match.path, *(f"header {name}" for name in claim.header_names)]
    return f"takes requests from {name_list(names)} ({', '.join(place)})"


def name_of(claim: RequestClaim) -> str:
    """Return the holder and the path of a claim."""
    return f"{claim.holder} at {claim.match.path}"


def name_list(names: Iterable[str]) -> str:
    """Return the first names as text."""
    whole = [*names]
    text = ", ".join(whole[:_MAX_NAMES])
    if len(whole) > _MAX_NAMES:
        return f"{text} and others"
    return text
