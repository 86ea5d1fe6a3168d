"""Problems of capacity: a change needs more devices than nodes or quotas have. `checks.capacity` sets the severity."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from judging.report import capacity, growth, running
from judging.report.capacity import Capacity, DeviceCapacity, Lack
from judging.report.growth import Change
from judging.report.packing import Tightness
from judging.report.running import RunningPods
from models.paths import Path
from models.problems import SEVERITIES, Mode, Problem, gap, warning
from planning.ground.api_groups import DEPLOYMENT_API, LEADER_WORKER_SET_API
from planning.ground.cluster_facts import ClusterFacts, LiveObject, LiveObjects, Place, Unknown
from planning.ground.inventory import Quotas, Requested
from planning.ground.turns import SIDE_BY_SIDE, Turns
from planning.hardware.accelerators import AcceleratorClass
from planning.plans import StackPlan

_REFUSABLE = frozenset({f"{DEPLOYMENT_API}/Deployment", f"{LEADER_WORKER_SET_API}/LeaderWorkerSet"})
"""Kinds of workloads. If the API server refuses to list any of these kinds, the running pods are unknown."""
_MOST_NAMES = 6
"""Maximum number of workloads that a message lists."""


@dataclass(frozen=True, slots=True)
class ClusterBefore:
    """The cluster before a change, with the accelerator classes and pod templates of the changed stack."""

    facts: ClusterFacts
    live: LiveObjects | Unknown
    """Objects in the cluster that this program made, or why they are unknown."""
    classes: Mapping[str, AcceleratorClass]
    """Accelerator classes of the stack by name."""
    templates: Mapping[Place, object]
    """Pod templates of the workloads after the change, by the workload's place in the cluster."""
    turns: Turns = SIDE_BY_SIDE
    """Turns of the services that the change restarts."""


def judge(plan: StackPlan, before: ClusterBefore, mode: Mode) -> tuple[Problem, ...]:
    """Return the problems of capacity of a stack.

    If the running pods are unknown, a change is a problem only if it does not fit even into a cluster without pods.
    """
    facts = before.facts
    live = before.live
    if mode == "skip":
        return ()
    if isinstance(facts.nodes, Unknown):
        unread = gap(Path(), "capacity of the nodes for this change", facts.nodes.reason)
        if mode == "strict":
            return (unread,)
        return ()
    if isinstance(live, Unknown) or _REFUSABLE & {*live.refused}:
        needed = capacity.of_changes(growth.changes(plan, {}, {}), (), _idle(facts))
        return tuple(_certain(needed, mode))
    needed = capacity.of_changes(_changes(plan, before, live), (), facts)
    return (*_certain(needed, mode), *_uncertain(needed))


def changes_of(plan: StackPlan, before: ClusterBefore) -> list[Change] | Unknown:
    """Return the changes of all workloads of a plan; `Unknown` if the running workloads could not be read."""
    live = before.live
    if isinstance(live, Unknown):
        return live
    refused = sorted(_REFUSABLE & {*live.refused})
    if refused:
        return Unknown(f"access was denied to {', '.join(refused)}")
    return _changes(plan, before, live)


def _changes(plan: StackPlan, before: ClusterBefore, live: LiveObjects) -> list[Change]:
    """Return the changes of all workloads of a plan, beside the workloads in the cluster."""
    runs = of_cluster(plan, before.classes, live)
    restarted = {place: _restarts(place, before.templates.get(place), live.objects[place]) for place in runs}
    return growth.changes(plan, runs, restarted, before.turns)


def _restarts(place: Place, template: object, old: LiveObject) -> bool:
    """Tell whether a change replaces a workload's pods: it does if fields of the pod template change or are removed."""
    fields = (running.template_fields(place[1], fields) for fields in old.ours)
    return not growth.is_contained(template, running.template(place[1], old.content)) or any(
        growth.lacks(template, tree) for tree in fields
    )


def of_cluster(plan: StackPlan, classes: Mapping[str, AcceleratorClass], live: LiveObjects) -> dict[Place, RunningPods]:
    """Return the running workloads of a stack, by their place in the cluster."""
    runs_by_place = dict[Place, RunningPods]()
    for service in plan.services:
        for variant in service.variants:
            for workload in variant.workloads:
                place = growth.place(variant, workload)
                old = live.objects.get(place)
                if old is not None:
                    planned = variant.accelerators[workload.role]
                    runs = running.of_object(workload.kind, old.content, classes, planned)
                    runs_by_place |= {} if runs is None else {place: runs}
    return runs_by_place


