"""The status of a service as OtterScale's model-operator would write it into a ModelService.

Source: otterscale/model-operator v1.0.1, internal/modelservice/status.go.
"""

from typing import NamedTuple

from judging.status.contract import ConditionStatus, OtterscaleDocument, Phase
from judging.status.records import Link
from judging.status.verdict import ServiceStatus
from planning.ground import stages
from planning.ground.labels import DECODE, PREFILL
from planning.ground.names import PRIMARY

_UNREAD = "The cluster could not be read"


class _Condition(NamedTuple):
    """The phase, with the condition `Ready`."""

    phase: Phase
    status: ConditionStatus
    reason: str
    message: str


class _Count(NamedTuple):
    """Numbers of replicas of a role, over all its workloads."""

    ready: int
    desired: int
    workloads: int


def of(service: ServiceStatus) -> OtterscaleDocument:
    """Return the status of the primary as the status of a ModelService."""
    decode = _count(service, DECODE)
    prefill = _count(service, PREFILL)
    condition = _condition(service, decode, prefill)
    return {
        "phase": condition.phase,
        "ready": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "decodeReady": decode.ready,
        "decodeReplicas": decode.desired,
        "prefillReady": prefill.ready,
        "prefillReplicas": prefill.desired,
    }


def _count(service: ServiceStatus, stage: str) -> _Count:
    """Count the replicas of a stage, over all its sets."""
    workloads = [
        component
        for component in service.components
        if (component.link, component.variant) == (Link.WORKLOAD, PRIMARY) and stages.of_role(component.role) == stage
    ]
    ready = sum(component.ready or 0 for component in workloads)
    return _Count(ready, sum(component.desired or 0 for component in workloads), len(workloads))


def _condition(service: ServiceStatus, decode: _Count, prefill: _Count) -> _Condition:
    """Return the first condition that holds, in the operator's order; after it, what the operator does not look at."""
    if not decode.workloads and service.serves is None:
        return _Condition("Pending", "Unknown", "Unread", _UNREAD)
    if not decode.workloads:
        return _Condition("Pending", "False", "DeploymentNotFound", "Decode Deployment has not been created yet")
    ready = decode.ready + prefill.ready
    missing = _missing(ready, decode.desired + prefill.desired)
    if missing is not None:
        return missing
    if service.serves is None:
        return _Condition("Running", "Unknown", "Unread", _UNREAD)
    if not service.serves:
        return _Condition("Running", "False", "NotServing", _blame(service))
    return _Condition("Ready", "True", "AllReplicasReady", f"All {ready} replicas are ready")


def _missing(ready: int, desired: int) -> _Condition | None:
    """Return the condition of a service that lacks replicas; None if it has all that are asked for."""
    if not desired:
        return _Condition("Running", "False", "Asleep", "No replicas are asked for")
    if not ready:
        return _Condition("Running", "False", "PodsStarting", "Waiting for serving pods to become ready")
    if ready < desired:
        return _Condition("Running", "False", "PartiallyReady", f"{ready}/{desired} replicas ready")
    return None


def _blame(service: ServiceStatus) -> str:
    if service.culprit is None:
        return "Requests are not answered"
    return f"{service.culprit.object} {service.culprit.steady_words}"
