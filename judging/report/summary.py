"""Summary of a run: services, devices, money, paths and problems, from the engine's events, the plan and the facts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypedDict

from judging.report import (
    advisory_counts,
    bill,
    capacity,
    drift,
    edits,
    gates,
    growth,
    memory_rows,
    paths,
    running,
    words,
)
from judging.report.capacity import Capacity
from judging.report.drift import Drift
from judging.report.events import Diagnostic, Events, Step
from judging.report.growth import Change
from judging.report.paths import PathChange
from judging.report.running import WORKLOADS, RunningPods
from judging.report.words import Operation
from models import credentials
from models.problems import LogLine
from models.stack import Stack
from planning import money
from planning.ground import labels, turns
from planning.ground.api_groups import DEPLOYMENT_API
from planning.ground.cluster_facts import ClusterFacts, Place
from planning.ground.turns import SIDE_BY_SIDE, Turns
from planning.money import Cost, DeviceRange, Usage
from planning.plans import ServicePlan, StackPlan

_OPERATIONS: Mapping[str, Operation] = {
    "create": "create",
    "update": "update",
    "delete": "delete",
    "replace": "replace",
    "create-replacement": "replace",
    "delete-replaced": "replace",
}
"""Operations on workloads, by the engine's names for them (sdk/go/common/apitype/history.go, OpType)."""
_RESTARTING = ("spec.template", "spec.leaderWorkerTemplate")
"""Prefixes of paths of properties. A difference in such a property replaces pods."""
_HIDDEN = "…"
_NOISE = ("an unhandled error occurred: program exited with non-zero exit code", "using pulumi-")
"""Prefixes of messages that reports leave out: the exit of the program after its errors, and the plugin in use."""


@dataclass(frozen=True, slots=True)
class WorkloadLine:
    """A workload that changes, and the consequences for its pods."""

    name: str
    service: str
    """Name of the service."""
    operation: Operation
    edits: tuple[str, ...]
    """Differences between its old and its new pods."""
    fate: str
    """Consequences for its pods, in words."""
    outage: int | None
    """Minutes without any ready replica; None if some replicas stay ready."""
    remedy: str

    @property
    def mark(self) -> str:
        """Return the sign of the line: `!` for an outage, else `+`, `-` or `~`."""
        if self.outage is not None:
            return "!"
        return {"create": "+", "delete": "-"}.get(self.operation, "~")


@dataclass(frozen=True, slots=True)
class Summary:
    """The contents of a report on a run."""

    stack: str
    """Name of the stack; empty if it is unknown."""
    workloads: tuple[WorkloadLine, ...]
    """Workloads that change: outages first, then by name."""
    paths: tuple[PathChange, ...]
    drift: tuple[Drift, ...]
    """Objects that somebody changed or deleted; empty if the run did not refresh its state."""
    others: Mapping[str, Mapping[str, int]]
    """Number of objects that change, by operation and kind. Serving workloads and routes are left out."""
    capacity: Capacity
    before: Cost
    """Cost of the stack's devices in a month before the run."""
    after: Cost
    """Cost of the stack's devices in a month after the run."""
    currency: str
    is_priced: bool
    """Whether any accelerator class has a price."""
    usages: tuple[Usage, ...]
    profiles: Mapping[str, str]
    """Selected serving profiles and the reasons for them, by the name of the service."""
    cold_starts: Mapping[str, str]
    """Timelines of the cold starts of all roles, by the name of the service."""
    gates: Mapping[str, str]
    """How long the gates of canaries take, by the name of the service."""
    errors: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    unchecked: tuple[str, ...]
    """Checks that the run or the report could not make, with the reason."""
    is_complete: bool
    """Whether the engine's run came to its end."""
    turns: Turns = SIDE_BY_SIDE
    """Turns of the services that restart."""

    @property
    def services(self) -> tuple[str, ...]:
        """Return the names of the services that change, sorted."""
        named = {line.service for line in self.workloads} | {change.service for change in self.paths}
        return tuple(sorted(named - {""}))


@dataclass(frozen=True, slots=True)
class ComposedStack:
    """The configuration and the plan of the stack that the run is about, and the facts of its cluster."""

    stack: Stack
    plan: StackPlan
    facts: ClusterFacts


