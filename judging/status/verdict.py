"""The verdict on each service: whether it serves, and which object is to blame.

The chain of a service is walked from the client. The first broken link is where requests end; its cause is the deepest
broken state that the tables of states say causes it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum

from judging.status import (
    attachments,
    claims,
    evidence,
    interceptors,
    needs,
    pickers,
    pools,
    routes,
    scaling,
    topology,
    workloads,
)
from judging.status.evidence import Evidence, Expectation, RouteExpectation
from judging.status.records import Finding, Link, ServiceLink
from judging.status.states import Level
from judging.status.topology import ServiceView, Topology, VariantView
from planning.ground.snapshot import Manifest, Snapshot

_DEPTH = {link: depth for depth, link in enumerate(Link)}


class ExitCode(IntEnum):
    """Meaning of the exit code for all services."""

    SERVES = 0
    """Every service serves as configured."""
    UNKNOWN = 1
    """It cannot be told whether every service serves."""
    DEGRADED = 4
    """No service fails, but something is wrong or still in progress, or nothing is deployed."""
    FAILS = 5
    """A service does not serve, and something is to blame."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The status of a service."""

    view: ServiceView
    components: tuple[ServiceLink, ...]
    """Links in the order from the client to the pods, those of the primary before those of the canary."""
    serves: bool | None
    """Whether requests to the service are answered; None if it cannot be told."""
    culprit: Finding | None
    """The state to blame; None if there is none. The state is a normal one if the service only waits."""
    gateways: tuple[Manifest, ...] = ()
    """Gateways of the routes, by namespace and name."""

    @property
    def level(self) -> Level:
        """Whether something is broken, degraded, or neither."""
        if self.serves is False and self.culprit is not None:
            return self.culprit.level
        return max((component.level for component in self.components), default=Level.NORMAL, key=list(Level).index)

    @property
    def others(self) -> tuple[Finding, ...]:
        """Return all findings but the culprit, in the order of the components."""
        return tuple(
            finding for component in self.components for finding in component.findings if finding != self.culprit
        )

    @property
    def since(self) -> datetime | None:
        """Return the time since when the culprit has been in its state."""
        return None if self.culprit is None else self.culprit.since


@dataclass(frozen=True, slots=True)
class Status:
    """The status of all services that were asked for."""

    services: tuple[ServiceStatus, ...]
    read_at: datetime
    unread: Mapping[str, str]
    """Reasons of the kinds that could not be read, by kind (`apiVersion/Kind`)."""

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code of the command."""
        if any(service.serves is False and service.level is not Level.NORMAL for service in self.services):
            return ExitCode.FAILS
        if self.unread or any(service.serves is None for service in self.services):
            return ExitCode.UNKNOWN
        as_configured = (
            service.serves and service.level is Level.NORMAL and not service.culprit for service in self.services
        )
        if self.services and all(as_configured):
            return ExitCode.SERVES
        return ExitCode.DEGRADED

    def only(self, stack: str | None, services: Collection[str]) -> "Status":
        """Return the status of some services: those of a stack, or of all stacks, and with these names, or with any."""
        services_left = (
            service
            for service in self.services
            if stack in {None, service.view.stack} and (not services or service.view.name in services)
        )
        return replace(self, services=tuple(services_left))

    def at(self, places: Collection[tuple[str, str]]) -> "Status":
        """Return the status of the services with these namespaces and names."""
        return replace(self, services=tuple(service for service in self.services if service.view.place in places))


def of(
    snapshot: Snapshot,
    expected: Mapping[tuple[str, str], Expectation],
    routes_expected: Mapping[tuple[str, str], RouteExpectation] | None = None,
    owner_of: topology.OwnerOf | None = None,
) -> Status:
    """Return the status of every service in a snapshot.

    `expected` is what the plan of a stack says of workloads, and `routes_expected` what it says of routes, by namespace
    and name; empty without a stack file. `owner_of` returns the stack of an object; absent, the one in its mark.
    """
    cluster = topology.of(snapshot, owner_of)
    reading = evidence.of(snapshot, expected, routes_expected or {})
    services = tuple(_service(view, cluster, reading) for view in cluster.services)
    return Status(services, snapshot.read_at, snapshot.unread())


def _service(view: ServiceView, cluster: Topology, reading: Evidence) -> ServiceStatus:
    """Return the status of a service.

    If a kind is unread, a link that ends requests is no verdict: another link may end them before, and another state
    may be the cause. The status is then unknown.
    """
    components = tuple(_components(view, cluster, reading))
    needed = [component for component in components if _is_needed(component)]
    serves = _serves(needed)
    culprit = _worst_cause(components)
    if serves is False:
        stop = _stop(components, needed)
        culprit = stop.culprit
        if reading.unread.keys() & set(needs.of(stop.links, stop.chain)):
            serves = None
    if serves is None:
        culprit = None
    return ServiceStatus(view, components, serves, culprit, attachments.gateways(view, cluster))


def _components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the links of the chain, from the client to the pods."""
    yield from routes.components(view, cluster, reading)
    yield from interceptors.components(view, cluster, reading)
    yield from pools.strays(view, cluster, reading)
    for variant in view.variants:
        yield from _of_variant(view, variant, reading)
    yield from claims.components(view, reading)


