"""Check of running services: whether a run would delete or replace one of them as a whole."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judging.causes import Cause
from judging.losses.matching import Matches
from judging.report import running
from models.paths import Path
from models.problems import Problem
from planning.ground import labels
from planning.ground.cluster_facts import Place
from planning.ground.recorded import Recorded, RecordedObject, ServiceRecord, WorkloadName
from planning.plans import ServicePlan, VariantPlan

_NO_RECORD = ServiceRecord("", "")


class ServiceName(NamedTuple):
    """Name of a service in the cluster."""

    namespace: str
    name: str
    """Name in the labels of pods, which is also the name of the service's Service."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PlannedService:
    """A planned service, and the path of its configuration in messages."""

    key: str
    release: str
    """Release channel of the primary."""
    name: ServiceName
    path: Path
    existing: str = ""
    """Key with the pods or the pool of somebody else; empty if the stack runs the pods."""

    @classmethod
    def of(cls, plan: ServicePlan, top: Path) -> "PlannedService":
        """Return the service of a plan. `top` is the path of its inference stack."""
        names = plan.primary.names
        name = ServiceName(names.namespace, names.service)
        path = Path(*top, "services", plan.key)
        return cls(plan.key, plan.primary.release, name, path, _existing(plan.primary))


def _existing(primary: VariantPlan) -> str:
    if primary.existing_pool is not None:
        return "existingPool"
    return "" if primary.existing_pods is None else "existingPods"


@dataclass(frozen=True, slots=True)
class Loss:
    """A running service that a run would lose."""

    cause: Cause
    path: Path
    reason: str
    """Why the service would be lost, as a clause."""
    remedy: str
    name: ServiceName
    pods: int
    devices: int

    @property
    def problem(self) -> Problem:
        """Return the loss as an error."""
        devices = ""
        if self.devices:
            devices = f" with {_count(self.devices, 'device')}"
        what = f"this run would end all of {self.name} ({_count(self.pods, 'pod')}{devices}): {self.reason}"
        return Problem(self.path, what, f"{self.remedy}, or write allow: [{self.cause}] for one run")


def losses(
    recorded: Recorded, matches: Matches, planned: Sequence[PlannedService], judged: Collection[str] | None = None
) -> list[Loss]:
    """Return the running services of Pulumi's state that a run would delete or replace as a whole.

    `matches` are the objects of the state that the inference stacks of the program plan, and `planned` are the services
    of these inference stacks. Only services of the inference stacks with a name in `judged` are returned; None stands
    for all names.
    """
    staying = matches.staying
    deleted = frozenset(
        state_object.place[3]
        for state_object in recorded.objects
        if state_object.place[1] == "Namespace" and state_object.urn not in staying
    )
    running_services = _workloads(recorded)
    fates = [
        _Fate(name, workloads, _record(workloads, recorded), staying, name.namespace in deleted)
        for name, workloads in sorted(running_services.items())
    ]
    if judged is not None:
        fates = [fate for fate in fates if fate.record.instance in judged]
    fronts = frozenset(state_object.place for state_object in recorded.objects if state_object.urn in staying)
    # A service that runs already is not a service into which another one changes, even if both have the same key.
    new = [service for service in planned if service.name not in running_services]
    losses_or_none = (_loss(fate, fronts, fate.of_key(planned), fate.of_key(new)) for fate in fates)
    return [loss for loss in losses_or_none if loss is not None]


@dataclass(frozen=True, slots=True)
class _Fate:
    """A running service, and what a run does to it."""

    name: ServiceName
    workloads: Sequence[RecordedObject]
    record: ServiceRecord
    staying: Collection[str]
    """URNs of all objects that stay."""
    namespace_ends: bool
    """Whether the namespace of the service is deleted."""

    def of_key(self, services: Iterable[PlannedService]) -> list[PlannedService]:
        """Return the services with the key of this service."""
        return [service for service in services if service.key == self.record.key]

    @property
    def keeps_pods(self) -> bool:
        """Tell whether a workload stays."""
        return any(workload.urn in self.staying for workload in self.workloads)

    def loss(self, cause: Cause, path: Path, reason: str, remedy: str) -> Loss:
        """Return the loss of the service."""
        sizes = [_size(workload) for workload in self.workloads]
        pods = sum(size.pods for size in sizes)
        devices = sum(size.devices for size in sizes)
        return Loss(cause, path, reason, remedy, self.name, pods, devices)