def _idle(facts: ClusterFacts) -> ClusterFacts:
    """Return the facts of a cluster in which no pods run."""
    quotas = facts.quotas
    if not isinstance(quotas, Unknown):
        quotas = Quotas(tuple(replace(quota, used={}) for quota in quotas.quotas))
    return replace(facts, requested=Requested({}), quotas=quotas)


def _certain(change: Capacity, mode: Mode) -> Iterator[Problem]:
    """Yield the problems of pods that certainly get no devices."""
    severity = SEVERITIES[mode]
    for devices in change.devices:
        # If no node takes the pods, `judging.preflight` warns already, so no second warning is needed.
        if devices.low is Tightness.SHORT and (devices.has_nodes or severity == "error"):
            what = f"{_demand(devices)}, but nodes lack places for some of these pods: {_free(devices)}"
            yield Problem(_place(devices.changes), what, _remedy(devices), severity=severity)
    for lack in change.lacks:
        if lack.verdict is Tightness.SHORT:
            yield Problem(Path("namespace"), _excess(lack), "raise the quota, or lower replicas", severity=severity)


def _uncertain(change: Capacity) -> Iterator[Problem]:
    """Warn about pods that may get no devices, because the scheduler spreads pods or an autoscaler adds replicas."""
    for devices in change.devices:
        if devices.low is Tightness.TIGHT:
            what = f"{_demand(devices)}, but nodes may lack places for some of these pods: {_free(devices)}"
            yield warning(_place(devices.changes), what, "free whole nodes, or add nodes")
        elif devices.low is Tightness.FITS and devices.high is Tightness.SHORT:
            needed = f"with the largest number of replicas, {_demand(devices, largest=True)}"
            what = f"{needed}, but nodes lack places for some of these pods: {_free(devices)}"
            yield warning(_place(devices.changes), what, "add nodes, or lower maxReplicas")
    for lack in change.lacks:
        if lack.verdict is Tightness.TIGHT:
            yield warning(Path("namespace"), _excess(lack), "raise the quota, or lower maxReplicas")


def _demand(devices: DeviceCapacity, *, largest: bool = False) -> str:
    """Return the needed devices as text: their number, and by workload the additional pods and a pod's devices."""
    pods = [
        f"pods of {change.workload.name}: {replicas * change.workload.layout.pods_per_replica} × "
        f"{change.workload.layout.chips_per_pod}"
        for change in devices.changes
        if (replicas := change.additional.high if largest else change.additional.low)
    ]
    listed = ", ".join(pods[:_MOST_NAMES]) + (f" and {len(pods) - _MOST_NAMES} more" if len(pods) > _MOST_NAMES else "")
    if largest:
        number = devices.additional.high
    else:
        number = devices.additional.low
    return f"{number} more {devices.resource} are needed at the same time ({listed})"


def _free(devices: DeviceCapacity) -> str:
    """Return the number of free devices as text. If this number is uncertain, the text names it as an upper bound."""
    limit = "at most "
    if devices.is_certain:
        limit = ""
    return f"{limit}{devices.free} are free on nodes of {', '.join(devices.classes)}"


def _remedy(devices: DeviceCapacity) -> str:
    cls = devices.classes[0]
    surges = any(change.running is not None and change.additional.low for change in devices.changes)
    lower = "replicas"
    if surges:
        lower = "replicas or maxSurge"
    return f"add nodes, lower {lower}, or write accelerators.{cls}.provisioned: true if nodes come on demand"


def _excess(lack: Lack) -> str:
    if lack.verdict is Tightness.TIGHT:
        needed = lack.additional.high
    else:
        needed = lack.additional.low
    return (
        f"quota {lack.quota} of namespace {lack.namespace} has {lack.hard} {lack.resource}, {lack.used} are used, and "
        f"{needed} more are needed at the same time"
    )


def _place(changes: Iterable[Change]) -> Path:
    """Return the path of `accelerator` of the role that needs devices, or `services` if several roles need devices."""
    paths = {change.workload.path for change in changes if change.additional.high}
    if len(paths) == 1:
        return paths.pop() / "accelerator"
    return Path("services")
