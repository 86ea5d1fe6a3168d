"""The states of an endpoint picker's pods.

A picker is ready seconds after its container starts, once it knows its pool. With a leader election only the leader is
ready; the others run and wait.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judging.status import pods
from judging.status.evidence import Evidence
from judging.status.history import is_within
from judging.status.pod_findings import of_pod
from judging.status.quotes import quote
from judging.status.records import Finding, ObjectRef, condition, finding, time
from models import credentials
from models.trees import EMPTY, at, mapping
from planning.ground.snapshot import Manifest
from planning.picker.containers import PICKER_CONTAINER
from planning.picker.proxy import CONTAINER

_START_SECONDS = 60
"""Time from the start of its container within which a picker is ready. It reads one pool and the pool's pods, and a
standby takes over at most 15 s, the duration of a Lease, after its leader is gone."""
_BY_OTHERS = frozenset({0, 137, 143})
"""Exit codes of a process that ended in order, or that a signal ended."""


def findings(picker_pods: Sequence[Manifest], reading: Evidence, *, is_led: bool) -> Iterator[Finding | None]:
    """Yield the states of the pods that are not ready. `is_led`: another pod leads, so those that run wait in order."""
    others = list[Manifest]()
    for pod in picker_pods:
        if pods.is_ready(pod) or pods.is_ending(pod):
            continue
        refusal = _refusal(pod)
        if refusal is not None:
            yield refusal
        elif is_running(pod):
            yield from _running(pod, reading, is_led=is_led)
        else:
            others.append(pod)
    yield from pods.findings(others, "", reading)


def _running(pod: Manifest, reading: Evidence, *, is_led: bool) -> Iterator[Finding]:
    """Yield the states of a pod whose containers run: that of its proxy, or else that of its picker."""
    slow = _slow_proxy(pod, reading)
    if slow is not None:
        yield slow
    elif not is_led:
        yield _waiting(pod, reading)


def _slow_proxy(pod: Manifest, reading: Evidence) -> Finding | None:
    """Return the state of a pod with a proxy that has not become ready in time; None if its proxy is ready."""
    status = pods.containers(pod).get(CONTAINER, EMPTY)
    since = time(at(status, "state", "running", "startedAt"))
    if not status or status.get("ready") is True or is_within(since, _START_SECONDS, reading.now):
        return None
    return of_pod("proxy-slow", pod, since, container=CONTAINER)


def is_running(pod: Manifest) -> bool:
    """Tell whether all containers of a pod run."""
    states = [mapping(status.get("state")) for status in pods.containers(pod).values()]
    return bool(states) and all("running" in state for state in states)


def _refusal(pod: Manifest) -> Finding | None:
    """Return the state of a picker that ends by itself again and again, as it does for a configuration it refuses."""
    status = pods.containers(pod).get(PICKER_CONTAINER, EMPTY)
    ended = mapping(at(status, "state", "terminated") or at(status, "lastState", "terminated"))
    code = ended.get("exitCode")
    if not isinstance(code, int) or code in _BY_OTHERS or _is_up(status):
        return None
    since = time(ended.get("finishedAt"))
    text = _last_line(ended)
    return finding("picker-refuses", ObjectRef.of(pod, "Pod"), since, code=code, text=text, container=PICKER_CONTAINER)


def _is_up(status: Mapping[str, Any]) -> bool:
    return "running" in mapping(status.get("state"))


def _last_line(ended: Mapping[str, Any]) -> str:
    """Return the last line of what a container said before it ended; empty if its pod keeps no messages."""
    # A private key spans lines, so credentials are hidden in the whole message.
    lines = credentials.hide(str(ended.get("message") or "")).strip().splitlines()
    return quote(lines[-1]) if lines else "its log says why"


def _waiting(pod: Manifest, reading: Evidence) -> Finding:
    """Return the state of a picker that runs and is not ready."""
    starts = [time(at(status, "state", "running", "startedAt")) for status in pods.containers(pod).values()]
    started = max((moment for moment in starts if moment is not None), default=None)
    since = started or time(condition(pod, "Ready").get("lastTransitionTime"))
    state = "picker-slow"
    if is_within(since, _START_SECONDS, reading.now):
        state = "picker-waits"
    return finding(state, ObjectRef.of(pod, "Pod"), since)
