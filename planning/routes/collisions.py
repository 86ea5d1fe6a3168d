"""Requests that two routes claim on one gateway: which of them gets these is nobody's decision.

Whatever a claim leaves open (its host, its listener, its port) covers every value of it. So two claims meet where, in
each of these, one is the other or covers it; a claim is found again under all that covers it, and no pair is compared.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import Literal

from models.paths import Path
from models.problems import Problem, warning
from planning.ground import labels
from planning.ground.cluster_facts import GatewayRef, LiveRoute, ParentRef, RouteMatch, Routes, Unknown
from planning.routes.records import Match, Route

_REMEDY = "give one of them another path or hostname"
_OLDER = "unless this run removes that, the older of the two gets them"
_EVERY_HOST = "*"
_OURS = labels.standard("", "", {})["app.kubernetes.io/part-of"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Requests of some hosts, on some listeners, that one match of one route asks for."""

    at: Path
    """Where it stands in the configuration, or the route where it stands in none."""
    holder: Path
    """Whose it is."""
    parents: tuple[ParentRef, ...]
    hostnames: tuple[str, ...]
    """Without any: every host."""
    match: RouteMatch


_Spot = tuple[tuple[str, str | int | None], ...]
"""One place in listeners, ports and hosts, and of each whether it is meant itself or something that it covers."""
_SELF, _BELOW = "itself", "below"


class _Index:
    """Claims by what they ask for."""

    def __init__(self) -> None:
        self._holders = dict[tuple[GatewayRef, RouteMatch], dict[_Spot, Claim]]()

    def add(self, claim: Claim) -> None:
        """Enter a claim. Who was there first stays."""
        for parent, host in _aspects(claim):
            spots = self._holders.setdefault(_subject(parent, claim.match), {})
            dimensions = ([(_SELF, own), *((_BELOW, one) for one in above)] for own, above in _places(parent, host))
            for spot in product(*dimensions):
                spots.setdefault(spot, claim)

    def holder(self, claim: Claim) -> tuple[Claim, ParentRef, str] | None:
        """Return a claim that meets this one, and on which gateway and host of this one, or nothing."""
        for parent, host in _aspects(claim):
            spots = self._holders.get(_subject(parent, claim.match))
            if spots is None:
                continue
            dimensions = (
                [(_SELF, own), *((_SELF, one) for one in above), (_BELOW, own)] for own, above in _places(parent, host)
            )
            for spot in product(*dimensions):
                if spot in spots:
                    return spots[spot], parent, host
        return None


def of_route(route: Route) -> Iterator[Claim]:
    """Yield what a planned route claims: what is written, and what its canary's headers make of it."""
    places = dict[RouteMatch, Path]()
    for one in chain(route.matches, *(rule.matches for rule in route.rules)):
        places.setdefault(_match(one), one.at / "path")
    for match, at in places.items():
        yield Claim(at, Path("services", route.key), (reference(route),), route.hostnames, match)


def reference(route: Route) -> ParentRef:
    """Return what a planned route attaches to, as the cluster would have it."""
    own = route.parent
    return ParentRef(GatewayRef(own.group, own.kind, own.namespace, own.name), own.section_name, own.port)


def problems(routes: Iterable[Route]) -> Iterator[Problem]:
    """Yield every claim of a service that an earlier service of the stack has already.

    Routes of one namespace and name would be one object, which is a mistake of its own; of those, one counts.
    """
    index = _Index()
    for route in {(one.namespace, one.name): one for one in routes}.values():
        for claim in of_route(route):
            found = index.holder(claim)
            index.add(claim)
            if found is not None:
                holder, parent, host = found
                paths = tuple(dict.fromkeys((claim.holder, holder.holder)))
                yield Problem(claim.at, _taken(claim, parent, host, holder.holder), _REMEDY, paths)


