"""The state of a pod on its node: the first container, in the order of their starts, that is not where it should be."""

from datetime import datetime, timedelta

from judging.status import images, pod_status, pod_words, probes
from judging.status.evidence import Evidence, Expectation, first_seen
from judging.status.kubelet_texts import exit_words, fetch_failure, groups, is_passing, missing
from judging.status.pod_findings import of_pod, starting, unread
from judging.status.pod_status import Container, Task, Termination
from judging.status.records import Finding
from judging.status.topology import name_of
from models.trees import at, mapping, sequence
from planning.ground.snapshot import EVENT, Manifest

MOUNT_GRACE = timedelta(seconds=60)
"""Time in which the kubelet mounts volumes at last although a first try failed, for example because the namespace is
so new that it lacks the ConfigMap `kube-root-ca.crt`."""
KILL_GRACE = timedelta(seconds=60)
"""Time in which the kubelet ends a container after its grace period."""
_MOUNTS = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")
_SANDBOXES = ("FailedCreatePodSandBox", "FailedPrepareDynamicResources", "FailedCreatePodContainer")
_BEGINNING = frozenset({"", "ContainerCreating", "PodInitializing"})
_REBOOTED = frozenset({"ContainerStatusUnknown", "Unknown"})
"""Reasons of containers that ended with their node, for example when it restarted."""
_NOT_RUN = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of containers whose program the runtime could not start (containerd v2.1.0, internal/cri; moby v28)."""
_NOTHING = Expectation(None, None, None, None)


def state(pod: Manifest, reading: Evidence) -> Finding | None:
    """Return the state of a pod that has a node; None if all its containers are as they should be."""
    for container in pod_status.containers(pod):
        result = _state(pod, container, reading)
        if result is not None:
            return result
    return None


def _state(pod: Manifest, container: Container, reading: Evidence) -> Finding | None:
    """Return the state of a pod because of a container; None if the container does not hold the pod up."""
    if container.task is not Task.FETCH and container.is_running and container.has_started and container.is_ready:
        return None
    if container.present_end is not None:
        done = container.task is Task.FETCH and container.present_end.code == 0
        return None if done else _failure(pod, container, container.present_end, reading)
    if container.is_running:
        return _running(pod, container, reading)
    return _waiting(pod, container, reading)


def _waiting(pod: Manifest, container: Container, reading: Evidence) -> Finding:
    waiting = mapping(container.waiting)
    reason = str(waiting.get("reason") or "")
    text = str(waiting.get("message") or "")
    if reason in _BEGINNING:
        return _beginning(pod, container, reading)
    if reason in images.REASONS:
        return images.state(pod, container, reading)
    if reason == "CrashLoopBackOff" and container.last_end is not None:
        return _failure(pod, container, container.last_end, reading)
    start = pod_status.start(pod)
    if is_passing(text):
        return starting(pod, start, reading, "its node reads the Secrets and ConfigMaps")
    events = pod_status.fresh_events(pod, reading, "Failed")
    since = first_seen(events[0]) if events else start
    lacking = _lacking(pod, text, since, volume="")
    if lacking is not None:
        return lacking
    return of_pod("start-failed", pod, since or start, container=container.name, text=pod_words.text(text) or reason)


def _beginning(pod: Manifest, container: Container, reading: Evidence) -> Finding:
    """Return the state of a pod whose volumes are mounted and whose images are pulled, or cannot be."""
    start = pod_status.start(pod)
    is_late = start is not None and reading.now - start >= MOUNT_GRACE
    if is_late and EVENT in reading.unread:
        return unread(pod, EVENT)
    events = pod_status.fresh_events(pod, reading, *_MOUNTS, *_SANDBOXES)
    if not is_late or not events:
        return starting(pod, start, reading, f"the image of {container.name} is pulled, or volumes are mounted")
    since = first_seen(events[0]) or start
    for text in map(pod_status.message, reversed(events)):
        lacking = _lacking(pod, text, since, volume=_volume(text))
        if lacking is not None:
            return lacking
    text = pod_words.text(pod_status.message(events[-1]))
    if events[-1].get("reason") in _MOUNTS:
        return of_pod("mount-failed", pod, since, text=text)
    return of_pod("start-failed", pod, since, container=container.name, text=text)


def _running(pod: Manifest, container: Container, reading: Evidence) -> Finding | None:
    end = container.last_end
    if end is not None and not _is_past(container, end, reading):
        return _failure(pod, container, end, reading)
    if container.task is Task.FETCH:
        return _fetching(pod, container, reading)
    if container.has_started:
        return probes.state(pod, container, reading)
    if container.task is Task.SIDECAR or container.limit is None:
        return starting(pod, container.running_since, reading, f"the container {container.name} begins")
    return _loading(pod, container, container.limit, reading)


def _fetching(pod: Manifest, container: Container, reading: Evidence) -> Finding:
    expected = reading.expected.get(pod_status.workload(pod), _NOTHING)
    weights = "its weights" if expected.weights is None else f"{pod_words.size(expected.weights)} of weights"
    since = container.running_since
    progress = _progress(since, expected.fetch_seconds, reading)
    usual = _usual(expected.fetch_seconds)
    return of_pod("fetching", pod, since, weights=weights, progress=progress, usual=usual, container=container.name)


def _loading(pod: Manifest, container: Container, limit: timedelta, reading: Evidence) -> Finding:
    """Return the state of a pod whose engine loads the model. The kubelet kills the engine after `limit`."""
    since = container.running_since
    words = pod_words.duration(limit.total_seconds())
    if since is not None and reading.now - since > limit + pod_status.grace_period(pod) + KILL_GRACE:
        return of_pod("too-slow", pod, since, limit=words, killed="", container=container.name)
    expected = reading.expected.get(pod_status.workload(pod), _NOTHING)
    progress = _progress(since, expected.load_seconds, reading)
    ending = f", and is killed after {words}"
    usual = _usual(expected.load_seconds)
    return of_pod("loading", pod, since, progress=progress, usual=usual, limit=ending, container=container.name)


def _failure(pod: Manifest, container: Container, end: Termination, reading: Evidence) -> Finding:
    """Return the state of a pod with a container that ended."""
    since = end.finished or pod_status.start(pod)
    name = container.name
    if end.reason == "OOMKilled":
        limit = at(container.spec, "resources", "limits", "memory")
        return of_pod("out-of-memory", pod, since, container=name, memory=limit or "the node has")
    text = pod_words.last_line(end.message)
    if end.reason in _NOT_RUN:
        return of_pod("start-failed", pod, since, container=name, text=text or end.reason)
    if container.task is Task.FETCH:
        return _fetch_failure(pod, container, end)
    kill = probes.kill(pod, container, end, reading)
    if kill is not None:
        return kill
    return of_pod("crash", pod, since, container=name, ending=exit_words(end.code), text=pod_words.quote(text))


def _fetch_failure(pod: Manifest, container: Container, end: Termination) -> Finding:
    failure = fetch_failure(str(end.message or ""))
    namespace, name = name_of(pod)
    ending = exit_words(end.code)
    advice = f"read its log: `kubectl logs -n {namespace} {name} -c {container.name}`"
    if failure is not None:
        ending = failure.words
        advice = failure.advice
    text = pod_words.quote(pod_words.last_line(end.message))
    since = end.finished or pod_status.start(pod)
    return of_pod("fetch-failed", pod, since, container=container.name, ending=ending, text=text, advice=advice)


def _is_past(container: Container, end: Termination, reading: Evidence) -> bool:
    """Tell whether a container that runs again has come further than when it ended the last time."""
    since = container.running_since
    if end.reason in _REBOOTED or end.run_time is None or since is None:
        return True
    return reading.now - since > end.run_time


def _lacking(pod: Manifest, text: str, since: datetime | None, volume: str) -> Finding | None:
    """Return the state of a pod that needs a Secret or ConfigMap that does not exist; None if the text says no such."""
    lacking = missing(text)
    if lacking is None:
        return None
    state, match = lacking
    kind = "Secret" if state == "secret-missing" else "ConfigMap"
    fields = groups(match)
    name = fields.get("name") or _source(pod, volume, kind)
    what = f"the {kind} {name}" if name else f"a {kind}"
    if "key" in fields:
        what = f"the key {fields['key']} in {what}"
    return of_pod(state, pod, since, what=what)


def _volume(text: str) -> str:
    """Return the name of the volume in a message of `MountVolume.SetUp failed for volume "x" : …`."""
    parts = text.split('volume "', 1)
    return parts[1].split('"', 1)[0] if len(parts) > 1 else ""


def _source(pod: Manifest, volume: str, kind: str) -> str:
    """Return the name of the Secret or ConfigMap of a volume; empty if the volume has several or none."""
    for entry in map(mapping, sequence(at(pod, "spec", "volumes"))):
        if entry.get("name") == volume:
            name = at(entry, "secret", "secretName") if kind == "Secret" else at(entry, "configMap", "name")
            return str(name or "")
    return ""


def _progress(since: datetime | None, usual: int | None, reading: Evidence) -> str:
    """Return how long something has gone on, and how long it usually takes if that is known."""
    elapsed = pod_words.age(since, reading.now)
    return elapsed if usual is None else f"{elapsed} of about {pod_words.duration(usual)}"


def _usual(seconds: int | None) -> str:
    """Return how long something usually takes, as the end of a clause; empty if that is unknown."""
    return "" if seconds is None else f" in about {pod_words.duration(seconds)}"
