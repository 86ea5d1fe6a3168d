"""Routes that take requests from the routes of others, because their path lies inside the path of the other route.

Of the routes on one host that match a request, the route with the longest path gets the request. If paths are equally
long, an exact path, a method, and the larger number of headers decide (Gateway API, HTTPRouteRule). So a claim on
`/team-a/a/v1` takes what clients send to the service behind `/team-a/a`, although the two claims differ.

A fallback is nobody's loss: a claim on `/` without a host has what nobody else claims, and a claim on `/` of a wildcard
has what no narrower host claims.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from models.problems import Problem, warning
from planning.ground.cluster_facts import GatewayRef, LiveRoute, ParentRef, Routes, Unknown
from planning.ground.marks import Identity, Verdict
from planning.routes.collisions import EVERY_HOST, RequestClaim, live_route_claims, parents_and_hosts, route_claims
from planning.routes.crowds import Crowd, covering_hosts, header_names, shorter_paths
from planning.routes.records import Route

_PREFIX, _EXACT, _ROOT = "PathPrefix", "Exact", "/"
_MAX_NAMES = 3
"""Maximum number of routes that a message names."""
_UNLESS_MEANT = "use another path, unless this is meant"
_REMEDY = "use another path or hostname"
_Key = tuple[GatewayRef, str, str]
"""Gateway, host and path of a crowd."""


@dataclass(frozen=True, slots=True)
class _Losers:
    """Claims on one path, from which another claim takes requests."""

    host: str
    path: str
    crowd: Crowd
    members: int
    """The set of these claims in the crowd."""

    @property
    def names(self) -> dict[str, None]:
        """Return holders and paths of some of the claims, which are enough for a message."""
        return {_name(claim): None for claim in self.crowd.first_of(self.members, _MAX_NAMES + 1)}


class _Index:
    """Claims on path prefixes, by gateway, host and path."""

    def __init__(self, claims: Iterable[RequestClaim]) -> None:
        self._crowds = dict[_Key, Crowd]()
        for claim in claims:
            if claim.match.type == _PREFIX:
                for parent, host in parents_and_hosts(claim):
                    self._crowds.setdefault((parent.gateway, host, claim.match.path), Crowd()).add(claim, parent)

    def losers(self, claim: RequestClaim) -> Iterator[_Losers]:
        """Yield the claims around the path of `claim`, and those on its path that it precedes by other conditions."""
        if claim.match.type in {_PREFIX, _EXACT}:
            for parent, host in parents_and_hosts(claim):
                yield from self._around(claim, parent, host)
                yield from self._equal(claim, parent, host)

    def _around(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[_Losers]:
        """Yield the claims around the path of `claim`, on its host and on the wildcards that cover its host."""
        for path in shorter_paths(claim.match.path):
            for wider in (host, *covering_hosts(host)):
                is_fallback = path == _ROOT and (wider != host or host == EVERY_HOST)
                crowd = None if is_fallback else self._crowds.get((parent.gateway, wider, path))
                members = 0 if crowd is None else crowd.meeting(claim, parent)
                if crowd is not None and members:
                    yield _Losers(wider, path, crowd, members)

    def _equal(self, claim: RequestClaim, parent: ParentRef, host: str) -> Iterator[_Losers]:
        """Yield the claims on the path and host of `claim` that have fewer conditions."""
        match, crowd = claim.match, self._crowds.get((parent.gateway, host, claim.match.path))
        if crowd is None:
            return
        members = crowd.meeting(claim, parent) & ~crowd.conditional
        if match.type == _PREFIX and not match.more:
            members &= crowd.with_fewer(len(match.headers))
        if match.path == _ROOT and host == EVERY_HOST:
            members &= ~crowd.with_fewer(1)
        if members:
            yield _Losers(host, match.path, crowd, members)


def warnings(routes: Iterable[Route]) -> Iterator[Problem]:
    """Yield a warning for each match of a service whose path lies inside the path of another service of the stack."""
    claims = tuple(chain.from_iterable(map(route_claims, routes)))
    index = _Index(claims)
    for claim in claims:
        names = dict[str, None]()
        for losers in index.losers(claim):
            if losers.path not in {_ROOT, claim.match.path}:
                names.update(losers.names)
        if names:
            yield warning(claim.at, _takes(claim, names), _UNLESS_MEANT)


def cluster_problems(
    routes: Iterable[Route], identity: Identity, live: Routes | Unknown, mode: Literal["strict", "warn", "skip"]
) -> Iterator[Problem]:
    """Yield the problems of planned routes inside other routes of the cluster, and of other routes inside planned ones.

    A planned route that takes requests from another stack, or from somebody else, on the same host is an error if
    `mode` is strict. On a host below theirs it is a warning, because whoever names a host means its requests, and so it
    is for a path inside of somebody's `/`, which may be a fallback or a redirection. What others take from planned
    routes is a warning. Unmarked routes may be this stack's own. Routes of this stack that are not planned are skipped,
    because this run removes them.
    """
    planned = tuple(routes)
    if mode == "skip" or not planned or isinstance(live, Unknown):
        return
    names = {(route.namespace, route.name) for route in planned}
    others = [route for route in live.routes if (route.namespace, route.name) not in names]
    ours = tuple(chain.from_iterable(map(route_claims, planned)))
    theirs = dict[Verdict, list[LiveRoute]]()
    for route in others:
        theirs.setdefault(identity.verdict(route.mark), []).append(route)
    theirs.pop(Verdict.OURS, None)
    for verdict, live_routes in theirs.items():
        index = _Index(chain.from_iterable(map(live_route_claims, live_routes)))
        yield from _taken_from_others(ours, index, verdict, mode)
    lost = chain.from_iterable(map(live_route_claims, chain.from_iterable(theirs.values())))
    yield from _lost_to_others(lost, _Index(ours))


def _taken_from_others(
    ours: Iterable[RequestClaim], index: _Index, verdict: Verdict, mode: Literal["strict", "warn"]
) -> Iterator[Problem]:
    """Yield a problem for each planned claim that takes requests from claims of the index.

    `verdict` is the owner of the routes in the index.
    """
    for claim in ours:
        host_names = {host for _, host in parents_and_hosts(claim)}
        refused, noted = dict[str, None](), dict[str, None]()
        for losers in index.losers(claim):
            is_meant = losers.host not in host_names or verdict is Verdict.UNMARKED
            may_be_fallback = verdict is Verdict.FOREIGN and losers.path == _ROOT
            (noted if mode == "warn" or is_meant or may_be_fallback else refused).update(losers.names)
        if refused:
            yield Problem(claim.at, _takes(claim, refused), _REMEDY)
        if noted:
            yield warning(claim.at, _takes(claim, noted), _UNLESS_MEANT)


def _lost_to_others(theirs: Iterable[RequestClaim], index: _Index) -> Iterator[Problem]:
    """Yield a warning for each path of planned claims in the index from which other claims take requests."""
    takers = dict[int, tuple[RequestClaim, dict[str, None]]]()
    for taker in theirs:
        for losers in index.losers(taker):
            (first,) = losers.crowd.first_of(losers.members, 1)
            _, names = takers.setdefault(id(losers.crowd), (first, {}))
            names[_name(taker)] = None
    for claim, names in takers.values():
        what = f"loses requests to {_name_list(names)} ({claim.match.path})"
        yield warning(claim.at, what, _UNLESS_MEANT)


def _takes(claim: RequestClaim, names: Iterable[str]) -> str:
    """Return what a claim takes. The text has no header values, because these may be credentials."""
    place = [claim.match.path, *(f"header {name}" for name in header_names(claim))]
    return f"takes requests from {_name_list(names)} ({', '.join(place)})"


def _name(claim: RequestClaim) -> str:
    return f"{claim.holder} at {claim.match.path}"


def _name_list(names: Iterable[str]) -> str:
    whole = [*names]
    shown = ", ".join(whole[:_MAX_NAMES])
    return f"{shown} and others" if len(whole) > _MAX_NAMES else shown
