"""The workloads of roles: whether controllers make the wanted pods, and what keeps these from serving."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from judging.status import groups, history, numbers, pods, rejections, rollouts, templates
from judging.status.evidence import Evidence
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, finding, time
from judging.status.topology import RoleView, VariantView
from models.trees import at, mapping
from planning.ground import labels
from planning.ground.snapshot import POD, Manifest

_CONTROLLER_GRACE = timedelta(seconds=60)
"""Time in which a controller makes the pods of a change. It takes seconds; a minute covers a change of the leader of
the controller manager, whose lease lasts 15 s (kubernetes v1.36.3, component-base/config/v1alpha1/defaults.go)."""


def component(variant: VariantView, role: RoleView, reading: Evidence) -> ServiceLink:
    """Return the workload of a role. It is broken if no replica is ready, and degraded if only some are.

    `is_broken` is None if the pods could not be read.
    """
    ready = sum(map(pods.is_ready, role.pods))
    desired = numbers.replicas_of(role)
    reference = ObjectRef.of(role.workload, role.kind)
    are_read = POD not in reading.unread
    return ServiceLink(
        Link.WORKLOAD,
        reference,
        tuple(_findings(role, reading, are_read=are_read)),
        ready == 0 if are_read else None,
        variant.name,
        role.role,
        ready=ready if are_read else None,
        desired=desired,
    )


def existing_pods(variant: VariantView, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the pods that somebody else runs for a variant, in place of a workload, if there are any."""
    if not variant.existing_pods:
        return
    findings = pods.findings(variant.existing_pods, labels.DECODE, reading)
    ready = sum(map(pods.is_ready, variant.existing_pods))
    reference = ObjectRef.of(variant.existing_pods[0], "Pod")
    yield ServiceLink(Link.WORKLOAD, reference, findings, ready == 0, variant.name, labels.DECODE, ready=ready)


def _findings(role: RoleView, reading: Evidence, *, are_read: bool) -> Iterator[Finding]:
    """Yield the states of the pods, then those of the workload. The first of the worst is the one to blame."""
    of_pods = pods.findings((*role.pods, *role.workers), role.role, reading)
    yield from of_pods
    rejected = tuple(_rejections(role, reading))
    yield from rejected
    yield from numbers.findings(role, reading)
    if are_read:
        yield from groups.findings(role, reading)
        yield from _absent(role, reading, is_rejected=bool(rejected))
        yield from numbers.changes(role, of_pods)
    yield from rollouts.findings(role, reading, of_pods)
    yield from templates.findings(role, reading)


def _rejections(role: RoleView, reading: Evidence) -> Iterator[Finding]:
    reference = ObjectRef.of(role.workload, role.kind)
    failure = condition(role.workload, "ReplicaFailure")
    if failure.get("status") == "True":
        since = time(failure.get("lastTransitionTime"))
        yield rejections.rejection(failure.get("message"), reference, since, role.role)
    yield from groups.rejections(role, reading)


def _absent(role: RoleView, reading: Evidence, *, is_rejected: bool) -> Iterator[Finding]:
    """Yield the state of a workload that lacks pods which nobody refuses: its controller has not made them."""
    desired = numbers.replicas_of(role)
    active = [pod for pod in role.pods if not pods.is_ending(pod)]
    missing = desired - len(active)
    if missing <= 0 or is_rejected or at(role.workload, "spec", "paused") is True:
        return
    since = _asked_since(role)
    is_late = since is not None and reading.now - since > _CONTROLLER_GRACE and not _counts(role.workload, desired)
    state = "pods-not-made" if is_late else "pods-awaited"
    reference = ObjectRef.of(role.workload, role.kind)
    yield finding(state, reference, since, role=role.role, missing=missing, desired=desired)


def _asked_since(role: RoleView) -> datetime | None:
    """Return the time since when the present number of replicas is wanted; None if it is unknown.

    The API server does not note when an autoscaler sets it; the autoscaler does, a moment later.
    """
    owner = history.writer(role.workload, "spec", "replicas")
    if owner is None or owner.at is not None:
        return history.change_time(role.workload)
    status = mapping(at(role.autoscaler, "status"))
    if status.get("desiredReplicas") == numbers.replicas_of(role):
        return time(status.get("lastScaleTime"))
    return None


def _counts(workload: Manifest, desired: int) -> bool:
    """Tell whether the controller says that it has made the pods: it is about to replace those that are gone."""
    metadata_generation = at(workload, "metadata", "generation")
    is_current = at(workload, "status", "observedGeneration") == metadata_generation
    replicas = at(workload, "status", "replicas")
    return is_current and isinstance(replicas, int) and replicas >= desired
