"""Checks of Gateways: whether a listener takes each route of a stack (Gateway API, Listener, `allowedRoutes`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, gap
from planning.ground import labels
from planning.ground.cluster_facts import ClusterFacts, GatewayRef, LiveGateway, Unknown
from planning.ground.inventory import EVERY, SAME, SELECTED, Listener
from planning.ground.needs import Needs
from planning.routes import PlannedRoute, request_claims

_HTTP = frozenset({"HTTP", "HTTPS"})
"""Protocols whose listeners admit HTTPRoutes if `allowedRoutes.kinds` is empty."""
_ROUTE = "HTTPRoute"


@dataclass(frozen=True, slots=True)
class _Case:
    """A route and its Gateway."""

    route: PlannedRoute
    gateway: LiveGateway
    labels: Mapping[str, str] | Unknown
    """Labels of the route's namespace."""
    mode: Mode

    @property
    def ref(self) -> GatewayRef:
        """The Gateway."""
        return self.gateway.ref

    def problem(self, key: str, what: str, remedy: str) -> Problem:
        """Return a problem of a key of the Gateway in the configuration; an empty key is the Gateway itself."""
        path = Path(*self.route.gateway_at, *filter(None, (key,)))
        return Problem(path, what, remedy, severity=SEVERITIES[self.mode])


def judge(routes: Iterable[PlannedRoute], needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for every route that no listener of its Gateway takes.

    A Gateway that does not exist or could not be read is skipped here. Other checks report it.
    """
    if mode == "skip" or isinstance(facts.gateways, Unknown):
        return
    gateways = {gateway.ref: gateway for gateway in facts.gateways.gateways}
    for route in routes:
        gateway = gateways.get(request_claims.reference(route).gateway)
        if gateway is not None and gateway.listeners:
            namespace_labels = _namespace_labels(route.namespace, needs, facts)
            yield from _verdict(_Case(route, gateway, namespace_labels, mode))


def _namespace_labels(name: str, needs: Needs, facts: ClusterFacts) -> Mapping[str, str] | Unknown:
    """Return the labels of a namespace. If this run creates the namespace, return the labels that it will have."""
    if isinstance(facts.namespaces, Unknown):
        return facts.namespaces
    live = facts.namespaces.namespaces.get(name)
    if live is not None:
        return live.labels
    own_labels = {"kubernetes.io/metadata.name": name}
    if name in needs.created:
        own_labels = {**labels.PART_OF, **labels.POD_SECURITY, **own_labels}
    return own_labels


def _verdict(case: _Case) -> Iterator[Problem]:
    """Yield the first reason why no listener takes a route."""
    parent = case.route.parent
    listeners = case.gateway.listeners
    by_name = [listener for listener in listeners if parent.section_name in {None, listener.name}]
    by_port = [listener for listener in by_name if parent.port in {None, listener.port}]
    takers = [listener for listener in by_port if _takes_routes(listener)]
    if not by_name:
        names = ", ".join(sorted(listener.name for listener in listeners))
        what = f"is no listener of Gateway {case.ref} ({parent.section_name})"
        yield case.problem("sectionName", what, f"write one of {names}")
    elif not by_port:
        ports = ", ".join(map(str, sorted({listener.port for listener in by_name})))
        what = f"no listener of Gateway {case.ref} has this port ({parent.port})"
        yield case.problem("port", what, f"write one of {ports}")
    elif not takers:
        what = f"no selected listener of Gateway {case.ref} admits HTTPRoutes"
        yield case.problem("", what, "select another listener")
    else:
        yield from _namespace_verdict(case, takers)


def _takes_routes(listener: Listener) -> bool:
    """Tell whether a listener takes HTTPRoutes."""
    return _ROUTE in listener.kinds or (not listener.kinds and listener.protocol in _HTTP)


def _namespace_verdict(case: _Case, listeners: list[Listener]) -> Iterator[Problem]:
    namespace = case.route.namespace
    admitted = {listener.name: _admits(listener, case) for listener in listeners}
    if any(admitted.values()):
        yield from _host_verdict(case, [listener for listener in listeners if admitted[listener.name] is not False])
    elif isinstance(case.labels, Unknown) and None in admitted.values():
        check = f"whether Gateway {case.ref} admits routes of namespace {namespace}"
        yield gap(case.route.gateway_at, check, case.labels.reason)
    else:
        sources = ", ".join(f"{listener.name}: {listener.namespaces}" for listener in listeners)
        what = f"no selected listener of Gateway {case.ref} admits routes of namespace {namespace} ({sources})"
        remedy = "let allowedRoutes.namespaces of a listener admit the namespace, or name another gateway"
        yield case.problem("", what, remedy)


def _admits(listener: Listener, case: _Case) -> bool | None:
    """Tell whether a listener admits the route's namespace. None if this depends on labels that are unknown."""
    match listener.namespaces:
        case value if value == EVERY:
            return True
        case value if value == SAME:
            return case.route.namespace == case.ref.namespace
        case value if value == SELECTED:
            namespace_labels = case.labels
            if isinstance(namespace_labels, Unknown):
                return None
            return all(requirement.admits(namespace_labels) for requirement in listener.selector)
        case _:
            return False


def _host_verdict(case: _Case, listeners: list[Listener]) -> Iterator[Problem]:
    """Yield a problem if no listener takes the hosts of a route. A listener without a host takes every host."""
    hosts = [listener.hostname for listener in listeners if listener.hostname is not None]
    if not case.route.hostnames or len(hosts) < len(listeners):
        return
    if not any(_meet(host, listened) for host in case.route.hostnames for listened in hosts):
        what = f"no listener of Gateway {case.ref} takes these hosts ({', '.join(case.route.hostnames)})"
        at = Path("services", case.route.key, "route", "hostnames")
        remedy = f"write hosts of its listeners: {', '.join(sorted(set(hosts)))}"
        yield Problem(at, what, remedy, severity=SEVERITIES[case.mode])


def _meet(first: str, second: str) -> bool:
    """Tell whether some host name matches both patterns. A wildcard stands for one or more DNS labels."""
    first = first.lower()
    second = second.lower()
    return first == second or _is_above(first, second) or _is_above(second, first)


def _is_above(wide: str, narrow: str) -> bool:
    """Tell whether a pattern is a wildcard that matches another one."""
    return wide.startswith("*.") and narrow.endswith(wide[1:])
