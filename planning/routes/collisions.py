"""Collisions of routes: requests that two routes on one gateway claim, so that either may receive them.

A claim that leaves its host, listener or port open covers every value of it. Two claims collide if, in each of these
dimensions, their values are equal or one of them covers the other. The index holds each claim under its own values and
under all that cover them, so collisions are looked up and no pairs are compared.
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
_OLDER_WINS = "unless this run removes that, the older of the two gets them"
_EVERY_HOST = "*"
_PART_OF = labels.standard("", "", {})["app.kubernetes.io/part-of"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Requests for some hosts, on some listeners, that a match of a route claims."""

    at: Path
    """Path of the match in the configuration, or the name of a route from the cluster."""
    holder: Path
    """Service that claims them, or the name of a route from the cluster."""
    parents: tuple[ParentRef, ...]
    hostnames: tuple[str, ...]
    """Hosts of the requests. Empty for every host."""
    match: RouteMatch


_IndexKey = tuple[tuple[str, str | int | None], ...]
"""Values of listener, port and host. Each says whether a claim has the value itself or one that the value covers."""
_SELF, _BELOW = "itself", "below"


class _Index:
    """Index of claims by gateway, match, and the values of listener, port and host."""

    def __init__(self) -> None:
        self._claims = dict[tuple[GatewayRef, RouteMatch], dict[_IndexKey, Claim]]()

    def add(self, claim: Claim) -> None:
        """Add a claim. An earlier claim of the same requests stays."""
        for parent, host in _parents_and_hosts(claim):
            claims = self._claims.setdefault(_group(parent, claim.match), {})
            relations = (
                [(_SELF, value), *((_BELOW, wider) for wider in covering)]
                for value, covering in _dimensions(parent, host)
            )
            for index_key in product(*relations):
                claims.setdefault(index_key, claim)

    def collision(self, claim: Claim) -> tuple[Claim, ParentRef, str] | None:
        """Return a claim of the index that collides, with the parent and the host where it does. None if none does."""
        for parent, host in _parents_and_hosts(claim):
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


def route_claims(route: Route) -> Iterator[Claim]:
    """Yield the claims of a planned route: its matches, and those with the headers of its canary."""
    paths = dict[RouteMatch, Path]()
    for match in chain(route.matches, *(rule.matches for rule in route.rules)):
        paths.setdefault(_planned_match(match), match.at / "path")
    for match, at in paths.items():
        yield Claim(at, Path("services", route.key), (reference(route),), route.hostnames, match)


def reference(route: Route) -> ParentRef:
    """Return the parent of a planned route as a reference in the cluster's form."""
    parent = route.parent
    return ParentRef(
        GatewayRef(parent.group, parent.kind, parent.namespace, parent.name), parent.section_name, parent.port
    )


def problems(routes: Iterable[Route]) -> Iterator[Problem]:
    """Yield a problem for every claim of a service that collides with an earlier service of the stack.

    Routes of the same namespace and name count as one, because another rule reports their names.
    """
    index = _Index()
    for route in {(route.namespace, route.name): route for route in routes}.values():
        for claim in route_claims(route):
            collision = index.collision(claim)
            index.add(claim)
            if collision is not None:
                holder, parent, host = collision
                paths = tuple(dict.fromkeys((claim.holder, holder.holder)))
                yield Problem(claim.at, _collision_text(claim, parent, host, holder.holder), _REMEDY, paths)


