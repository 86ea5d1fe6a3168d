"""Rehearsal of an upgrade: what becomes of each service if a stack gets another release channel or engine."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from judging.report import cache_format, edits, growth, running, words
from judging.report.cache_format import CacheFate
from judging.report.growth import NOTHING, Change, Range
from judging.report.running import WORKLOADS, RunningPods
from manifests.objects import Manifest, Rendered
from models.problems import Problem
from models.stack import Stack
from planning.ground.cluster_facts import Place
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.releases import channel, engine_kinds, engine_versions

_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PlannedStack:
    """A stack as it was composed."""

    stack: Stack
    plan: StackPlan
    objects: tuple[Rendered, ...]


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """A workload whose pods begin or end with an upgrade."""

    kind: str
    name: str
    namespace: str
    text: str
    """Consequences for its pods."""
    edits: tuple[str, ...]
    """Differences between its old and its new pods."""


@dataclass(frozen=True, slots=True)
class ServiceStep:
    """The upgrade of a service."""

    service: str
    """Key of the service."""
    channels: tuple[str, str]
    """Release channel of the primary before and after."""
    engines: tuple[str, str]
    """Version of vLLM in the primary before and after; `unknown` if the image does not say it."""
    workloads: tuple[WorkloadStep, ...]
    devices: Range
    """Devices that pods need beside those that run, while they are replaced."""
    cache: CacheFate | None
    """Consequences for cached keys and values; None if no engine restarts."""
    warnings: tuple[Problem, ...]
    """Warnings about the service that the stack has only after the upgrade."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An upgrade of a stack."""

    services: tuple[ServiceStep, ...]
    """All services in the order of the stack file."""
    warnings: tuple[Problem, ...]
    """Warnings about the whole stack that it has only after the upgrade."""

    @property
    def restarting(self) -> tuple[ServiceStep, ...]:
        """Return the services with pods that begin or end."""
        return tuple(step for step in self.services if step.workloads)


def rehearse(old: PlannedStack, new: PlannedStack) -> Rehearsal:
    """Compare a stack before and after an upgrade. Both have the same services."""
    known = {str(problem) for problem in old.plan.warnings}
    fresh = [problem for problem in new.plan.warnings if str(problem) not in known]
    comparison = _Comparison(old, new)
    former = {service.key: service for service in old.plan.services}
    steps = tuple(_step(comparison, former[service.key], service, fresh) for service in new.plan.services)
    services = {step.service for step in steps}
    return Rehearsal(steps, tuple(problem for problem in fresh if _service(problem) not in services))


class _Comparison:
    """The workload objects of a stack before and after an upgrade, and the changes of the engines' workloads."""

    def __init__(self, old: PlannedStack, new: PlannedStack) -> None:
        self.stack = new.stack
        self.old = {rendered.place: rendered for rendered in old.objects if rendered.manifest["kind"] in WORKLOADS}
        self.new = {rendered.place: rendered for rendered in new.objects if rendered.manifest["kind"] in WORKLOADS}
        pods = dict(self._running(new.plan))
        restarts = {place: self._restarts(place) for place in pods}
        self.changes = {change.place: change for change in growth.changes(new.plan, pods, restarts)}

    def of_service(self, service: ServicePlan) -> Iterator[Rendered]:
        """Yield the new workload objects of a service whose pods begin or restart."""
        owners = {variant.owner for variant in service.variants}
        for place, rendered in self.new.items():
            if rendered.id.owner in owners and (place not in self.old or self._restarts(place)):
                yield rendered

    def gone(self, service: ServicePlan) -> Iterator[Rendered]:
        """Yield the old workload objects of a service that the upgrade deletes."""
        owners = {variant.owner for variant in service.variants}
        for place, rendered in self.old.items():
            if rendered.id.owner in owners and place not in self.new:
                yield rendered

    def _running(self, plan: StackPlan) -> Iterator[tuple[Place, RunningPods]]:
        for change in growth.changes(plan, {}, {}):
            former = self.old.get(change.place)
            pods = None
            if former is not None:
                pods = running.of_object(change.workload.kind, former.manifest, plan.classes, change.accelerator)
            if pods is not None:
                yield change.place, pods

    def _restarts(self, place: Place) -> bool:
        return _pods(self.old[place].manifest) != _pods(self.new[place].manifest)


def _pods(manifest: Manifest) -> object:
    """Return the part of a workload object whose change restarts pods."""
    spec = manifest["spec"]
    if manifest["kind"] == "LeaderWorkerSet":
        return spec["leaderWorkerTemplate"]
    return spec["template"]


def _step(comparison: _Comparison, old: ServicePlan, new: ServicePlan, fresh: Iterable[Problem]) -> ServiceStep:
    gone = list(comparison.gone(new))
    begun = list(comparison.of_service(new))
    workloads = (
        *(_workload(comparison, rendered, has_predecessor=bool(gone)) for rendered in begun),
        *(_departure(rendered) for rendered in gone),
    )
    changes = [comparison.changes[item.place] for item in begun if item.place in comparison.changes]
    devices = NOTHING
    for change in changes:
        devices = devices.plus(change.additional.times(change.devices_per_replica))
    return ServiceStep(
        service=new.key,
        channels=(old.primary.release, new.primary.release),
        engines=(_engine(old.primary), _engine(new.primary)),
        workloads=workloads,
        devices=devices,
        cache=_cache(comparison.stack, new.key, changes),
        warnings=tuple(problem for problem in fresh if _service(problem) == new.key),
    )


def _workload(comparison: _Comparison, rendered: Rendered, *, has_predecessor: bool) -> WorkloadStep:
    """Return the step of a workload whose pods begin or restart."""
    old = comparison.old.get(rendered.place)
    change = comparison.changes.get(rendered.place)
    operation = "create" if old is None else "update"
    text = "new" if old is None else "restarts"
    if change is not None:
        size = growth.weights_size(change, comparison.stack)
        text = words.fate(operation, change, size, beside=old is None and has_predecessor).text
    edited = ()
    if old is not None:
        edited = edits.edits(str(rendered.manifest["kind"]), old.manifest, rendered.manifest)
    return _workload_step(rendered, text, edited)


def _departure(rendered: Rendered) -> WorkloadStep:
    return _workload_step(rendered, words.departure(beside=True), ())


def _workload_step(rendered: Rendered, text: str, edited: tuple[str, ...]) -> WorkloadStep:
    _, kind, namespace, name = rendered.place
    return WorkloadStep(kind, name, namespace, text, edited)


def _engine(variant: VariantPlan) -> str:
    """Return the version of vLLM in the decode pods of a variant; the versions, if sets of these pods differ."""
    release = channel(variant.release)
    versions = [
        engine_versions.of_image(workload.engine.image, workload.accelerator.vendor, release)
        for workload in variant.destinations
    ]
    return ", ".join(dict.fromkeys(version.number if version.is_known else _UNKNOWN for version in versions))


def _cache(stack: Stack, key: str, changes: Iterable[Change]) -> CacheFate | None:
    """Return the consequences for the cache of a service; None if none of its engines restarts.

    A new workload is one of a new generation. Pods of one generation have the same format, whoever restarts.
    """
    begun = [change.running is None for change in changes]
    if not begun:
        return None
    service = stack.services[key]
    connector = None
    if service.prefill is not None and any(begun):
        connector = engine_kinds.connector(service)
    return cache_format.fate(connector)


def _service(problem: Problem) -> str:
    """Return the key of the service that a problem is about; empty for the whole stack."""
    path = problem.path
    if len(path) > 1 and path[0] == "services":
        return str(path[1])
    return ""
