"""The state of a pod: one cause, the earliest in the pod's life.

A node is found for a pod, its volumes are mounted, its images are pulled, it fetches its weights, starts its engine,
loads the model, and is ready. Each of these steps has a module that says why the step does not end.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from judging.status import container_states, disruptions, pod_status, pod_words, scheduling
from judging.status.evidence import Evidence
from judging.status.pod_findings import of_pod, starting, unread
from judging.status.records import Finding, condition, finding, time
from judging.status.topology import name_of
from models.trees import at, mapping
from planning.ground.snapshot import NODE, Manifest

_LOSSES = frozenset({"stuck-ending", "preempted", "evicted", "rejected", "node-lost"})
"""States of pods that are lost. What keeps their replacements from starting follows from the loss."""
_MEASURED = frozenset({"elapsed", "killed", "namespace", "pod", "progress", "text", "advice"})
"""Fields of words that differ between pods in the same state for the same reason."""


def is_ready(pod: Manifest) -> bool:
    """Tell whether a pod gets requests: it is ready and does not end."""
    return condition(pod, "Ready").get("status") == "True" and not is_ending(pod)


def is_ending(pod: Manifest) -> bool:
    """Tell whether a pod has been deleted and drains."""
    return "deletionTimestamp" in mapping(pod.get("metadata"))


def findings(
    pods: Iterable[Manifest], role: str, reading: Evidence, beside: Iterable[Manifest] = ()
) -> tuple[Finding, ...]:
    """Return the states of the pods that are not ready. Pods in the same state for the same reason are counted.

    Pods that were lost come first, and otherwise the order is that of `pods`. The failure of a pod is left out once a
    younger one is ready. `beside` are pods whose places the pods get when they have ended.
    """
    listed = list(pods)
    ready = [pod for pod in listed if is_ready(pod)]
    current = [pod for pod in listed if not (_has_failed(pod) and disruptions.is_replaced(pod, ready))]
    places = len({name_of(pod) for pod in (*current, *beside) if is_ending(pod)})
    states = [state for state in (cause(pod, role, reading) for pod in current) if state is not None]
    if not any(state.state.id == "stuck-ending" for state in states):
        states = _with_waiting_for_place(states, places)
    groups = defaultdict[tuple[str, tuple[tuple[str, str], ...]], list[Finding]](list)
    for state in sorted(states, key=lambda state: state.state.id not in _LOSSES):
        groups[_key(state)].append(state)
    return tuple(_sum(group) for group in groups.values())


def cause(pod: Manifest, role: str, reading: Evidence) -> Finding | None:
    """Return the state that keeps a pod from being ready; None if the pod is ready, is done, or drains in time."""
    if is_ready(pod) or at(pod, "status", "phase") == "Succeeded":
        return None
    state = _cause(pod, reading)
    return None if state is None else replace(state, role=role)


def containers(pod: Manifest) -> Mapping[str, Manifest]:
    """Return the statuses of a pod's containers by name, those of init containers first."""
    return pod_status.statuses(pod)


def _cause(pod: Manifest, reading: Evidence) -> Finding | None:
    if is_ending(pod):
        return disruptions.of_ending(pod, reading)
    if _has_failed(pod):
        failure = disruptions.of_failed(pod)
        if failure is not None:
            return failure
    elif not pod_status.node_name(pod):
        return scheduling.state(pod, reading)
    else:
        loss = disruptions.node_loss(pod, reading)
        if loss is not None:
            return loss
    return container_states.state(pod, reading) or _unclear_state(pod, reading)


def _unclear_state(pod: Manifest, reading: Evidence) -> Finding:
    """Return the state of a pod that is not ready although its containers are.

    A pod gets such a status if its node does not report, or if somebody else must say that it is ready (kubernetes
    v1.36.3, pkg/controller/util/node/controller_utils.go, MarkPodsNotReady; Kubernetes API, PodReadinessGate).
    """
    ready = condition(pod, "Ready")
    since = time(ready.get("lastTransitionTime")) or pod_status.start(pod)
    if not ready:
        return starting(pod, since, reading, "its node has not reported it yet")
    if NODE in reading.unread:
        return unread(pod, NODE, since)
    text = pod_words.quote(pod_words.text(ready.get("message")))
    return of_pod("not-ready", pod, since, text=text)


def _has_failed(pod: Manifest) -> bool:
    return at(pod, "status", "phase") == "Failed"


def _with_waiting_for_place(states: Sequence[Finding], places: int) -> list[Finding]:
    """Return the states, with `awaits-place` in place of those that go as soon as pods that end have ended.

    In every rollout without a surge a new pod is made before the old one has freed its devices.
    """
    results = list[Finding]()
    for state in states:
        if state.state.id in scheduling.FULL and places > 0:
            places -= 1
            results.append(finding("awaits-place", state.object, state.since, role=state.role))
        else:
            results.append(state)
    return results


def _key(state: Finding) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return what is equal for pods that are counted together."""
    values = {name: text for name, text in state.values.items() if name not in _MEASURED}
    return state.state.id, tuple(sorted(values.items()))


def _sum(group: Sequence[Finding]) -> Finding:
    """Return the first of several findings of one state, with the earliest time and their number."""
    times = [state.since for state in group if state.since is not None]
    first = min(group, key=lambda state: state.object)
    return Finding(first.state, first.object, min(times, default=None), first.values, len(group), first.role)
