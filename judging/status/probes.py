"""States of pods whose containers run, but whose probes fail."""

from datetime import datetime, timedelta

from judging.status import pod_status, pod_words
from judging.status.evidence import Evidence, first_seen
from judging.status.pod_findings import of_pod, starting, unread
from judging.status.pod_status import Container, Termination
from judging.status.records import Finding, condition, time
from planning.ground.snapshot import EVENT, Manifest

READINESS_GRACE = timedelta(seconds=60)
"""Time from the start of a container without a startup probe in which its readiness probe may fail."""
_LIVENESS = "Liveness probe"
_READINESS = "Readiness probe"
_SIGNALLED = frozenset({0, 1, 130, 137, 143})
"""Exit codes of programs that were asked to end or were killed. vLLM and shells end with 0, 1, 130 or 143."""


def state(pod: Manifest, container: Container, reading: Evidence) -> Finding | None:
    """Return the state of a pod with a container that runs and has started; None if the container is ready."""
    if container.is_ready:
        return None
    failure = _failed_liveness(pod, container, reading)
    if failure is not None:
        return failure
    since = container.running_since
    ready = time(condition(pod, "Ready").get("lastTransitionTime"))
    readiness = _event(pod, container, reading, _READINESS)
    if _may_still_become_ready(container, ready, reading, failed=readiness is not None):
        return starting(pod, since, reading, f"the container {container.name} becomes ready")
    return of_pod("not-ready", pod, ready or since, text=_text(readiness), container=container.name)


def _failed_liveness(pod: Manifest, container: Container, reading: Evidence) -> Finding | None:
    """Return the state of a pod whose liveness probe fails, or whose events are unread; None if no event says so."""
    if EVENT in reading.unread:
        return unread(pod, EVENT)
    liveness = _event(pod, container, reading, _LIVENESS)
    return None if liveness is None else _unhealthy(pod, container, liveness)


def kill(pod: Manifest, container: Container, end: Termination, reading: Evidence) -> Finding | None:
    """Return the state of a pod with a container that the kubelet killed for a probe; None if it ended by itself."""
    is_probed = "startupProbe" in container.spec or "livenessProbe" in container.spec
    if not is_probed:
        return None
    failure = _failed_liveness(pod, container, reading)
    if failure is not None:
        return failure
    limit = container.limit
    if limit is None or not _was_killed_at(end, limit, pod_status.grace_period(pod), container):
        return None
    times = "" if container.restarts < 1 else f", and was killed {_times(container.restarts)}"
    words = pod_words.duration(limit.total_seconds())
    return of_pod("too-slow", pod, end.finished, limit=words, killed=times, container=container.name)


def _unhealthy(pod: Manifest, container: Container, event: Manifest) -> Finding:
    return of_pod("unhealthy", pod, first_seen(event), text=_text(event), container=container.name)


def _text(event: Manifest | None) -> str:
    """Return the message of an event as the end of a sentence; empty if there is no event."""
    return "" if event is None else pod_words.quote(pod_words.text(pod_status.message(event)))


def _may_still_become_ready(container: Container, ready: datetime | None, reading: Evidence, *, failed: bool) -> bool:
    """Tell whether a container that was never ready since it started still has time to become ready.

    The kubelet tries the readiness probe at once when a container has started, and reports each failure (kubernetes
    v1.36.3, pkg/kubelet/prober/prober_manager.go, UpdatePodStatus). So without a report nothing has failed yet, unless
    the container was ready before.
    """
    since = container.running_since
    if since is None or (ready is not None and ready > since):
        return False
    if container.limit is None:
        return reading.now - since < READINESS_GRACE
    return not failed and reading.now - since < container.limit + READINESS_GRACE


def _was_killed_at(end: Termination, limit: timedelta, grace: timedelta, container: Container) -> bool:
    """Tell whether a container ended when its startup probe had failed too often.

    It may end a period earlier, because probes do not begin exactly with the container.
    """
    if end.run_time is None or end.code not in _SIGNALLED:
        return False
    period = timedelta(seconds=pod_status.period(container.spec.get("startupProbe")))
    return limit - period <= end.run_time <= limit + 2 * period + grace


def _event(pod: Manifest, container: Container, reading: Evidence, probe: str) -> Manifest | None:
    """Return the latest warning about a failed probe of a container; None if none is fresh."""
    events = [
        event
        for event in pod_status.fresh_events(pod, reading, "Unhealthy")
        if pod_status.is_about(event, container) and pod_status.message(event).startswith(probe)
    ]
    return events[-1] if events else None


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