def of_events(events: Events) -> Summary:
    """Return the summary of a run whose configuration has mistakes. The summary has only diagnostics and drift."""
    nothing = Cost(Decimal(0), Decimal(0))
    return Summary(
        stack=events.stack,
        workloads=(),
        paths=(),
        drift=drift.of_events(events),
        others={},
        capacity=Capacity((), (), (), ()),
        before=nothing,
        after=nothing,
        currency="",
        is_priced=False,
        usages=(),
        profiles={},
        cold_starts={},
        gates={},
        **_diagnostics(events, frozenset(), ()),
    )


def summarize(events: Events, composed: ComposedStack) -> Summary:
    """Return the summary of a run on a stack."""
    steps = {
        step.place: step for step in events.steps if step.is_custom and not step.is_drift and step.kind in WORKLOADS
    }
    run_turns = turns.of(_restarting(steps, composed.plan), composed.stack.upgrades)
    changes = _changes(steps, composed, run_turns)
    gone = _gone(steps, composed)
    lines = [*_lines(changes, steps, composed, gone), *_gone_lines(gone, steps, changes)]
    ending = (*gone.values(), *_predecessors(steps, composed))
    prices = composed.stack.prices
    devices = capacity.of_changes(changes, ending, composed.facts)
    return Summary(
        stack=events.stack,
        workloads=tuple(sorted(lines, key=lambda line: (line.outage is None, line.service, line.name))),
        paths=tuple(paths.changes(events.changes)),
        drift=drift.of_events(events),
        others=_others(events),
        capacity=devices,
        turns=run_turns,
        before=money.cost(_devices_before(changes, ending), prices),
        after=bill.cost(composed.plan, prices),
        currency=prices.currency,
        is_priced=bool(prices.per_device_hour),
        usages=tuple(bill.usages(composed.stack, composed.plan)),
        profiles=_profiles(composed.plan),
        cold_starts=_cold_starts(composed.plan),
        gates=gates.lines(composed.stack, composed.plan),
        **_diagnostics(events, _public_texts(composed.plan), devices.unchecked),
    )


def _profiles(plan: StackPlan) -> dict[str, str]:
    """Return the profiles by service. The profile of a canary or prefill is added if it is not the service's."""
    profiles = dict[str, str]()
    for service in plan.services:
        texts = [profile.text for variant in service.variants for profile in variant.profiles.values()]
        if texts:
            profiles[service.primary.names.base] = "; ".join(dict.fromkeys(texts))
    return profiles


def _cold_starts(plan: StackPlan) -> dict[str, str]:
    """Return the timelines by service. The timeline of a canary or prefill is added if it is not the service's."""
    timelines = dict[str, str]()
    for service in plan.services:
        texts = dict[str, str]()
        for variant in service.variants:
            for workload in variant.workloads:
                texts.setdefault(str(workload.cold_start), f"{variant.variant_prefix}{workload.role}")
        parts = [text if len(texts) == 1 else f"{name}: {text}" for text, name in texts.items()]
        timelines[service.primary.names.base] = "; ".join(parts)
    return timelines


class _Diagnostics(TypedDict):
    errors: tuple[Diagnostic, ...]
    warnings: tuple[Diagnostic, ...]
    unchecked: tuple[str, ...]
    is_complete: bool


def _public_texts(plan: StackPlan) -> frozenset[str]:
    """Return names and sources of models. Reports may show these texts, but hide other values of arguments."""
    variants = (variant for service in plan.services for variant in service.variants)
    return frozenset(text for variant in variants for text in (variant.model, variant.source))


