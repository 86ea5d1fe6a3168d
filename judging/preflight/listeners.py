"""Checks of Gateways: whether a listener takes each route of a stack (Gateway API, Listener, `allowedRoutes`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, warning
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
    at: Path
    """Path of the key that sets the Gateway in the configuration."""
    labels: Mapping[str, str] | Unknown
    """Labels of the route's namespace."""


def judge(routes: Iterable[PlannedRoute], needs: Needs, facts: ClusterFacts, mode: Mode) -> Iterator[Problem]:
    """Yield a problem for every route that no listener of its Gateway takes.

    A Gateway that does not exist or could not be read is skipped here. Other checks report it.
    """
    if mode == "skip" or isinstance(facts.gateways, Unknown):
        return
    gateways = {gateway.ref: gateway for gateway in facts.gateways.gateways}
    for route in routes:
        gateway = gateways.get(request_claims.reference(route).gateway)
        if gateway is None or not gateway.listeners:
            continue
        found = _namespace_labels(route.namespace, needs, facts)
        for at, what, remedy in _verdict(_Case(route, gateway, route.gateway_at, found)):
            yield Problem(at, what, remedy, severity=SEVERITIES[mode]) if remedy else warning(at, what)


def _namespace_labels(name: str, needs: Needs, facts: ClusterFacts) -> Mapping[str, str] | Unknown:
    """Return the labels of a namespace. If this run creates the namespace, return the labels that it will have."""
    if isinstance(facts.namespaces, Unknown):
        return facts.namespaces
    live = facts.namespaces.namespaces.get(name)
    if live is not None:
        return live.labels
    made = {**labels.PART_OF, **labels.POD_SECURITY} if name in needs.created else {}
    return {**made, "kubernetes.io/metadata.name": name}


def _verdict(case: _Case) -> Iterator[tuple[Path, str, str]]:
    """Yield the first reason why no listener takes a route: path, what is wrong, and a remedy.

    If the remedy is empty, the reason is a check that did not run, and a warning is enough.
    """
    parent, ref, found = case.route.parent, case.gateway.ref, case.gateway.listeners
    selected = [each for each in found if parent.section_name in {None, each.name}]
    if not selected:
        names = ", ".join(sorted(each.name for each in found))
        what = f"is no listener of Gateway {ref} ({parent.section_name})"
        yield case.at / "sectionName", what, f"write one of {names}"
        return
    ports = sorted({each.port for each in selected})
    selected = [each for each in selected if parent.port in {None, each.port}]
    if not selected:
        what = f"no listener of Gateway {ref} has this port ({parent.port})"
        yield case.at / "port", what, f"write one of {', '.join(map(str, ports))}"
        return
    selected = [each for each in selected if _ROUTE in each.kinds or (not each.kinds and each.protocol in _HTTP)]
    if not selected:
        yield case.at, f"no selected listener of Gateway {ref} admits HTTPRoutes", "select another listener"
        return
    yield from _namespace_verdict(case, ref, selected)


def _namespace_verdict(case: _Case, ref: GatewayRef, selected: list[Listener]) -> Iterator[tuple[Path, str, str]]:
    namespace = case.route.namespace
    admitted = {each.name: _admits(each, case) for each in selected}
    if not any(admitted.values()):
        if isinstance(case.labels, Unknown) and None in admitted.values():
            what = f"whether Gateway {ref} admits routes of namespace {namespace} went unchecked: {case.labels.reason}"
            yield case.at, what, ""
            return
        sources = ", ".join(f"{each.name}: {each.namespaces}" for each in selected)
        what = f"no selected listener of Gateway {ref} admits routes of namespace {namespace} ({sources})"
        remedy = "let allowedRoutes.namespaces of a listener admit the namespace, or name another gateway"
        yield case.at, what, remedy
        return
    yield from _host_verdict(case, ref, [each for each in selected if admitted[each.name] is not False])


def _admits(listener: Listener, case: _Case) -> bool | None:
    """Tell whether a listener admits the route's namespace. None if this depends on labels that are unknown."""
    match listener.namespaces:
        case value if value == EVERY:
            return True
        case value if value == SAME:
            return case.route.namespace == case.gateway.ref.namespace
        case value if value == SELECTED:
            if isinstance(case.labels, Unknown):
                return None
            found = case.labels
            return all(requirement.admits(found) for requirement in listener.selector)
        case _:
            return False


def _host_verdict(case: _Case, ref: GatewayRef, selected: list[Listener]) -> Iterator[tuple[Path, str, str]]:
    hosts = [each.hostname for each in selected if each.hostname is not None]
    if not case.route.hostnames or len(hosts) < len(selected):
        return
    if not any(_meet(host, listened) for host in case.route.hostnames for listened in hosts):
        what = f"no listener of Gateway {ref} takes these hosts ({', '.join(case.route.hostnames)})"
        at = Path("services", case.route.key, "route", "hostnames")
        yield at, what, f"write hosts of its listeners: {', '.join(sorted(set(hosts)))}"


def _meet(first: str, second: str) -> bool:
    """Tell whether some host name matches both patterns. A wildcard stands for one or more DNS labels."""
    first, second = first.lower(), second.lower()
    return first == second or any(
        wide.startswith("*.") and narrow.endswith(wide[1:]) for wide, narrow in ((first, second), (second, first))
    )
