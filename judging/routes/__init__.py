"""Planned routes beside other routes on the same gateways of the cluster: which of them takes requests of which."""

from collections.abc import Iterable, Iterator
from itertools import chain

from judging.routes import collisions, hosts_and_ties, nested_paths
from models.paths import Path
from models.problems import Mode, Problem, gap
from planning.ground.cluster_facts import LiveRoute, LiveRouteMatch, Routes, Unknown
from planning.ground.marks import Identity, Verdict
from planning.routes import request_claims
from planning.routes.records import PlannedRoute, RequestClaim
from planning.routes.request_claims import PREFIX

__all__ = ["judge"]


def judge(routes: Iterable[PlannedRoute], identity: Identity, live: Routes | Unknown, mode: Mode) -> Iterator[Problem]:
    """Yield the problems between the routes of a stack and other routes on its gateways in the cluster.

    A route of the cluster with the namespace and name of a planned route is the same object, so it is skipped. If the
    cluster's routes are unknown, there is a single warning that nothing was compared.
    """
    planned = tuple(routes)
    if mode == "skip" or not planned:
        return
    if isinstance(live, Unknown):
        gateways = ", ".join(sorted({str(request_claims.reference(route).gateway) for route in planned}))
        yield gap(Path(), f"collisions with other routes on {gateways}", live.reason)
        return
    names = {(route.namespace, route.name) for route in planned}
    ours = request_claims.of_routes(planned)
    theirs = dict[Verdict, list[RequestClaim]]()
    others = [route for route in live.routes if (route.namespace, route.name) not in names]
    for route in others:
        theirs.setdefault(identity.verdict(route.mark), []).extend(_claims(route))
    yield from collisions.judge(ours, theirs, mode)
    yield from nested_paths.judge(ours, theirs, mode)
    yield from hosts_and_ties.judge(ours, tuple(chain.from_iterable(map(_claims, others))))


def _claims(route: LiveRoute) -> Iterator[RequestClaim]:
    """Yield the claims of a route in the cluster. The holder's name includes the stack that the route belongs to."""
    path = Path(f"HTTPRoute {route.namespace}/{route.name}")
    holder = path
    if route.mark.owner is not None:
        holder = Path(f"HTTPRoute {route.namespace}/{route.name} of stack {route.mark.owner}")
    for match in route.matches:
        yield RequestClaim(path, holder, route.parents, route.hostnames, _normalize(match))


def _normalize(match: LiveRouteMatch) -> LiveRouteMatch:
    """Return the normal form of a match. Matches of the same requests have equal normal forms."""
    path = match.path
    if match.type == PREFIX:
        path = request_claims.normal_path(path)
    headers = tuple(sorted((kind, name.lower(), value) for kind, name, value in match.headers))
    return LiveRouteMatch(match.type, path, headers, match.more)