def _diagnostics(events: Events, public: frozenset[str], unchecked: tuple[str, ...]) -> _Diagnostics:
    """Return the errors and warnings of a run, each once, without texts that reports must hide.

    Names of objects and the texts in `public` are not hidden. Warnings about checks that did not run become items of
    `unchecked`, after those of the parameter, and are left out of `warnings`.
    """
    texts = frozenset(
        text for step in events.steps for inputs in (step.old, step.new) for text in edits.sensitive(inputs)
    )
    hidden = texts - public - {name for step in events.steps for name in (step.name, *step.place)}
    masked = dict.fromkeys(
        _without_values(diagnostic, hidden)
        for diagnostic in events.diagnostics
        if not diagnostic.message.startswith(_NOISE)
    )
    warnings = [diagnostic for diagnostic in masked if diagnostic.severity == "warning"]
    gaps = dict.fromkeys((*unchecked, *filter(None, map(_gap, warnings))))
    return {
        "errors": tuple(diagnostic for diagnostic in masked if diagnostic.severity == "error"),
        "warnings": tuple(diagnostic for diagnostic in warnings if _gap(diagnostic) is None),
        "unchecked": tuple(gaps),
        "is_complete": events.is_complete,
    }


def _gap(diagnostic: Diagnostic) -> str | None:
    """Return the check that a warning calls unchecked, with the reason; None for any other diagnostic."""
    if diagnostic.policy:
        return None
    return LogLine.gap_words(diagnostic.message)


def _restarting(steps: Mapping[Place, Step], plan: StackPlan) -> list[str]:
    """Return the keys of the services of which a run replaces pods, in place or by workloads beside those that run."""
    deleted = (_owner(step) for step in steps.values() if _OPERATIONS.get(step.operation) == "delete")
    ending = {(key, variant) for key, variant, _ in deleted if key}
    return [
        service.key
        for service in plan.services
        if any(
            step is not None and (_restarts(step) or (step.operation == "create" and _owner(step)[:2] in ending))
            for step in map(steps.get, _places(service))
        )
    ]


def _places(service: ServicePlan) -> Iterator[Place]:
    """Yield the places of the workloads and pickers of a service."""
    for variant in service.variants:
        yield from (growth.place(variant, workload) for workload in variant.workloads)
        yield DEPLOYMENT_API.partition("/")[0], "Deployment", variant.names.namespace, variant.names.picker


def _changes(steps: Mapping[Place, Step], composed: ComposedStack, run_turns: Turns) -> list[Change]:
    """Return the changes of the workloads of the plan. The pods that run now follow from inputs in Pulumi's state."""
    old_pods = dict[Place, RunningPods]()
    for change in growth.changes(composed.plan, {}, {}):
        step = steps.get(change.place)
        if step is None or _moves(step):
            continue
        old = running.of_object(step.kind, step.old, composed.plan.classes, change.accelerator)
        old_pods |= {} if old is None else {change.place: old}
    return growth.changes(composed.plan, old_pods, {place: _restarts(steps[place]) for place in old_pods}, run_turns)


def _restarts(step: Step) -> bool:
    """Tell whether a step replaces running pods."""
    operation = _OPERATIONS.get(step.operation)
    return operation == "replace" or any(path.startswith(_RESTARTING) for path in step.differences)


def _gone(steps: Mapping[Place, Step], composed: ComposedStack) -> dict[Place, RunningPods]:
    """Return the deleted workloads that serve models. Endpoint pickers, which lack a service's label, are left out."""
    deleted = ((place, step) for place, step in steps.items() if _OPERATIONS.get(step.operation) == "delete")
    workloads = (
        (place, running.of_object(step.kind, step.old, composed.plan.classes))
        for place, step in deleted
        if _owner(step)[0]
    )
    return {place: old for place, old in workloads if old is not None}


def _predecessors(steps: Mapping[Place, Step], composed: ComposedStack) -> Iterator[RunningPods]:
    """Yield the workloads that run under another name, or in another namespace, until their replacements are ready."""
    for step in steps.values():
        old = None
        if _moves(step) and _owner(step)[0]:
            old = running.of_object(step.kind, step.old, composed.plan.classes)
        if old is not None:
            yield old