def cluster_problems(
    routes: Iterable[Route],
    namespaces: Collection[str],
    live: Routes | Unknown,
    mode: Literal["strict", "warn", "skip"],
) -> list[Problem]:
    """Return the collisions between the routes of a stack and other routes on its gateways in the cluster.

    `namespaces` are those of the stack's services. A route with namespace and name of a planned one is the same object.
    Other routes of this program in these namespaces yield warnings only, because this run may remove them. If the
    cluster's routes are unknown, the result is a warning that nothing was compared.
    """
    planned = tuple(routes)
    if mode == "skip" or not planned:
        return []
    if isinstance(live, Unknown):
        gateways = ", ".join(sorted({str(reference(route).gateway) for route in planned}))
        what = f"whether other routes on {gateways} claim the same requests went unchecked: {live.reason}"
        return [warning(Path(), what)]
    others, earlier = _index_cluster_routes(planned, namespaces, live)
    severity = "error" if mode == "strict" else "warning"
    errors = (Problem(at, what, _REMEDY, severity=severity) for at, what in _collisions(planned, others))
    return [*errors, *(warning(at, what, _OLDER_WINS) for at, what in _collisions(planned, earlier))]


def _index_cluster_routes(
    planned: tuple[Route, ...], namespaces: Collection[str], live: Routes
) -> tuple[_Index, _Index]:
    """Index the claims of routes that the stack does not plan: those of others, and those of its earlier runs."""
    planned_names = {(route.namespace, route.name) for route in planned}
    others, earlier = _Index(), _Index()
    for route in live.routes:
        if (route.namespace, route.name) in planned_names:
            continue
        index = earlier if route.part_of == _PART_OF and route.namespace in namespaces else others
        for claim in _live_route_claims(route):
            index.add(claim)
    return others, earlier


def _live_route_claims(route: LiveRoute) -> Iterator[Claim]:
    path = Path(f"HTTPRoute {route.namespace}/{route.name}")
    for match in route.matches:
        yield Claim(path, path, route.parents, route.hostnames, _normalize(match))


def _collisions(planned: Iterable[Route], index: _Index) -> Iterator[tuple[Path, str]]:
    for route in planned:
        for claim in route_claims(route):
            collision = index.collision(claim)
            if collision is not None:
                holder, parent, host = collision
                yield claim.at, _collision_text(claim, parent, host, holder.holder)


def _collision_text(claim: Claim, parent: ParentRef, host: str, holder: Path) -> str:
    """Describe a collision. Headers appear by name only, because their values may be credentials."""
    requests = [claim.match.path, "any host" if host == _EVERY_HOST else host]
    requests += [f"header {name}" for _, name, _ in claim.match.headers]
    return f"is taken on {parent.gateway} by {holder} ({', '.join(requests)})"


def _planned_match(match: Match) -> RouteMatch:
    headers = tuple(("Exact", name, value) for name, value in match.headers.items())
    return _normalize(RouteMatch("PathPrefix", match.path, headers))


def _normalize(match: RouteMatch) -> RouteMatch:
    """Return the match in a normal form, equal for all matches of the same requests."""
    path = match.path if match.type != "PathPrefix" else match.path.rstrip("/") or "/"
    headers = tuple(sorted((kind, name.lower(), value) for kind, name, value in match.headers))
    return RouteMatch(match.type, path, headers, match.more)


def _group(parent: ParentRef, match: RouteMatch) -> tuple[GatewayRef, RouteMatch]:
    return parent.gateway, match


def _parents_and_hosts(claim: Claim) -> Iterator[tuple[ParentRef, str]]:
    return product(claim.parents, claim.hostnames or (_EVERY_HOST,))


def _dimensions(parent: ParentRef, host: str) -> Iterator[tuple[str | int | None, tuple[str | None, ...]]]:
    """Yield the values of listener, port and host, each with all values that cover it."""
    for value in (parent.section_name, parent.port):
        yield value, () if value is None else (None,)
    yield host, tuple(_covering_hosts(host))


def _covering_hosts(host: str) -> Iterator[str]:
    """Yield the wildcards above a host: `*.a.b` and `*.b` cover `x.a.b`, and `*` everything."""
    if host == _EVERY_HOST:
        return
    rest = host.removeprefix("*.")
    while rest := rest.partition(".")[2]:
        yield f"*.{rest}"
    yield _EVERY_HOST
