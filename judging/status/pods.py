"""The state of a pod: one cause, the earliest in the pod's life.

A pod is scheduled, gets its volumes, pulls its images, fetches its weights, starts its engine, loads, and is ready.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from judging.status.evidence import Evidence
from judging.status.records import Finding, ObjectRef, condition, finding, time
from models.trees import at, mapping
from planning.ground.snapshot import Manifest

_KIND = "Pod"


def is_ready(pod: Manifest) -> bool:
    """Tell whether a pod gets requests: it is ready and does not end."""
    return condition(pod, "Ready").get("status") == "True" and not is_ending(pod)


def is_ending(pod: Manifest) -> bool:
    """Tell whether a pod has been deleted and drains."""
    return "deletionTimestamp" in mapping(pod.get("metadata"))


def findings(pods: Iterable[Manifest], role: str, reading: Evidence) -> tuple[Finding, ...]:
    """Return the states of the pods that are not ready. Pods in the same state for the same reason are counted."""
    groups = defaultdict[tuple[str, tuple[tuple[str, str], ...]], list[Finding]](list)
    for pod in pods:
        state = cause(pod, role, reading)
        if state is not None:
            groups[state.state.id, tuple(sorted(state.values.items()))].append(state)
    return tuple(_representative(group) for group in groups.values())


def cause(pod: Manifest, role: str, reading: Evidence) -> Finding | None:
    """Return the state that keeps a pod from being ready; None if the pod is ready or drains in time."""
    if is_ready(pod) or is_ending(pod):
        return None
    ready = condition(pod, "Ready")
    return finding("not-ready", ObjectRef.of(pod, _KIND), time(ready.get("lastTransitionTime")), role=role)


def _representative(group: list[Finding]) -> Finding:
    """Return the first of several equal findings, with the earliest time and their number."""
    times = [state.since for state in group if state.since is not None]
    first = min(group, key=lambda state: state.object)
    return Finding(first.state, first.object, min(times, default=None), first.values, len(group), first.role)


def containers(pod: Manifest) -> Mapping[str, Manifest]:
    """Return the statuses of a pod's containers by name, those of init containers first."""
    status = mapping(pod.get("status"))
    entries = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return {str(at(entry, "name")): mapping(entry) for entry in entries}
