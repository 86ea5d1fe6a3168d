"""The groups of pods of LeaderWorkerSets: each replica is a leader with its workers, and serves only as a whole."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from judging.status import numbers, pods
from judging.status import rejections as refusals
from judging.status.evidence import Evidence, first_seen
from judging.status.records import Finding, ObjectRef, finding, time
from judging.status.states import Level
from judging.status.topology import RoleView, labels_of, name_of
from models.trees import at
from planning.ground.snapshot import Manifest

_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
"""Label of the pods of a group with the number of the group (lws v0.9.0, api/leaderworkerset/v1)."""
_KIND = "LeaderWorkerSet"
_GRACE = timedelta(seconds=60)
"""Time in which the workers of a leader are made. They take seconds; the worst healthy case is a group that the
controller makes anew as a whole because one of its pods has restarted."""


def findings(role: RoleView, reading: Evidence) -> Iterator[Finding]:
    """Yield the states of groups that lack pods; nothing for a Deployment."""
    if role.kind != _KIND:
        return
    size = at(role.workload, "spec", "leaderWorkerTemplate", "size")
    total = size if isinstance(size, int) else 1
    members = _members(role)
    for index in _wanted_groups(role, members):
        group = members[str(index)]
        leader = next((pod for pod in role.pods if pod in group), None)
        if leader is not None and 0 < len(group) < total:
            shortage = f"{len(group)} of {total} pods in group {index}"
            yield _incomplete(role, reading, shortage, leader)


def rejections(role: RoleView, reading: Evidence) -> Iterator[Finding]:
    """Yield why the API server refuses the pods of groups, as events of their StatefulSets say it.

    A LeaderWorkerSet has one StatefulSet of leaders with its own name, and one of workers for each leader.
    """
    if role.kind != _KIND or not _lacks_pods(role):
        return
    namespace, name = name_of(role.workload)
    groups = _wanted_groups(role, (object_name.removeprefix(f"{name}-") for _, _, object_name in reading.events))
    sets = (name, *(f"{name}-{index}" for index in groups))
    events = [event for set_name in sets for event in reading.events.get(("StatefulSet", namespace, set_name), ())]
    failures = [event for event in events if event.get("reason") == "FailedCreate"]
    reference = ObjectRef.of(role.workload, role.kind)
    if failures:
        yield refusals.rejection(failures[-1].get("message"), reference, first_seen(failures[-1]), role.role)


def _wanted_groups(role: RoleView, texts: Iterable[str]) -> list[int]:
    """Return the numbers of groups among some texts, without groups that a smaller number of replicas ends.

    The texts come from objects that exist. `spec.replicas` may be any number, so it is not counted up to.
    """
    replicas = numbers.replicas_of(role)
    indices = {int(text) for text in texts if text.isdecimal() and str(int(text)) == text}
    return sorted(index for index in indices if index < replicas)


def _lacks_pods(role: RoleView) -> bool:
    size = at(role.workload, "spec", "leaderWorkerTemplate", "size")
    total = numbers.replicas_of(role) * (size if isinstance(size, int) else 1)
    return len(role.pods) + len(role.workers) < total


def _members(role: RoleView) -> Mapping[str, Sequence[Manifest]]:
    """Return the pods that do not end, by the number of their group."""
    members = defaultdict[str, list[Manifest]](list)
    for pod in (*role.pods, *role.workers):
        if not pods.is_ending(pod):
            members[str(labels_of(pod).get(_INDEX, ""))].append(pod)
    return members


def _incomplete(role: RoleView, reading: Evidence, shortage: str, leader: Manifest) -> Finding:
    """Return the state of a group that lacks workers: the leader's cause, or that the workers are not made."""
    state = pods.cause(leader, role.role, reading)
    since = time(at(leader, "metadata", "creationTimestamp"))
    is_wrong = state is not None and state.level is not Level.NORMAL
    waits_for_leader = at(role.workload, "spec", "startupPolicy") == "LeaderReady" and not pods.is_ready(leader)
    is_late = not waits_for_leader and _is_late(since, reading)
    cause = "" if state is None else f"; its leader {state.steady_words}"
    name = "group-incomplete" if is_wrong or is_late else "group-forming"
    reference = ObjectRef.of(role.workload, role.kind)
    return finding(name, reference, since, role=role.role, shortage=shortage, cause=cause)


def _is_late(since: datetime | None, reading: Evidence) -> bool:
    return since is not None and reading.now - since > _GRACE