def _of_variant(view: ServiceView, variant: VariantView, reading: Evidence) -> Iterator[ServiceLink]:
    yield from pools.components(view, variant, reading)
    yield from pickers.components(view, variant, reading)
    for role in variant.roles:
        yield from scaling.components(variant, role, reading)
        yield workloads.component(variant, role, reading)
    yield from workloads.existing_pods(variant, reading)


def _is_needed(component: ServiceLink) -> bool:
    """Tell whether a broken link ends requests. Pods count as the endpoints of their pool, and claims as their pods."""
    return component.link not in {Link.SCALING, Link.WORKLOAD, Link.CLAIM}


def _serves(needed: Sequence[ServiceLink]) -> bool | None:
    broken = {component.is_broken for component in needed}
    if True in broken:
        return False
    if None in broken or not needed:
        return None
    return True


@dataclass(frozen=True, slots=True)
class _Stop:
    """The end of the requests to a service: the links up to it, and the reason."""

    links: Collection[Link]
    """The link that ends requests, and the links before it; all links if that link has no state."""
    chain: Sequence[Finding]
    """The states of that link and of deeper ones that follow from each other, the cause the last."""

    @property
    def culprit(self) -> Finding | None:
        """Return the state to blame."""
        return self.chain[-1] if self.chain else None


def _stop(components: Sequence[ServiceLink], needed: Sequence[ServiceLink]) -> _Stop:
    """Return where requests end: at the first broken link with something to blame, or else at the first that waits."""
    stops = [
        _Stop(_links(component, needed[:index]), tuple(_chain(component, components)))
        for index, component in enumerate(needed)
        if component.is_broken
    ]
    to_blame = (stop for stop in stops if stop.culprit is not None and stop.culprit.level is not Level.NORMAL)
    # That nothing is to blame is known only of all links.
    waiting = (replace(stop, links=set(Link)) for stop in stops if stop.culprit is not None)
    return next(to_blame, next(waiting, stops[0]))


def _links(broken: ServiceLink, earlier: Iterable[ServiceLink]) -> Collection[Link]:
    """Return a broken link and the links before it. A link without a state may be broken because of any other one."""
    if not broken.findings:
        return set(Link)
    return {broken.link, *(component.link for component in earlier)}


def _worst_cause(components: Sequence[ServiceLink]) -> Finding | None:
    """Return the cause of the worst state that is not normal; None if there is none."""
    wrong = [(finding, component) for component in components for finding in component.findings]
    worst = _worst([finding for finding, _ in wrong if finding.level is not Level.NORMAL])
    if worst is None:
        return None
    at = next(component for finding, component in wrong if finding is worst)
    return [worst, *_causes(worst, at, components)][-1]


def _chain(broken: ServiceLink, components: Sequence[ServiceLink]) -> Iterator[Finding]:
    """Yield the worst state of a broken link, and the states that cause it, each from the one after it."""
    effect = _worst(broken.findings)
    if effect is not None:
        yield effect
    yield from _causes(effect, broken, components)


def _causes(effect: Finding | None, at: ServiceLink, components: Sequence[ServiceLink]) -> Iterator[Finding]:
    """Yield the states of deeper links that cause a state of a component, the deepest the last."""
    deeper = [component for component in components if _DEPTH[component.link] > _DEPTH[at.link]]
    same = [component for component in deeper if component.variant in {at.variant, ""} or not at.variant]
    for component in sorted(same, key=lambda component: _DEPTH[component.link]):
        cause = _worst([finding for finding in component.findings if _may_cause(finding, component, effect)])
        if cause is not None and (component.is_broken or cause.level is Level.BROKEN):
            yield cause
            yield from _causes(cause, component, components)
            return


def _may_cause(finding: Finding, component: ServiceLink, effect: Finding | None) -> bool:
    return effect is None or bool({component.link.value, finding.state.id} & {*effect.state.caused_by})


def _worst(findings: Sequence[Finding]) -> Finding | None:
    """Return the first of the worst findings; None if there is none."""
    return max(findings, default=None, key=lambda finding: list(Level).index(finding.level))
