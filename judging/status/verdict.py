"""The verdict on each service: whether it serves, and which object is to blame.

The chain of a service is walked from the client. The first broken link is where requests end; its cause is the deepest
broken state that the tables of states say causes it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum

from judging.status import claims, evidence, interceptors, pickers, pools, routes, scaling, topology, workloads
from judging.status.evidence import Evidence, Expectation, RouteExpectation
from judging.status.records import Component, Finding, Link
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
    """No service fails, but something is wrong or still in progress."""
    FAILS = 5
    """A service does not serve, and something is to blame."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The status of a service."""

    view: ServiceView
    components: tuple[Component, ...]
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
        if all(service.serves and service.level is Level.NORMAL and not service.culprit for service in self.services):
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


def of(
    snapshot: Snapshot,
    expected: Mapping[tuple[str, str], Expectation],
    routes_expected: Mapping[tuple[str, str], RouteExpectation] | None = None,
) -> Status:
    """Return the status of every service in a snapshot.

    `expected` is what the plan of a stack says of workloads, and `routes_expected` what it says of routes, by namespace
    and name; empty without a stack file.
    """
    cluster = topology.of(snapshot)
    reading = evidence.of(snapshot, expected, routes_expected or {})
    services = tuple(_service(view, cluster, reading) for view in cluster.services)
    return Status(services, snapshot.read_at, snapshot.unread())


def _service(view: ServiceView, cluster: Topology, reading: Evidence) -> ServiceStatus:
    components = tuple(_components(view, cluster, reading))
    needed = [component for component in components if _is_needed(component)]
    serves = _serves(needed)
    culprit = _culprit(components, needed, serves=serves)
    return ServiceStatus(view, components, serves, culprit, topology.gateways_of(view, cluster))


def _components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[Component]:
    """Yield the links of the chain, from the client to the pods."""
    yield from routes.components(view, cluster, reading)
    yield from interceptors.components(view, cluster, reading)
    yield from pools.strays(view, reading)
    for variant in view.variants:
        yield from _of_variant(view, variant, reading)
    yield from claims.components(view, reading)


def _of_variant(view: ServiceView, variant: VariantView, reading: Evidence) -> Iterator[Component]:
    yield from pools.components(view, variant, reading)
    yield from pickers.components(view, variant, reading)
    for role in variant.roles:
        yield from scaling.components(variant, role, reading)
        yield workloads.component(variant, role, reading)


def _is_needed(component: Component) -> bool:
    """Tell whether a broken link ends requests. Pods count as the endpoints of their pool, and claims as their pods."""
    return component.link not in {Link.SCALING, Link.WORKLOAD, Link.CLAIM}


def _serves(needed: Sequence[Component]) -> bool | None:
    broken = {component.is_broken for component in needed}
    if True in broken:
        return False
    if None in broken or not needed:
        return None
    return True


def _culprit(components: Sequence[Component], needed: Iterable[Component], *, serves: bool | None) -> Finding | None:
    """Return the state to blame: the cause of the first broken link, or of the worst state if the service serves.

    A link that only waits does not hide a later one that is really broken.
    """
    if serves is False:
        broken = [component for component in needed if component.is_broken]
        effects = (_cause(_worst(component.findings), component, components) for component in broken)
        causes = [cause for cause in effects if cause is not None]
        return next((cause for cause in causes if cause.level is not Level.NORMAL), next(iter(causes), None))
    wrong = [(finding, component) for component in components for finding in component.findings]
    worst = _worst([finding for finding, _ in wrong if finding.level is not Level.NORMAL])
    if worst is None:
        return None
    return _cause(worst, next(component for finding, component in wrong if finding is worst), components)


def _cause(effect: Finding | None, at: Component, components: Sequence[Component]) -> Finding | None:
    """Return the deepest state that causes a state of a component; the state itself if nothing causes it."""
    deeper = [component for component in components if _DEPTH[component.link] > _DEPTH[at.link]]
    same = [component for component in deeper if component.variant in {at.variant, ""} or not at.variant]
    for component in sorted(same, key=lambda component: _DEPTH[component.link]):
        causes = [finding for finding in component.findings if _may_cause(finding, component, effect)]
        cause = _worst(causes)
        if cause is not None and (component.is_broken or cause.level is Level.BROKEN):
            return _cause(cause, component, components)
    return effect


def _may_cause(finding: Finding, component: Component, effect: Finding | None) -> bool:
    return effect is None or bool({component.link.value, finding.state.id} & {*effect.state.caused_by})


def _worst(findings: Sequence[Finding]) -> Finding | None:
    """Return the first of the worst findings; None if there is none."""
    return max(findings, default=None, key=lambda finding: list(Level).index(finding.level))
