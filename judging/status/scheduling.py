"""The state of a pod for which no node was found, from what the scheduler wrote about the nodes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cache

from judging.status import disruptions, node_fit, pod_status, pod_words
from judging.status.evidence import Evidence
from judging.status.node_fit import NodeVerdict
from judging.status.pod_findings import of_pod, unread
from judging.status.records import Finding, condition, time
from models.base import Spec
from models.trees import at, mapping, sequence
from planning.ground import tables
from planning.ground.snapshot import NODE, Manifest

SCHEDULER_GRACE = timedelta(seconds=30)
"""Time in which a scheduler looks at a new pod, also if it was just restarted."""
VOLUME_GRACE = timedelta(seconds=60)
"""Time in which a provisioner usually makes and binds the volume of a new claim."""
RETRY_GRACE = timedelta(seconds=20)
"""Time in which the scheduler looks again at a pod after a place became free. It waits at most 10 s (kubernetes
v1.36.3, pkg/scheduler/backend/queue/scheduling_queue.go, DefaultPodMaxBackoffDuration)."""
FULL = frozenset({"no-devices", "no-room", "claims"})
"""States of pods for which a pod that ends makes room."""
_COUNTED = frozenset({"no-devices", "no-room"})
"""States of pods that lack what nodes have a number of."""
_NUMBERS = re.compile(r"0/(\d+) nodes are available:? ?(.*)", re.DOTALL)
_PREEMPTION = re.compile(r"(?:no new claims to deallocate, |still not schedulable, )?preemption: .*", re.DOTALL)
_NO_PREEMPTION = re.compile(r"\. not found\.?$")
"""Text after a reason of the whole pod if no plugin tried a preemption."""
_DIVISIONS = re.compile(r"[,.;] (?=\d+ )")
_CLAUSE = re.compile(r"(\d+) (.*)", re.DOTALL)
_LABELLED = ("cordoned", "tainted", "no-node")
"""States of nodes that are refused before anybody looks at their resources. The scheduler stops at the first reason."""
_SHOWN = 3
"""Number of nodes that are named."""


class _NodeRow(Spec):
    text: str
    state: str
    words: str
    source: str


class _PodRow(Spec):
    text: str
    state: str
    source: str


class _Table(Spec):
    nodes: list[_NodeRow]
    pods: list[_PodRow]


@dataclass(frozen=True, slots=True)
class NodeReason:
    """A reason for which the scheduler refuses some nodes."""

    count: int
    """Number of nodes."""
    rank: int
    """Position of the filter that refuses the nodes. A higher filter sees only nodes that passed the lower ones."""
    state: str
    words: str
    resource: str = ""
    """Resource of which the nodes have too little; empty for other reasons."""


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """Refusal of all nodes for a pod, as the scheduler wrote it."""

    nodes: int | None
    """Number of nodes in the cluster; None if the text does not say it."""
    reasons: tuple[NodeReason, ...]
    """Reasons of nodes, in the order of the text."""
    text: str
    """The text without what it says about preemption."""

    @property
    def words(self) -> str:
        """Return the reasons in words, such as `5 nodes: 3 lack nvidia.com/gpu, 2 are tainted`."""
        if self.nodes == 0:
            return "the cluster has no node"
        if not self.reasons:
            return self.text
        return f"{self.nodes} nodes: " + ", ".join(f"{reason.count} {reason.words}" for reason in self.reasons)


def state(pod: Manifest, reading: Evidence) -> Finding:
    """Return the state of a pod that has no node."""
    scheduled = condition(pod, "PodScheduled")
    since = time(scheduled.get("lastTransitionTime")) or pod_status.creation(pod)
    if scheduled.get("reason") == "SchedulingGated":
        return of_pod("gated", pod, since, gates=", ".join(_gates(pod)) or "that it has")
    if scheduled.get("status") == "False":
        return _refusal_state(pod, refusal(str(scheduled.get("message") or "")), reading)
    template = _unused_template(pod)
    age = None if since is None else reading.now - since
    if age is None or age < SCHEDULER_GRACE:
        return of_pod("scheduling", pod, since)
    if template:
        return of_pod("claims", pod, since, reasons=f"no claim was made from the ResourceClaimTemplate {template}")
    scheduler = str(at(pod, "spec", "schedulerName") or "default-scheduler")
    return of_pod("no-scheduler", pod, since, scheduler=scheduler)


def refusal(message: str) -> Unschedulable:
    """Return what a scheduler's message says (kubernetes v1.36.3, pkg/scheduler/framework/types.go, FitError)."""
    text = _NO_PREEMPTION.sub("", _PREEMPTION.sub("", " ".join(message.split()))).strip(" .,")
    match = _NUMBERS.fullmatch(text)
    if match is None:
        return Unschedulable(None, (), pod_words.text(text))
    body = match[2].removesuffix("no new claims to deallocate").strip(" .,")
    clauses = [_CLAUSE.fullmatch(part) for part in _DIVISIONS.split(body)]
    reasons = tuple(_reason(int(clause[1]), clause[2]) for clause in clauses if clause is not None)
    if not all(clauses):
        reasons = ()
    return Unschedulable(int(match[1]), reasons, pod_words.text(body))


