"""The autoscalers of workloads: HorizontalPodAutoscalers, and the ScaledObjects of KEDA.

An autoscaler is never broken: pods that exist serve without it.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from judging.status import pods
from judging.status.evidence import Evidence
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, finding, time
from judging.status.topology import RoleView, VariantView
from models.trees import at, mapping, sequence
from planning.ground.snapshot import Manifest

_METRICS_GRACE = timedelta(minutes=2)
"""Time in which the metrics of new pods reach an autoscaler: a scrape each 15 to 60 s, the adapter's own window, and
the controller's period of 15 s."""
_UNSEEN_GRACE = timedelta(seconds=60)
"""Time in which a controller first looks at an autoscaler. That of HorizontalPodAutoscalers looks each 15 s."""
_PAUSING = ("autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas")
"""Annotations that pause a ScaledObject (keda v2.20, apis/keda/v1alpha1/scaledobject_types.go)."""


def components(variant: VariantView, role: RoleView, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the autoscaler of a role, if there is one: the ScaledObject if KEDA scales."""
    scaled = role.scaled_object
    autoscaler = role.autoscaler
    if scaled is not None:
        states = tuple(_of_scaled_object(scaled, role, reading))
        yield ServiceLink(Link.SCALING, ObjectRef.of(scaled, "ScaledObject"), states, False, variant.name, role.role)
    elif autoscaler is not None:
        reference = ObjectRef.of(autoscaler, "HorizontalPodAutoscaler")
        states = tuple(_of_autoscaler(autoscaler, role, reading))
        yield ServiceLink(Link.SCALING, reference, states, False, variant.name, role.role)


def _of_scaled_object(scaled: Manifest, role: RoleView, reading: Evidence) -> Iterator[Finding]:
    reference = ObjectRef.of(scaled, "ScaledObject")
    off = _off_reason(scaled, reading)
    if off:
        yield finding("autoscaler-off", reference, _created_if_unseen(scaled), role=role.role, reason=off)
    if condition(scaled, "Fallback").get("status") == "True":
        replicas = at(scaled, "spec", "fallback", "replicas")
        yield finding("fallback", reference, _latest_failure(scaled), role=role.role, replicas=replicas)
    if role.autoscaler is not None:
        yield from _of_controller(role.autoscaler, role, reading)


def _off_reason(scaled: Manifest, reading: Evidence) -> str:
    """Return why a ScaledObject does not scale; empty if it does."""
    annotations = mapping(at(scaled, "metadata", "annotations"))
    pausing = next((name for name in _PAUSING if name in annotations), None)
    if pausing is not None and annotations[pausing] != "false":
        return f"the annotation {pausing} pauses it"
    if condition(scaled, "Paused").get("status") == "True":
        return "it is paused"
    ready = condition(scaled, "Ready")
    if ready.get("status") == "False":
        return quote(ready.get("message")) or quote(ready.get("reason"))
    if not sequence(at(scaled, "status", "conditions")) and _is_unseen(scaled, reading):
        return "KEDA has not looked at it"
    return ""


def _created_if_unseen(scaled: Manifest) -> datetime | None:
    """Return the creation of a ScaledObject without a status. KEDA's conditions have no times."""
    if sequence(at(scaled, "status", "conditions")):
        return None
    return time(at(scaled, "metadata", "creationTimestamp"))


def _latest_failure(scaled: Manifest) -> datetime | None:
    """Return the time at which KEDA last saw a trigger active. Since then it has not, or the triggers have failed."""
    return time(at(scaled, "status", "lastActiveTime"))


def _is_unseen(item: Manifest, reading: Evidence) -> bool:
    created = time(at(item, "metadata", "creationTimestamp"))
    return created is not None and reading.now - created > _UNSEEN_GRACE


def _of_autoscaler(autoscaler: Manifest, role: RoleView, reading: Evidence) -> Iterator[Finding]:
    """Yield the states of an autoscaler that belongs to no ScaledObject."""
    reference = ObjectRef.of(autoscaler, "HorizontalPodAutoscaler")
    active = condition(autoscaler, "ScalingActive")
    if active.get("reason") == "ScalingDisabled":
        since = time(active.get("lastTransitionTime"))
        reason = "somebody has set the workload to 0 replicas"
        yield finding("autoscaler-off", reference, since, role=role.role, reason=reason)
    if not sequence(at(autoscaler, "status", "conditions")) and _is_unseen(autoscaler, reading):
        since = time(at(autoscaler, "metadata", "creationTimestamp"))
        yield finding("autoscaler-off", reference, since, role=role.role, reason="no controller has looked at it")
    yield from _of_controller(autoscaler, role, reading)


def _of_controller(autoscaler: Manifest, role: RoleView, reading: Evidence) -> Iterator[Finding]:
    """Yield what the controller of HorizontalPodAutoscalers says."""
    reference = ObjectRef.of(autoscaler, "HorizontalPodAutoscaler")
    able = condition(autoscaler, "AbleToScale")
    if able.get("status") == "False":
        since = time(able.get("lastTransitionTime"))
        yield finding("autoscaler-off", reference, since, role=role.role, reason=quote(able.get("message")))
    active = condition(autoscaler, "ScalingActive")
    if active.get("status") == "False" and active.get("reason") != "ScalingDisabled":
        since = time(active.get("lastTransitionTime"))
        state = "metrics-awaited" if _is_early(since, role, reading) else "no-metrics"
        yield finding(state, reference, since, role=role.role, reason=quote(active.get("message")))
    limited = condition(autoscaler, "ScalingLimited")
    maximum = at(autoscaler, "spec", "maxReplicas")
    is_limited = (limited.get("status"), limited.get("reason")) == ("True", "TooManyReplicas")
    if is_limited and at(autoscaler, "status", "desiredReplicas") == maximum:
        since = time(limited.get("lastTransitionTime"))
        yield finding("at-maximum", reference, since, role=role.role, maximum=maximum)
    if active.get("status") == "True":
        yield from _change(autoscaler, role, reference)


def _is_early(since: datetime | None, role: RoleView, reading: Evidence) -> bool:
    """Tell whether metrics may still come: no pod is ready, or the first one has become so a moment ago."""
    ready = [pod for pod in role.pods if pods.is_ready(pod)]
    times = [moment for pod in ready if (moment := time(condition(pod, "Ready").get("lastTransitionTime")))]
    moments = [moment for moment in (since, min(times, default=None)) if moment is not None]
    return not ready or not moments or reading.now - max(moments) < _METRICS_GRACE


def _change(autoscaler: Manifest, role: RoleView, reference: ObjectRef) -> Iterator[Finding]:
    """Yield the change of the number of replicas that an autoscaler has decided and not yet seen done."""
    current = at(autoscaler, "status", "currentReplicas")
    desired = at(autoscaler, "status", "desiredReplicas")
    if not isinstance(current, int) or not isinstance(desired, int) or current == desired:
        return
    state = "scaling-up" if desired > current else "scaling-down"
    since = time(at(autoscaler, "status", "lastScaleTime"))
    yield finding(state, reference, since, role=role.role, current=current, desired=desired)
