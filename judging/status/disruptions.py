"""States of pods that were taken off their node, or whose node is gone."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from judging.status import pod_status, pod_words
from judging.status.evidence import Evidence
from judging.status.pod_findings import of_pod, unread
from judging.status.records import Finding, condition, time
from models.trees import at, mapping, sequence
from planning.ground.snapshot import NODE, Manifest

ENDING_GRACE = timedelta(seconds=60)
"""Time for which a pod may exist after its grace period, because its node first has to take down its volumes."""
_SHUTDOWNS = frozenset({"Terminated", "NodeShutdown"})
"""Reasons of pods whose node shut down in good order (kubernetes v1.36.3, pkg/kubelet/nodeshutdown)."""


def of_ending(pod: Manifest, reading: Evidence) -> Finding | None:
    """Return the state of a pod that was deleted; None if it ends in time and nobody took it off its node."""
    loss = node_loss(pod, reading)
    if loss is not None:
        return loss
    late = _lateness(pod, reading)
    if late is not None:
        end = time(at(pod, "metadata", "deletionTimestamp"))
        return of_pod("stuck-ending", pod, end, elapsed=pod_words.duration(late.total_seconds()), text=_holders(pod))
    return _taken_away(pod, reading)


def _taken_away(pod: Manifest, reading: Evidence) -> Finding | None:
    """Return the state of a deleted pod that was taken off its node; None if its owner has deleted it."""
    disruption = condition(pod, "DisruptionTarget")
    since = time(disruption.get("lastTransitionTime"))
    match disruption.get("reason"):
        case "PreemptionByScheduler":
            return of_pod("preempted", pod, since)
        case "EvictionByEvictionAPI":
            return of_pod("node-drained", pod, since, node=_node(pod), text="it was evicted, as when a node is drained")
        case "DeletionByTaintManager" if NODE in reading.unread:
            return unread(pod, NODE, since)
        case "DeletionByTaintManager":
            return of_pod("node-drained", pod, since, node=_node(pod), text="the node got a taint of effect NoExecute")
        case _:
            return None


def node_loss(pod: Manifest, reading: Evidence) -> Finding | None:
    """Return the state of a pod whose node is gone or does not report; None if the node is well or cannot be read."""
    name = pod_status.node_name(pod)
    if not name or NODE in reading.unread:
        return None
    node = reading.nodes.get(name)
    if node is None:
        since = time(condition(pod, "Ready").get("lastTransitionTime"))
        return of_pod("node-lost", pod, since, node=name, text="does not exist any more")
    ready = condition(node, "Ready")
    if not ready or ready.get("status") == "True":
        return None
    reason = pod_words.text(ready.get("message")) or str(ready.get("reason") or "it is not ready")
    since = time(ready.get("lastTransitionTime"))
    return of_pod("node-lost", pod, since, node=name, text=f"is not ready: {reason}")


def of_failed(pod: Manifest) -> Finding | None:
    """Return the state of a pod that its node has ended; None if its containers ended by themselves."""
    reason = str(at(pod, "status", "reason") or "")
    text = pod_words.text(at(pod, "status", "message"))
    since = _end(pod)
    if not reason:
        return None
    if reason == "Evicted":
        return of_pod("evicted", pod, since, text=text or "no reason is known")
    if reason in _SHUTDOWNS:
        return of_pod("node-drained", pod, since, node=_node(pod), text=text or "the node shuts down")
    return of_pod("rejected", pod, since, node=_node(pod), text=text or reason)


def is_replaced(pod: Manifest, ready: Iterable[Manifest]) -> bool:
    """Tell whether one of some ready pods is younger than a pod that failed, so that the failure is past."""
    made = pod_status.creation(pod)
    younger = (pod_status.creation(other) for other in ready)
    return made is not None and any(moment is not None and moment >= made for moment in younger)


def ends_in_time(pod: Manifest, reading: Evidence) -> bool:
    """Tell whether a pod was deleted and its time to end is not over."""
    return "deletionTimestamp" in mapping(pod.get("metadata")) and _lateness(pod, reading) is None


def _lateness(pod: Manifest, reading: Evidence) -> timedelta | None:
    """Return how long ago a pod should have ended; None if it is in time.

    `deletionTimestamp` is the end of the grace period (kubernetes v1.36.3, Kubernetes API, ObjectMeta).
    """
    end = time(at(pod, "metadata", "deletionTimestamp"))
    if end is None or reading.now - end < ENDING_GRACE:
        return None
    return reading.now - end


def _holders(pod: Manifest) -> str:
    """Return who keeps a deleted pod, as the end of a sentence; empty if nobody asked to keep it."""
    finalizers = [str(name) for name in sequence(at(pod, "metadata", "finalizers"))]
    return f"; it waits for {', '.join(finalizers)}" if finalizers else ""


def _end(pod: Manifest) -> datetime | None:
    """Return the time at which a node ended a pod."""
    status = mapping(pod.get("status"))
    ends = [at(entry, "state", "terminated", "finishedAt") for entry in sequence(status.get("containerStatuses"))]
    changes = [condition(pod, name).get("lastTransitionTime") for name in ("DisruptionTarget", "Ready")]
    times = map(time, (*changes, *ends, status.get("startTime")))
    return next((moment for moment in times if moment is not None), None)


def _node(pod: Manifest) -> str:
    return pod_status.node_name(pod) or "that it was on"
