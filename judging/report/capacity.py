"""Capacity: whether nodes and quotas have the devices that a change needs at its worst moment.

At the worst moment, all workloads change at the same time: all additional pods need places while all old pods still
run. If services restart in turns, only some of them restart at that moment. Free devices are devices that no pod has
requested.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judging.report import affinity
from judging.report.growth import NOTHING, Change, Range, at_worst
from judging.report.packing import PodGroup, Tightness, pack
from judging.report.running import RunningPods
from models.accelerators import ExtendedResource, ResourceClaim
from models.vocabulary import amount
from planning.ground.cluster_facts import ClusterFacts, Place, Unknown
from planning.ground.inventory import LiveNode, Quota
from planning.hardware import device_claims
from planning.hardware import nodes as fleet
from planning.hardware.nodes import ClassNode

_REQUESTS = "requests."
"""Prefix of extended resources in a quota, as `requests.nvidia.com/gpu` (Kubernetes documentation, Resource Quotas)."""


_Nodes = tuple[ClassNode, ...] | Unknown
"""The nodes that take the pods of a workload, or the reason why these nodes are unknown."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A quota that additional pods exceed."""

    namespace: str
    quota: str
    resource: str
    hard: int
    used: int
    additional: Range

    @property
    def verdict(self) -> Tightness:
        """Return `SHORT` if even the smallest numbers of replicas need more than the quota has left, else `TIGHT`."""
        if self.used + self.additional.low > self.hard:
            return Tightness.SHORT
        return Tightness.TIGHT


@dataclass(frozen=True, slots=True)
class ClassCapacity:
    """Devices of one accelerator class, before, during and after a change."""

    accelerator: str
    before: Range
    after: Range
    peak: Range
    """Devices that are requested at the worst moment."""
    free: int | None
    """Devices that no pod has requested, on nodes that take the pods; None if their number is unknown."""
    nodes: int | None
    """Number of nodes that take the pods; None if the nodes, or the devices requested on them, are unknown."""
    is_provisioned: bool
    """Whether nodes of the class are made on demand."""


@dataclass(frozen=True, slots=True)
class DeviceCapacity:
    """Pods that need devices of one kind, such as `nvidia.com/gpu`, which several classes may share."""

    resource: str
    """Name of the extended resource, or of the device class."""
    classes: tuple[str, ...]
    """Accelerator classes of the pods."""
    low: Tightness
    """Whether the smallest numbers of replicas fit the nodes, according to the cluster facts."""
    high: Tightness
    """Whether the largest numbers of replicas fit the nodes."""
    is_certain: bool
    """Whether the verdicts are certain: other pods' devices are known, and no demand is left to the scheduler."""
    additional: Range
    """Devices that are needed in addition to the devices of running pods."""
    has_nodes: bool
    """Whether any node takes any of the pods."""
    free: int
    """Devices that no pod has requested, on nodes that take the pods."""
    places: Mapping[str, Sequence[tuple[str, int]]]
    """Placed pods by node: workload and number of devices of each pod."""
    changes: tuple[Change, ...]
    """The workloads that need additional pods."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The devices of a change."""

    classes: tuple[ClassCapacity, ...]
    devices: tuple[DeviceCapacity, ...]
    """Kinds of devices of which the change needs more. Kinds whose nodes are unknown are left out."""
    lacks: tuple[Lack, ...]
    """Quotas that are exceeded."""
    unchecked: tuple[str, ...]
    """Checks that could not be made, with the reason."""


def of_changes(changes: Sequence[Change], gone: Sequence[RunningPods], facts: ClusterFacts) -> Capacity:
    """Return the capacity for the changes of workloads.

    The workloads in `gone` end, but only when the workloads in `changes` are ready.
    """
    of_classes = at_worst(changes, lambda change: change.accelerator, _devices_of_replica)
    with_devices = [change for change in of_classes if change.has_devices]
    fleet_takers = _Takers(facts)
    takers = {
        change.place: fleet_takers.of(change)
        for change in changes
        if change.devices_per_replica and not change.workload.accelerator.provisioned
    }
    of_kinds = at_worst(changes, lambda change: (_resource(change), _has_nodes(change, takers)), _devices_of_replica)
    growing = [change for change in of_kinds if change.additional.high and change.devices_per_replica]
    counted = [change for change in growing if change.place in takers]
    return Capacity(
        classes=tuple(_classes(with_devices, gone, fleet_takers)),
        devices=tuple(_devices(resource, group, takers) for (resource, _), group in _groups(counted, takers).items()),
        lacks=tuple(_lacks(changes, facts)),
        unchecked=tuple(dict.fromkeys((*_unread(growing, takers, facts), *_unevaluated_demands(growing)))),
    )


def _groups(changes: Iterable[Change], takers: Mapping[Place, _Nodes]) -> dict[tuple[str, bool], list[Change]]:
    """Return the changes whose nodes are known, grouped by resource, and by whether any node takes the pods."""
    groups = dict[tuple[str, bool], list[Change]]()
    for change in changes:
        has_nodes = _has_nodes(change, takers)
        if has_nodes is not None:
            groups.setdefault((_resource(change), has_nodes), []).append(change)
    return groups