def _loss(
    fate: _Fate, fronts: Collection[Place], same_key: Sequence[PlannedService], successors: Sequence[PlannedService]
) -> Loss | None:
    """Return the loss of a service; None if the service stays.

    `same_key` are the planned services with the key of the service, and `successors` those of them that do not run yet.
    A service whose Service stays keeps answering requests: new pods are ready before the former pods end.
    """
    if fate.namespace_ends:
        return _lost_namespace(fate, same_key, successors)
    if fate.keeps_pods:
        return None
    for service in same_key:
        if service.existing and service.name == fate.name:
            reason = f"{service.existing} leads to what somebody else runs in place of its pods"
            at = service.path / service.existing
            return fate.loss(Cause.REMOVAL, at, reason, f"remove {service.existing}")
    if ("", "Service", fate.name.namespace, fate.name.name) in fronts:
        return _replaced_by_release(fate, same_key)
    return _moved_or_removed(fate, successors)


def _lost_namespace(fate: _Fate, same_key: Sequence[PlannedService], successors: Sequence[PlannedService]) -> Loss:
    """Return the loss of a service whose namespace is deleted, with everything in it."""
    namespace = fate.name.namespace
    if any(service.name == fate.name for service in same_key):
        reason = f"it would delete namespace {namespace}, which the state has and the configuration does not create"
        return fate.loss(Cause.NAMESPACE, Path("namespaceOptions", "create"), reason, "keep it true")
    return _moved_or_removed(fate, successors)


def _replaced_by_release(fate: _Fate, same_key: Sequence[PlannedService]) -> Loss | None:
    """Return the loss of all pods of a service to another release channel; None if the channel is the same."""
    former = fate.record.release
    for service in same_key:
        if former and service.release != former:
            reason = f"release {service.release} replaces all pods of release {former}, which run beside them meanwhile"
            return fate.loss(Cause.RELEASE, service.path, reason, f"keep release: {former}")
    return None


def _moved_or_removed(fate: _Fate, successors: Sequence[PlannedService]) -> Loss:
    """Return the loss of a service that gets other objects, or none."""
    for service in successors:
        namespace, name = service.name
        if namespace != fate.name.namespace:
            reason = f"its namespace becomes {namespace}"
            remedy = f"keep namespace: {fate.name.namespace}"
            return fate.loss(Cause.NAMESPACE, service.path, reason, remedy)
        if name != fate.name.name:
            reason = f"its name becomes {name}"
            remedy = f"keep name: {fate.name.name}"
            return fate.loss(Cause.NAME, service.path, reason, remedy)
    key = fate.record.key or fate.name.name
    remedy = f"if its key was renamed, write name: {fate.name.name} below the new key"
    return fate.loss(Cause.REMOVAL, Path("services", key), "the configuration does not have it", remedy)


def _record(workloads: Iterable[RecordedObject], recorded: Recorded) -> ServiceRecord:
    """Return the record of the service to which workloads belong."""
    names = (WorkloadName(place[2], place[1], place[3]) for place in (workload.place for workload in workloads))
    return next((recorded.services[name] for name in names if name in recorded.services), _NO_RECORD)


def _workloads(recorded: Recorded) -> Mapping[ServiceName, list[RecordedObject]]:
    """Return the workloads with serving pods of each service."""
    groups = dict[ServiceName, list[RecordedObject]]()
    for state_object in recorded.objects:
        _, kind, namespace, _ = state_object.place
        if kind in running.WORKLOADS and state_object.content:
            name = running.leader_labels(kind, state_object.content).get(labels.SERVICE)
            if name is not None:
                groups.setdefault(ServiceName(namespace, name), []).append(state_object)
    return groups


class _Size(NamedTuple):
    pods: int
    devices: int


def _size(workload: RecordedObject) -> _Size:
    """Return the pods and devices of a workload. The state has the number of replicas of the last run."""
    pods = running.of_object(workload.place[1], workload.content, {})
    if pods is None:
        return _Size(0, 0)
    number = (pods.replicas or 0) * pods.pods_per_replica
    return _Size(number, number * pods.devices_per_pod)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