def _refusal_state(pod: Manifest, refused: Unschedulable, reading: Evidence) -> Finding:
    since = time(condition(pod, "PodScheduled").get("lastTransitionTime"))
    candidates = node_fit.candidates(pod, reading.nodes)
    reason = _decisive(refused, candidates)
    kinds = {row.state for row in refused.reasons}
    if NODE in reading.unread and len(kinds) > 1:
        return unread(pod, NODE, since)
    if reason in _COUNTED and _gets_a_place(pod, candidates, reading):
        return of_pod("awaits-place", pod, since)
    if reason == "no-volume" and since is not None and reading.now - since < VOLUME_GRACE:
        return of_pod("scheduling", pod, since)
    return of_pod(
        reason,
        pod,
        since,
        reasons=refused.words + _hint(reason, candidates, refused),
        request=_request(pod, refused),
        node=next((node.name for node in candidates if node.is_cordoned), "NODE"),
    )


def _gets_a_place(pod: Manifest, candidates: Sequence[NodeVerdict], reading: Evidence) -> bool:
    """Tell whether a pod gets a node soon, because pods end there, or have ended just now.

    In a rollout without a surge a new pod is made before the old one has freed its devices. The scheduler then looks
    again within seconds. Pods of other programs are unknown, so that a new pod may wait in vain for their place.
    """
    made = pod_status.creation(pod)
    newest = pod_status.grace_period(pod) + RETRY_GRACE
    is_new = made is not None and reading.now - made < newest
    for node in candidates:
        if not node.is_open or not (is_new or node.name in reading.emptying):
            continue
        present = reading.placed.get(node.name, ())
        lasting = [other for other in present if not disruptions.ends_in_time(other, reading)]
        if node_fit.has_room(pod, reading.nodes[node.name], lasting):
            return True
    return False


def _decisive(refused: Unschedulable, candidates: Sequence[NodeVerdict]) -> str:
    """Return the id of the state that keeps a pod from the nodes that come closest to what it needs."""
    if not refused.reasons:
        return next((row.state for row in _table().pods if re.search(row.text, refused.text)), "unscheduled")
    states = {reason.state for reason in refused.reasons}
    last = max(refused.reasons, key=lambda reason: reason.rank)
    if candidates and not any(node.is_open for node in candidates):
        # All nodes that are big enough are closed to the pod, whatever the smaller ones lack.
        closed = "cordoned" if any(node.is_cordoned and not node.taints for node in candidates) else "tainted"
        if closed in states:
            return closed
    if last.state not in _LABELLED:
        return last.state
    return next(name for name in reversed(_LABELLED) if name in states)


def _hint(reason: str, candidates: Sequence[NodeVerdict], refused: Unschedulable) -> str:
    """Return which nodes come closest, as the end of a sentence; empty if there is none or it does not help."""
    if reason == "cordoned":
        return _list("; cordoned: ", [node.name for node in candidates if node.is_cordoned])
    if reason == "tainted":
        return _list("; taint: ", sorted({taint for node in candidates for taint in node.taints}))
    if reason in {"no-devices", "no-room"}:
        resources = {row.resource for row in refused.reasons if row.resource}
        enough = [node.name for node in candidates if node.is_open]
        return _list("; big enough, but in use: ", enough) or f"; no node has enough {' and '.join(sorted(resources))}"
    return ""


def _list(start: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return start + ", ".join(names[:_SHOWN]) + more


def _request(pod: Manifest, refused: Unschedulable) -> str:
    """Return what a pod requests of the resources that the nodes lack, such as `2 nvidia.com/gpu`."""
    requested = node_fit.requests(pod)
    resources = sorted({reason.resource for reason in refused.reasons if reason.resource})
    texts = [_of(requested[name], name) for name in resources if name in requested]
    return " and ".join(texts or resources or ["room"])


def _of(number: Decimal, name: str) -> str:
    if name in {"memory", "ephemeral-storage"}:
        return f"{pod_words.size(int(number))} of {name}"
    return f"{number:f} {name}"


def _reason(count: int, text: str) -> NodeReason:
    for rank, row in enumerate(_table().nodes):
        match = re.fullmatch(row.text, text)
        if match is not None:
            fields = {name: group for name, group in match.groupdict().items() if group}
            words = row.words.format_map(fields)
            return NodeReason(count, rank, row.state, words, next(iter(fields.values()), ""))
    return NodeReason(count, len(_table().nodes), "unscheduled", pod_words.text(text))


def _gates(pod: Manifest) -> Iterable[str]:
    return (str(mapping(gate).get("name")) for gate in sequence(at(pod, "spec", "schedulingGates")))


def _unused_template(pod: Manifest) -> str:
    """Return the first ResourceClaimTemplate from which no claim was made for a pod; empty if there is none.

    The scheduler does not look at such a pod (kubernetes v1.36.3, dynamicresources.go, PreEnqueue).
    """
    made = [mapping(entry).get("name") for entry in sequence(at(pod, "status", "resourceClaimStatuses"))]
    for claim in map(mapping, sequence(at(pod, "spec", "resourceClaims"))):
        template = claim.get("resourceClaimTemplateName")
        if template and claim.get("name") not in made:
            return str(template)
    return ""


@cache
def _table() -> _Table:
    return tables.read(_Table, "status/tables/scheduler.yaml", "judging")