def _has_nodes(change: Change, takers: Mapping[Place, _Nodes]) -> bool | None:
    """Tell whether any node takes the pods of a workload; None if its nodes are unknown or come on demand."""
    nodes = takers.get(change.place)
    if nodes is None or isinstance(nodes, Unknown):
        return None
    return bool(nodes)


def _resource(change: Change) -> str:
    match change.workload.accelerator.allocation:
        case ExtendedResource(resource_name=name):
            return name
        case ResourceClaim() as claim:
            return device_claims.title(claim)
        case None:
            return ""


def _devices(resource: str, changes: Sequence[Change], takers: Mapping[Place, _Nodes]) -> DeviceCapacity:
    """Return whether the additional pods of workloads fit the nodes. All these workloads need the same resource."""
    free = dict[str, int]()
    names = dict[Place, frozenset[str]]()
    is_certain = not any(affinity.further_demands(change.workload.placement) for change in changes)
    for change in changes:
        nodes = takers[change.place]
        if isinstance(nodes, Unknown):
            nodes = ()
        names[change.place] = frozenset(node.name for node in nodes)
        is_certain = is_certain and all(node.requested is not None for node in nodes)
        free |= {node.name: max(0, node.allocatable - (node.requested or 0)) for node in nodes}
    low = high = pack(free, _pods(changes, names, largest=False))
    if any(change.additional.low != change.additional.high for change in changes):
        high = pack(free, _pods(changes, names, largest=True))
    additional = NOTHING
    for change in changes:
        additional = additional.plus(change.additional.times(change.devices_per_replica))
    classes = tuple(dict.fromkeys(change.accelerator for change in changes))
    return DeviceCapacity(
        resource=resource,
        classes=classes,
        low=_lenient(low.verdict, changes),
        high=_lenient(high.verdict, changes),
        is_certain=is_certain,
        has_nodes=any(names.values()),
        additional=additional,
        free=sum(free.values()),
        places=low.places,
        changes=tuple(changes),
    )


def _lenient(verdict: Tightness, changes: Iterable[Change]) -> Tightness:
    """Return the verdict, or `TIGHT` in place of `SHORT` if new pods may get the devices of the pods that they replace.

    Whether the new pods get these devices is uncertain, because the nodes of the replaced pods are unknown.
    """
    is_lacking = verdict is Tightness.SHORT
    if is_lacking and any(change.may_inherit for change in changes):
        return Tightness.TIGHT
    return verdict


class _Takers:
    """The nodes that take pods, by accelerator class and placement. The nodes of each such pair are looked up once."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._found = dict[tuple[str, str], _Nodes]()

    def of(self, change: Change) -> _Nodes:
        """Return the nodes that take the pods of a workload."""
        key = change.accelerator, repr(change.workload.placement)
        if key not in self._found:
            self._found[key] = _nodes_for(change, self._facts)
        return self._found[key]


def _nodes_for(change: Change, facts: ClusterFacts) -> _Nodes:
    """Return the nodes that take the pods of a workload."""
    workload = change.workload
    class_nodes = fleet.of_class(workload.accelerator, workload.placement, facts)
    if isinstance(class_nodes, Unknown) or isinstance(facts.nodes, Unknown):
        if isinstance(facts.nodes, Unknown):
            return facts.nodes
        return class_nodes
    labels: Mapping[str, LiveNode] = {node.name: node for node in facts.nodes.nodes}
    return tuple(
        node
        for node in class_nodes
        if not node.obstacles and affinity.admits(workload.placement.affinity, labels[node.name].labels)
    )


def _pods(changes: Iterable[Change], takers: Mapping[Place, frozenset[str]], *, largest: bool) -> Iterator[PodGroup]:
    for change in changes:
        if largest:
            replicas = change.additional.high
        else:
            replicas = change.additional.low
        layout = change.workload.layout
        name = change.workload.name
        yield PodGroup(name, layout.chips_per_pod, replicas * layout.pods_per_replica, takers[change.place])


def _classes(changes: Sequence[Change], gone: Sequence[RunningPods], takers: _Takers) -> Iterator[ClassCapacity]:
    before = dict[str, Range]()
    after = dict[str, Range]()
    peak = dict[str, Range]()

    def add(table: dict[str, Range], name: str | None, number: Range) -> None:
        if name is not None and number != NOTHING:
            table[name] = table.get(name, NOTHING).plus(number)

    for old in gone:
        replicas = 1
        if old.replicas is not None:
            replicas = old.replicas
        devices = Range(replicas, replicas).times(old.devices_per_pod * old.pods_per_replica)
        add(before, old.accelerator, devices)
        add(peak, old.accelerator, devices)
    for change in changes:
        present = _present(change)
        old_class = None
        if change.running is not None:
            old_class = change.running.accelerator
        add(before, old_class or change.accelerator, present)
        add(after, change.accelerator, change.after.times(change.devices_per_replica))
        for name, number in _peaks(change, present):
            add(peak, name, number)
    for name in sorted({*before, *after}):
        nodes = _nodes(name, changes, takers)
        yield ClassCapacity(
            name,
            before.get(name, NOTHING),
            after.get(name, NOTHING),
            peak.get(name, NOTHING),
            _free(nodes),
            None if nodes is None else len(nodes),
            any(change.accelerator == name and change.workload.accelerator.provisioned for change in changes),
        )


def _present(change: Change) -> Range:
    """Return the devices that the pods of a workload have before the change."""
    old = change.running
    if old is None:
        return NOTHING
    per_pod = old.devices_per_pod or change.workload.layout.chips_per_pod
    return change.before.times(per_pod * old.pods_per_replica)


def _peaks(change: Change, present: Range) -> Iterator[tuple[str | None, Range]]:
    """Yield the accelerator classes of a workload, each with the workload's devices at the worst moment."""
    old = change.running
    if old is not None and change.is_reshaped:
        yield old.accelerator, present
        yield change.accelerator, change.after.times(change.devices_per_replica)
        return
    low = change.before.low + change.additional.low
    high = max(low, change.before.low + change.additional.high)
    yield change.accelerator, Range(low, high).times(change.devices_per_replica)


