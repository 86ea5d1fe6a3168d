"""The status of a pod as records: its containers in the order in which they start, its events and its owner."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from judging.status.evidence import Evidence, last_seen
from judging.status.records import condition, time
from judging.status.topology import name_of
from models.trees import at, mapping, sequence
from planning.ground import labels
from planning.ground.snapshot import Manifest

FRESH = timedelta(minutes=6)
"""Age up to which an event counts as still true. The kubelet tries again at least every 2 min, and its events of one
kind are written at most every 5 min (client-go v0.36.3, tools/record/events_cache.go, defaultSpamQPS)."""


_MOST = 10**6
"""Largest number that is read from a status: 11 days in seconds."""


class Task(Enum):
    """Task of a container."""

    FETCH = auto()
    """Fetches weights and ends."""
    SIDECAR = auto()
    """Runs beside the engine and is started before it."""
    MAIN = auto()
    """Serves: an engine or a picker."""


@dataclass(frozen=True, slots=True)
class Termination:
    """An end of a container."""

    code: int
    reason: str
    message: object
    started: datetime | None
    finished: datetime | None

    @property
    def run_time(self) -> timedelta | None:
        """Return how long the container had run; None if that is unknown."""
        if self.started is None or self.finished is None or self.finished < self.started:
            return None
        return self.finished - self.started


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod."""

    name: str
    task: Task
    spec: Manifest
    status: Manifest
    """Status of the container; empty if the kubelet has not written one yet."""

    @property
    def waiting(self) -> Manifest | None:
        """Return why the container waits; None if it runs or has ended."""
        states = mapping(self.status.get("state"))
        return mapping(states.get("waiting")) if "waiting" in states or not states else None

    @property
    def running_since(self) -> datetime | None:
        """Return the start of the container; None if it does not run."""
        return time(at(self.status, "state", "running", "startedAt"))

    @property
    def is_running(self) -> bool:
        """Tell whether the container runs."""
        return "running" in mapping(self.status.get("state"))

    @property
    def present_end(self) -> Termination | None:
        """Return the end of the container; None if it runs or waits."""
        return _termination(at(self.status, "state", "terminated"))

    @property
    def last_end(self) -> Termination | None:
        """Return the latest end of the container, whether or not it runs again; None if it never ended."""
        return self.present_end or _termination(at(self.status, "lastState", "terminated"))

    @property
    def restarts(self) -> int:
        """Return how often the container was started again."""
        return _number(self.status.get("restartCount"))

    @property
    def has_started(self) -> bool:
        """Tell whether the startup probe has succeeded, if the container has one."""
        return self.status.get("started") is not False

    @property
    def is_ready(self) -> bool:
        """Tell whether the container is ready."""
        return self.status.get("ready") is True

    @property
    def limit(self) -> timedelta | None:
        """Return the time after which the kubelet kills the container unless its startup probe succeeds; None if never.

        Source: kubernetes v1.36.3 pkg/kubelet/prober/worker.go.
        """
        probe = mapping(self.spec.get("startupProbe"))
        if not probe:
            return None
        seconds = _number(probe.get("failureThreshold"), 3) * period(probe)
        return timedelta(seconds=seconds + _number(probe.get("initialDelaySeconds")))


def containers(pod: Manifest) -> Iterator[Container]:
    """Yield the containers of a pod in the order in which they start."""
    by_name = statuses(pod)
    is_job = labels.JOB in mapping(at(pod, "metadata", "labels"))
    for spec in map(mapping, sequence(at(pod, "spec", "initContainers"))):
        task = Task.SIDECAR if spec.get("restartPolicy") == "Always" else Task.FETCH
        yield _container(spec, task, by_name)
    for spec in map(mapping, sequence(at(pod, "spec", "containers"))):
        yield _container(spec, Task.FETCH if is_job else Task.MAIN, by_name)


def period(probe: object) -> int:
    """Return the number of seconds between two tries of a probe."""
    return _number(mapping(probe).get("periodSeconds"), 10)


def grace_period(pod: Manifest) -> timedelta:
    """Return the time that the containers of a pod get to end."""
    return timedelta(seconds=_number(at(pod, "spec", "terminationGracePeriodSeconds"), 30))


def start(pod: Manifest) -> datetime | None:
    """Return the time at which the kubelet took over a pod, or at which a node was found for it."""
    scheduled = condition(pod, "PodScheduled")
    return time(at(pod, "status", "startTime")) or time(scheduled.get("lastTransitionTime")) or creation(pod)


def creation(pod: Manifest) -> datetime | None:
    """Return the time at which a pod was created."""
    return time(at(pod, "metadata", "creationTimestamp"))


def node_name(pod: Manifest) -> str:
    """Return the name of the node of a pod; empty if no node was found for it."""
    return str(at(pod, "spec", "nodeName") or "")


def workload(pod: Manifest) -> tuple[str, str]:
    """Return the namespace and the name of the workload to which a pod belongs."""
    namespace = name_of(pod)[0]
    group = mapping(at(pod, "metadata", "labels")).get(labels.GROUP)
    if group is not None:
        return namespace, str(group)
    owners = sequence(at(pod, "metadata", "ownerReferences"))
    owner = mapping(owners[0] if owners else None)
    name = str(owner.get("name", ""))
    if owner.get("kind") == "ReplicaSet":
        name = name.rpartition("-")[0]
    return namespace, name


def fresh_events(pod: Manifest, reading: Evidence, *reasons: str) -> list[Manifest]:
    """Return the warnings about a pod with one of some reasons that are still true; the latest is the last."""
    oldest = reading.now - FRESH
    events = reading.events_of("Pod", pod)
    return [
        event for event in events if event.get("reason") in reasons and (time(last_seen(event)) or oldest) >= oldest
    ]


def is_about(event: Manifest, container: Container) -> bool:
    """Tell whether an event is about a container, or about the whole pod."""
    path = at(event, "involvedObject", "fieldPath")
    return not isinstance(path, str) or "{" not in path or path.endswith(f"{{{container.name}}}")


def message(event: Manifest) -> str:
    """Return the message of an event."""
    return str(event.get("message") or "")


def _container(spec: Manifest, task: Task, by_name: Mapping[str, Manifest]) -> Container:
    name = str(spec.get("name", ""))
    return Container(name, task, spec, by_name.get(name, {}))


def statuses(pod: Manifest) -> Mapping[str, Manifest]:
    """Return the statuses of a pod's containers by name, those of init containers first."""
    status = mapping(pod.get("status"))
    entries = (*sequence(status.get("initContainerStatuses")), *sequence(status.get("containerStatuses")))
    return {str(at(entry, "name")): mapping(entry) for entry in entries}


def _termination(value: object) -> Termination | None:
    state = mapping(value)
    if not state:
        return None
    return Termination(
        _number(state.get("exitCode")),
        str(state.get("reason") or ""),
        state.get("message"),
        time(state.get("startedAt")),
        time(state.get("finishedAt")),
    )


def _number(value: object, default: int = 0) -> int:
    """Return a number of an object, within bounds in which numbers of seconds can be multiplied and added."""
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return max(-_MOST, min(value, _MOST))