def _lines(
    changes: list[Change], steps: Mapping[Place, Step], composed: ComposedStack, gone: Mapping[Place, RunningPods]
) -> Iterator[WorkloadLine]:
    old_owners = {_owner(steps[place]) for place in gone}
    for change in changes:
        step = steps.get(change.place)
        operation = None
        if step is not None:
            operation = _OPERATIONS.get(step.operation)
        if step is None or operation is None:
            continue
        beside = (operation == "create" and _owner(step) in old_owners) or (operation == "replace" and _moves(step))
        fate = words.fate(operation, change, growth.weights_size(change, composed.stack), beside=beside)
        edited_pods = ()
        if step.old and step.new:
            edited_pods = edits.edits(step.kind, step.old, step.new)
        scaled = ()
        if operation == "update":
            scaled = _replica_edits(change)
        room = ()
        advised = ()
        if edited_pods:
            room = _headroom(change, step)
            advised = advisory_counts.counts(change.workload.exposures, step.kind, step.old, step.new)
        edited = (*edited_pods, *scaled, *room, *advised)
        yield WorkloadLine(change.workload.name, change.service, operation, edited, fate.text, fate.outage, fate.remedy)


def _headroom(change: Change, step: Step) -> tuple[str, ...]:
    """Return the memory that a change takes away from the KV cache, as text."""
    is_comparable = memory_rows.is_comparable(step.kind, step.old, step.new)
    if is_comparable:
        return memory_rows.headroom(change.workload, step.old)
    return ()


def _moves(step: Step) -> bool:
    """Tell whether the new object has another name or namespace, so that the engine deletes the old object later."""
    old, new = (inputs.get("metadata", {}) for inputs in (step.old, step.new))
    return bool(old and new) and any(old.get(key) != new.get(key) for key in ("name", "namespace"))


def _replica_edits(change: Change) -> tuple[str, ...]:
    """Return the old and the new number of replicas if pods restart. The words for a restart have no old number."""
    is_scaled = change.restarts and change.before != change.after and change.workload.autoscaler is None
    if is_scaled:
        return (f"replicas {change.before} → {change.after}",)
    return ()


def _gone_lines(
    gone: Mapping[Place, RunningPods], steps: Mapping[Place, Step], changes: list[Change]
) -> Iterator[WorkloadLine]:
    created = {_owner(steps[change.place]) for change in changes if change.running is None and change.place in steps}
    for place in gone:
        owner = _owner(steps[place])
        fate = words.departure(beside=owner in created)
        yield WorkloadLine(place[3], owner[0], "delete", (), fate, None, "")


def _owner(step: Step) -> tuple[str, str, str]:
    """Return service, variant and role of a workload, from its labels."""
    leader_labels = running.leader_labels(step.kind, step.new or step.old)
    return (
        leader_labels.get(labels.SERVICE, ""),
        leader_labels.get(labels.VARIANT, ""),
        leader_labels.get(labels.ROLE, ""),
    )


def _devices_before(changes: list[Change], ending: Iterable[RunningPods]) -> Iterator[DeviceRange]:
    for change in changes:
        old = change.running
        if old is not None:
            per_replica = (old.devices_per_pod or change.workload.layout.chips_per_pod) * old.pods_per_replica
            count = change.before.times(per_replica * change.workload.accelerator.devices_per_chip)
            yield DeviceRange(old.accelerator or change.accelerator, count.low, count.high)
    for old in ending:
        count = (1 if old.replicas is None else old.replicas) * old.devices_per_pod * old.pods_per_replica
        yield DeviceRange(old.accelerator or "unknown", count, count)


def _others(events: Events) -> dict[str, dict[str, int]]:
    """Return the number of changed objects by operation and kind, without serving workloads and routes."""
    numbers = dict[str, dict[str, int]]()
    # The engine may report one replacement as several steps. Here, these steps have one key and count once.
    steps = {(_OPERATIONS.get(step.operation, step.operation), step.urn): step for step in events.changes}
    for (operation, _), step in steps.items():
        is_server = step.kind in WORKLOADS and bool(_owner(step)[0])
        if not is_server and step.kind != "HTTPRoute" and not step.type.startswith("pulumi:"):
            kinds = numbers.setdefault(operation, {})
            kinds[step.kind] = kinds.get(step.kind, 0) + 1
    return numbers


def _without_values(diagnostic: Diagnostic, hidden: frozenset[str]) -> Diagnostic:
    """Return a diagnostic without credentials and without values of variables, arguments and annotations."""
    message = diagnostic.message
    for text in sorted((text for text in hidden if text in message), key=len, reverse=True):
        message = message.replace(text, _HIDDEN)
    return Diagnostic(diagnostic.severity, credentials.hide(message), diagnostic.resource, diagnostic.policy)
