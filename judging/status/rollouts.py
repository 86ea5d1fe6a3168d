"""Rollouts of workloads: how many pods are new, whether the new ones fail, and whether the controller has given up."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from judging.status import history, pods
from judging.status.evidence import Evidence
from judging.status.history import writer
from judging.status.records import Finding, ObjectRef, condition, finding, time
from judging.status.states import Level
from judging.status.topology import RoleView, labels_of, leader_template
from models.trees import at, mapping, sequence
from planning.ground.snapshot import POD, Manifest

_HASHES = ("pod-template-hash", "leaderworkerset.sigs.k8s.io/template-revision-hash")
"""Labels of pods that tell the pods of one template from those of another. Deployments put on the first one, and the
controller of LeaderWorkerSets the second."""


def template_hash(pod: Manifest) -> str:
    """Return the hash of a pod's template; empty if the pod has no label with it."""
    return next((str(labels_of(pod)[key]) for key in _HASHES if key in labels_of(pod)), "")


def is_rolling(role: RoleView) -> bool:
    """Tell whether the controller replaces pods of a former template, or former pods still end."""
    status = mapping(role.workload.get("status"))
    if role.kind != "Deployment":
        return condition(role.workload, "UpdateInProgress").get("status") == "True"
    replicas = status.get("replicas", 0)
    updated = status.get("updatedReplicas", 0)
    return isinstance(replicas, int) and isinstance(updated, int) and replicas > updated


def findings(role: RoleView, reading: Evidence, of_pods: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the states of the rollout of a workload. `of_pods` are the states of the workload's pods."""
    reference = ObjectRef.of(role.workload, role.kind)
    if at(role.workload, "spec", "paused") is True:
        yield finding("paused", reference, _paused_since(role.workload), role=role.role)
    failure = _failure(role, reading)
    if failure is not None:
        yield failure
    progress = condition(role.workload, "Progressing")
    if progress.get("reason") == "ProgressDeadlineExceeded":
        since = time(progress.get("lastTransitionTime"))
        deadline = at(role.workload, "spec", "progressDeadlineSeconds")
        yield finding("stalled", reference, since, role=role.role, deadline=deadline, cause=_cause(of_pods))
    elif failure is None and is_rolling(role):
        since = time(progress.get("lastUpdateTime")) or history.change_time(role.workload)
        yield finding(
            "rolling", reference, since, role=role.role, updated=_new_replicas(role), replicas=_replicas(role)
        )


def _paused_since(workload: Manifest) -> datetime | None:
    """Return the time at which a rollout was paused. The controller notes it if a deadline is set."""
    progress = condition(workload, "Progressing")
    if progress.get("reason") == "DeploymentPaused":
        return time(progress.get("lastUpdateTime"))
    pausing = writer(workload, "spec", "paused")
    return None if pausing is None else pausing.at


def _failure(role: RoleView, reading: Evidence) -> Finding | None:
    """Return the state of a rollout whose new pods fail; None if there is no rollout or no new pod fails."""
    if not is_rolling(role) or POD in reading.unread:
        return None
    states = pods.findings(_new_pods(role), role.role, reading, beside=role.pods)
    wrong = [state for state in states if state.level is not Level.NORMAL]
    if not wrong:
        return None
    since = min((state.since for state in wrong if state.since is not None), default=None)
    reference = ObjectRef.of(role.workload, role.kind)
    return finding(
        "rollout-fails",
        reference,
        since,
        role=role.role,
        cause=_cause(wrong),
        updated=_new_replicas(role),
        replicas=_replicas(role),
    )


def _new_replicas(role: RoleView) -> object:
    """Return the number of new replicas, which the API server leaves out if it is 0."""
    return at(role.workload, "status", "updatedReplicas") or 0


def _replicas(role: RoleView) -> object:
    replicas = at(role.workload, "spec", "replicas")
    return 1 if replicas is None else replicas


def _cause(states: Sequence[Finding]) -> str:
    """Return the words of the worst state; empty if there is none."""
    worst = max(states, default=None, key=lambda state: list(Level).index(state.level))
    return "" if worst is None else f": {worst.object} {worst.steady_words}"


def _new_pods(role: RoleView) -> Sequence[Manifest]:
    """Return the pods of the present template: those that agree with it, else those of the newest pod's template.

    A pod that an admission webhook has changed does not agree with any template.
    """
    template = _template(role)
    matching = [pod for pod in role.pods if _is_part(template, pod)]
    if matching:
        return matching
    newest = max(role.pods, default=None, key=lambda pod: str(at(pod, "metadata", "creationTimestamp")))
    if newest is None:
        return ()
    return [pod for pod in role.pods if template_hash(pod) == template_hash(newest)]


def _template(role: RoleView) -> Mapping[str, Any]:
    """Return the parts of the workload's template that its pods keep as they are."""
    if role.kind == "Deployment":
        template = mapping(at(role.workload, "spec", "template"))
    else:
        template = leader_template(role.workload)
    metadata = mapping(template.get("metadata"))
    spec = mapping(template.get("spec"))
    return {
        "metadata": {key: metadata[key] for key in ("labels", "annotations") if key in metadata},
        "spec": {key: spec[key] for key in ("initContainers", "containers") if key in spec},
    }


def _is_part(part: object, whole: object) -> bool:
    """Tell whether a tree has everything of another one. Entries of lists are joined by their names."""
    tree: object = part
    if isinstance(part, Mapping):
        entries = mapping(whole)
        return all(key in entries and _is_part(value, entries[key]) for key, value in mapping(tree).items())
    if isinstance(part, list):
        return all(_is_part(entry, _counterpart(entry, sequence(whole))) for entry in sequence(tree))
    return part == whole


def _counterpart(entry: object, candidates: Sequence[object]) -> object:
    """Return the entry of a list with the same name; without a name an equal one. None if there is none."""
    name = at(entry, "name")
    if name is None:
        return next((candidate for candidate in candidates if candidate == entry), None)
    return next((candidate for candidate in candidates if at(candidate, "name") == name), None)
