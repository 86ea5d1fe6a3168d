"""Known defects of gateways that a stack meets, by the versions that the configuration states."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from models.paths import Path
from models.problems import Problem
from models.routing import Gateway
from planning.ground import gateways
from planning.ground.gateways import Defect
from planning.routes.records import EVERY_HOST, Parent, PlannedRoute
from planning.variant.context import Contexts, VariantId

_MAX_NAMES = 3
"""Maximum number of services that a message names."""


def judge(
    routes: Mapping[str, PlannedRoute], contexts: Contexts, with_protocol: Collection[VariantId]
) -> Iterator[Problem]:
    """Yield each defect that services meet, once for each gateway: a warning, or an error if nothing can be served.

    `routes` are the routes by service key. `with_protocol` are the variants whose pool has an appProtocol. A gateway
    without a version yields nothing.
    """
    services = {
        "failOpen": _failing_open(routes, contexts),
        "severalRoutes": _sharing_hosts(routes.values()),
        "poolProtocol": {variant.key for variant in with_protocol} & routes.keys(),
    }
    at_gateways = defaultdict[Path, list[str]](list)
    for key, route in routes.items():
        at_gateways[route.gateway_at].append(key)
    for at, keys in at_gateways.items():
        gateway = contexts.primary(keys[0]).gateway
        if gateway is None:
            continue
        for defect in gateways.defects(gateway):
            met_by = sorted(services[defect.when] & {*keys})
            if met_by:
                yield _problem(at, gateway, defect, met_by)


def _failing_open(routes: Iterable[str], contexts: Contexts) -> set[str]:
    """Return the services with a pool that sends requests on while no picker answers."""
    variants = [variant for variant in contexts.variants.values() if variant.key in {*routes} and variant.has_pool]
    return {variant.key for variant in variants if variant.spec.endpoint_picker.failure_mode == "FailOpen"}


def _sharing_hosts(routes: Iterable[PlannedRoute]) -> set[str]:
    """Return the services whose routes to pools have a listener and a host in common with such a route of another."""
    at_hosts = defaultdict[tuple[str, str, str, str, str], list[PlannedRoute]](list)
    for route in routes:
        parent = route.parent
        if any(backend.port is None for rule in route.rules for backend in rule.backends):
            for host in route.hostnames or (EVERY_HOST,):
                at_hosts[parent.group, parent.kind, parent.namespace, parent.name, host].append(route)
    return {
        route.key
        for sharing in at_hosts.values()
        for route in sharing
        if any(other.key != route.key and _meet(route.parent, other.parent) for other in sharing)
    }


def _meet(first: Parent, second: Parent) -> bool:
    """Tell whether two parents of the same gateway may select the same listener."""
    sections = {first.section_name, second.section_name} - {None}
    ports = {first.port, second.port} - {None}
    return len(sections) <= 1 and len(ports) <= 1


def _problem(at: Path, gateway: Gateway, defect: Defect, services: list[str]) -> Problem:
    facts = gateways.facts(gateway)
    title = gateway.provider if facts is None else facts.title
    names = ", ".join(services[:_MAX_NAMES])
    if len(services) > _MAX_NAMES:
        names += f" and {len(services) - _MAX_NAMES} more"
    what = f"has a known defect: {title} {gateway.version} {defect.what} ({names})"
    remedies = list[str]()
    if defect.fixed:
        remedies.append(f"upgrade {title} to {', '.join(defect.fixed)} or newer")
    if defect.otherwise is not None:
        remedies.append(defect.otherwise)
    severity = "warning" if defect.serves else "error"
    return Problem(at / "version", what, ", or ".join(remedies), (at / "provider",), severity=severity)
