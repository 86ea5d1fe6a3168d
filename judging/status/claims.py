"""The claims for weights that a service's pods mount, and the Jobs that fill these claims."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from judging.status import pods, rejections
from judging.status.evidence import Evidence, first_seen
from judging.status.history import writer
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, finding, time
from judging.status.states import Level
from judging.status.topology import ServiceView, labels_of, name_of
from models.trees import at, mapping, sequence
from planning.ground import labels
from planning.ground.snapshot import EVENT, JOB, Manifest

_PROVISIONERS = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
"""Annotations of a claim with the provisioner that has been asked for a volume (kubernetes v1.36.3,
pkg/controller/volume/persistentvolume/pv_controller.go, setClaimProvisioner)."""
_PROVISION_GRACE = timedelta(minutes=5)
"""Time in which a provisioner makes a volume. Shared file systems of clouds take minutes."""
_KIND = "PersistentVolumeClaim"
_GIB = 1024**3


def components(view: ServiceView, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the claims of a service. A claim is broken if it has no volume, or if its Job has not filled it.

    `is_broken` is None if the Jobs could not be read.
    """
    for claim in view.claims:
        fills = [job for job in view.fills if name_of(claim)[1] in _claim_names(job)]
        states = (*_of_claim(claim, reading), *(state for job in fills for state in _of_fill(job, view, reading)))
        is_bound = at(claim, "status", "phase") == "Bound"
        is_filled = all(_is_complete(job) for job in fills)
        is_broken: bool | None = not is_bound or not is_filled
        if is_bound and JOB in reading.unread:
            is_broken = None
        yield ServiceLink(Link.CLAIM, ObjectRef.of(claim, _KIND), states, is_broken)


def _of_claim(claim: Manifest, reading: Evidence) -> Iterator[Finding]:
    phase = at(claim, "status", "phase")
    if phase == "Bound":
        return
    reference = ObjectRef.of(claim, _KIND)
    warnings = reading.events_of(_KIND, claim)
    if phase == "Lost":
        losses = [event for event in warnings if event.get("reason") == "ClaimLost"]
        binder = writer(claim, "status", "phase")
        since = first_seen(losses[-1]) if losses else None
        if since is None and binder is not None:
            since = binder.at
        yield finding("claim-lost", reference, since, volume=at(claim, "spec", "volumeName"))
    else:
        yield from _pending(claim, reference, warnings, reading)


def _pending(
    claim: Manifest, reference: ObjectRef, warnings: Sequence[Manifest], reading: Evidence
) -> Iterator[Finding]:
    """Yield the state of a claim without a volume. What tells the states apart are warnings about the claim."""
    created = time(at(claim, "metadata", "creationTimestamp"))
    class_name = at(claim, "spec", "storageClassName")
    reason = quote(warnings[-1].get("message")) if warnings else ""
    if not reason and not class_name:
        reason = "no volume fits it, and neither it nor the cluster names a storage class"
    provisioner = _provisioner(claim)
    is_late = created is not None and reading.now - created > _PROVISION_GRACE
    if not reason and provisioner and is_late:
        reason = f"the provisioner {provisioner} has not made it"
    if reason:
        yield finding("claim-pending", reference, created, reason=reason, storage_class=class_name or "none")
    elif provisioner:
        yield finding("claim-provisioning", reference, created, provisioner=provisioner)
    elif EVENT not in reading.unread:
        yield finding("claim-waits", reference, created)


def _provisioner(claim: Manifest) -> str:
    annotations = mapping(at(claim, "metadata", "annotations"))
    return next((quote(annotations[name]) for name in _PROVISIONERS if name in annotations), "")


def _of_fill(job: Manifest, view: ServiceView, reading: Evidence) -> Iterator[Finding]:
    """Yield the state of a Job and of its pods that have not ended well."""
    if _is_complete(job):
        return
    reference = ObjectRef.of(job, "Job")
    own_pods = [pod for pod in view.fill_pods if labels_of(pod).get(labels.JOB) == name_of(job)[1]]
    unfinished = [pod for pod in own_pods if at(pod, "status", "phase") not in {"Failed", "Succeeded"}]
    cause = _last_failure(own_pods)
    failed = condition(job, "Failed")
    if failed.get("status") == "True":
        since = time(failed.get("lastTransitionTime"))
        yield finding("fill-failed", reference, since, reason=quote(failed.get("message")), cause=cause)
        return
    yield from (state for state in pods.findings(unfinished, "", reading) if state.level is not Level.NORMAL)
    refused = [event for event in reading.events_of("Job", job) if event.get("reason") == "FailedCreate"]
    if refused and not own_pods:
        yield rejections.rejection(refused[-1].get("message"), reference, first_seen(refused[-1]))
    failures = at(job, "status", "failed")
    if isinstance(failures, int) and failures > 0:
        limit = at(job, "spec", "backoffLimit")
        since = _first_end(own_pods)
        yield finding("fill-retries", reference, since, failures=failures, limit=limit, cause=cause)
    else:
        started = time(at(job, "status", "startTime"))
        yield finding("fill-running", reference, started, task=_task(view, reading))


def _task(view: ServiceView, reading: Evidence) -> str:
    """Return what a Job fetches, and how long that usually takes, as far as it is known."""
    places = (name_of(role.workload) for variant in view.variants for role in variant.roles)
    expectations = [reading.expected[place] for place in places if place in reading.expected]
    size = next((entry.weights for entry in expectations if entry.weights is not None), None)
    seconds = next((entry.fetch_seconds for entry in expectations if entry.fetch_seconds is not None), None)
    task = "the weights" if size is None else f"{max(size / _GIB, 0.1):.1f} GiB of weights"
    if seconds is None:
        return task
    return f"{task}, which usually takes about {max(seconds // 60, 1)} min"


def _is_complete(job: Manifest) -> bool:
    return condition(job, "Complete").get("status") == "True"


def _last_failure(own_pods: Sequence[Manifest]) -> str:
    """Return how the last failed pod of a Job has ended; empty if none has failed."""
    failed = [pod for pod in own_pods if at(pod, "status", "phase") == "Failed"]
    newest = max(failed, default=None, key=lambda pod: str(at(pod, "metadata", "creationTimestamp")))
    if newest is None:
        return ""
    for status in pods.containers(newest).values():
        ended = mapping(at(status, "state", "terminated"))
        if ended.get("exitCode"):
            lines = quote(ended.get("message") or ended.get("reason"))
            return f"; its last pod ended with exit code {ended['exitCode']}" + (f": {lines}" if lines else "")
    reason = quote(at(newest, "status", "message") or at(newest, "status", "reason"))
    return f"; its last pod has failed: {reason}" if reason else ""


def _first_end(own_pods: Sequence[Manifest]) -> datetime | None:
    """Return the time at which the first failed pod of a Job ended."""
    ends = (
        time(at(status, "state", "terminated", "finishedAt"))
        for pod in own_pods
        if at(pod, "status", "phase") == "Failed"
        for status in pods.containers(pod).values()
    )
    return min((end for end in ends if end is not None), default=None)


def _claim_names(job: Manifest) -> frozenset[str]:
    """Return the names of the claims that the pods of a Job mount."""
    volumes = sequence(at(job, "spec", "template", "spec", "volumes"))
    names = (at(volume, "persistentVolumeClaim", "claimName") for volume in volumes)
    return frozenset(name for name in names if isinstance(name, str))
