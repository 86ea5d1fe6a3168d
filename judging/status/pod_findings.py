"""Findings about pods."""

from datetime import datetime

from judging.status import pod_status, pod_words, states
from judging.status.evidence import Evidence
from judging.status.records import Finding, ObjectRef
from planning.ground.snapshot import Manifest


def of_pod(state: str, pod: Manifest, since: datetime | None, **values: object) -> Finding:
    """Return a finding about a pod with the state with this id. The words may name the pod and its namespace, too."""
    at_object = ObjectRef.of(pod, "Pod")
    texts = {name: str(value) for name, value in values.items()}
    names = {"namespace": at_object.namespace, "pod": at_object.name}
    return Finding(states.by_id()[state], at_object, since, names | texts)


def starting(pod: Manifest, since: datetime | None, reading: Evidence, text: str) -> Finding:
    """Return a finding about a pod that starts. `text` says in a sentence what is going on."""
    return of_pod("starting", pod, since, elapsed=pod_words.age(since, reading.now), text=text)


def unread(pod: Manifest, kind: str, since: datetime | None = None) -> Finding:
    """Return a finding about a pod whose cause cannot be told without a kind, as `apiVersion/Kind`."""
    return of_pod("pod-unread", pod, since or pod_status.start(pod), kind=f"{kind.rpartition('/')[2]}s")