def _nodes(name: str, changes: Iterable[Change], takers: _Takers) -> dict[str, int] | None:
    """Return the number of free devices of each node that takes pods of a class; None if a number is unknown."""
    free = dict[str, int]()
    for change in changes:
        if change.accelerator == name:
            nodes = takers.of(change)
            if isinstance(nodes, Unknown) or any(node.requested is None for node in nodes):
                return None
            free |= {node.name: max(0, node.allocatable - (node.requested or 0)) for node in nodes}
    return free


def _free(nodes: Mapping[str, int] | None) -> int | None:
    if nodes is None:
        return None
    return sum(nodes.values())


def _lacks(changes: Sequence[Change], facts: ClusterFacts) -> Iterator[Lack]:
    """Yield the quotas, on devices or on pods, that a change exceeds. They make the API server refuse pods."""
    if isinstance(facts.quotas, Unknown):
        return
    with_devices = [
        change for change in changes if isinstance(change.workload.accelerator.allocation, ExtendedResource)
    ]
    needed = {
        **_demands(with_devices, lambda change: f"{_REQUESTS}{_resource(change)}", _devices_of_replica),
        **_demands(changes, lambda _: "pods", lambda change: change.workload.layout.pods_per_replica),
    }
    for quota in facts.quotas.quotas:
        for (namespace, resource), additional in sorted(needed.items()):
            if quota.namespace == namespace and resource in quota.hard:
                hard, used = (_number(quota, resource, field) for field in ("hard", "used"))
                if used + additional.high > hard:
                    yield Lack(namespace, quota.name, resource, hard, used, additional)


def _demands(
    changes: Sequence[Change], resource: Callable[[Change], str], size: Callable[[Change], int]
) -> dict[tuple[str, str], Range]:
    """Return what a change needs of resources in addition, by namespace and resource."""
    needed = dict[tuple[str, str], Range]()
    for change in at_worst(changes, lambda change: (change.place[2], resource(change)), size):
        key = change.place[2], resource(change)
        needed[key] = needed.get(key, NOTHING).plus(change.additional.times(size(change)))
    return needed


def _devices_of_replica(change: Change) -> int:
    return change.devices_per_replica


def _number(quota: Quota, resource: str, field: str) -> int:
    return int(amount(getattr(quota, field).get(resource, "0")))


def _unread(changes: Sequence[Change], takers: Mapping[Place, _Nodes], facts: ClusterFacts) -> Iterator[str]:
    """Yield the unread facts on which the verdicts about additional pods depend, with the reasons."""
    for change in changes:
        nodes = takers.get(change.place, ())
        if isinstance(nodes, Unknown):
            yield f"nodes with {_resource(change)} ({nodes.reason})"
    if changes and isinstance(facts.quotas, Unknown):
        namespaces = ", ".join(sorted({change.place[2] for change in changes}))
        yield f"quotas of {namespaces} ({facts.quotas.reason})"
    if changes and isinstance(facts.requested, Unknown) and not isinstance(facts.nodes, Unknown):
        yield f"devices that other pods have requested ({facts.requested.reason})"
    if any(change.workload.claims_devices for change in changes) and not isinstance(facts.slices, Unknown):
        yield "devices that other pods have claimed (pods do not say which)"


def _unevaluated_demands(changes: Iterable[Change]) -> Iterator[str]:
    """Yield the demands of each workload's pods that only the scheduler evaluates."""
    for change in changes:
        parts = affinity.further_demands(change.workload.placement)
        if parts:
            yield f"{', '.join(parts)} of {change.workload.name} (not evaluated without the scheduler)"