def with_cluster(
    routes: Iterable[Route],
    namespaces: Collection[str],
    live: Routes | Unknown,
    mode: Literal["strict", "warn", "skip"],
) -> list[Problem]:
    """Compare the routes of a stack, whose services are in `namespaces`, with those that are on its gateways already.

    A route of the same place is the stack's own. One that an earlier run of this program may have made in a namespace
    of the stack may be about to go, so it is a warning; so is what went unchecked.
    """
    planned = tuple(routes)
    if mode == "skip" or not planned:
        return []
    if isinstance(live, Unknown):
        gateways = ", ".join(sorted({str(reference(route).gateway) for route in planned}))
        unchecked = f"whether other routes on {gateways} claim the same requests went unchecked: {live.reason}"
        return [warning(Path(), unchecked)]
    others, left = _foreign(planned, namespaces, live)
    severity = "error" if mode == "strict" else "warning"
    taken = (Problem(at, what, _REMEDY, severity=severity) for at, what in _met(planned, others))
    return [*taken, *(warning(at, what, _OLDER) for at, what in _met(planned, left))]


def _foreign(planned: tuple[Route, ...], namespaces: Collection[str], live: Routes) -> tuple[_Index, _Index]:
    """Enter the claims of the cluster's routes that this stack does not plan: other people's, and its own of before."""
    own = {(route.namespace, route.name) for route in planned}
    others, left = _Index(), _Index()
    for route in live.routes:
        if (route.namespace, route.name) in own:
            continue
        into = left if route.part_of == _OURS and route.namespace in namespaces else others
        for claim in _of_cluster(route):
            into.add(claim)
    return others, left


def _of_cluster(route: LiveRoute) -> Iterator[Claim]:
    called = Path(f"HTTPRoute {route.namespace}/{route.name}")
    for match in route.matches:
        yield Claim(called, called, route.parents, route.hostnames, _normal(match))


def _met(planned: Iterable[Route], index: _Index) -> Iterator[tuple[Path, str]]:
    for route in planned:
        for claim in of_route(route):
            found = index.holder(claim)
            if found is not None:
                holder, parent, host = found
                yield claim.at, _taken(claim, parent, host, holder.holder)


def _taken(claim: Claim, parent: ParentRef, host: str, holder: Path) -> str:
    """Say what is taken; of headers the names alone, because a value may be a credential."""
    asked = [claim.match.path, "any host" if host == _EVERY_HOST else host]
    asked += [f"header {name}" for _, name, _ in claim.match.headers]
    return f"is taken on {parent.gateway} by {holder} ({', '.join(asked)})"


def _match(match: Match) -> RouteMatch:
    headers = tuple(("Exact", name, value) for name, value in match.headers.items())
    return _normal(RouteMatch("PathPrefix", match.path, headers))


def _normal(match: RouteMatch) -> RouteMatch:
    """Return the match in the one form of all that mean the same."""
    path = match.path if match.type != "PathPrefix" else match.path.rstrip("/") or "/"
    headers = tuple(sorted((kind, name.lower(), value) for kind, name, value in match.headers))
    return RouteMatch(match.type, path, headers, match.more)


def _subject(parent: ParentRef, match: RouteMatch) -> tuple[GatewayRef, RouteMatch]:
    return parent.gateway, match


def _aspects(claim: Claim) -> Iterator[tuple[ParentRef, str]]:
    return product(claim.parents, claim.hostnames or (_EVERY_HOST,))


def _places(parent: ParentRef, host: str) -> Iterator[tuple[str | int | None, tuple[str | None, ...]]]:
    """Yield listener, port and host, each with everything that covers it."""
    for own in (parent.section_name, parent.port):
        yield own, () if own is None else (None,)
    yield host, tuple(_covering(host))


def _covering(host: str) -> Iterator[str]:
    """Yield the wildcards above a host: `*.a.b` and `*.b` cover `x.a.b`, and `*` everything."""
    if host == _EVERY_HOST:
        return
    rest = host.removeprefix("*.")
    while rest := rest.partition(".")[2]:
        yield f"*.{rest}"
    yield _EVERY_HOST
