"""The status of a service as zerfoo's operator would write it into a ZerfooInferenceService, which it never does."""

from collections.abc import Iterator

from judging.status.contract import ZerfooDocument
from judging.status.records import Link, ServiceLink
from judging.status.states import Level
from judging.status.verdict import ServiceStatus
from planning.ground.names import CANARY, PRIMARY

_BESIDE = frozenset({Link.SCALING, Link.CLAIM})
"""Links that pods wait for. If one of them fails, replicas are missing, or nothing is wrong with requests."""


def of(service: ServiceStatus) -> ZerfooDocument:
    """Return the status of the primary and the canary as the status of a ZerfooInferenceService."""
    message = next(_failures(service), "")
    return {
        "ready": not message,
        "replicas": _ready_replicas(service, PRIMARY),
        "canaryReplicas": _ready_replicas(service, CANARY),
        "message": message,
    }


def _ready_replicas(service: ServiceStatus, variant: str) -> int:
    return sum(component.ready or 0 for component in _workloads(service) if component.variant == variant)


def _workloads(service: ServiceStatus) -> list[ServiceLink]:
    """Return the workloads, those of the primary first."""
    return [component for component in service.components if component.link is Link.WORKLOAD]


def _failures(service: ServiceStatus) -> Iterator[str]:
    """Yield the conditions that fail, in the order in which the operator makes the objects: workloads before routes."""
    workloads = _workloads(service)
    if not workloads and service.serves is not None:
        yield "there is no Deployment"
    for workload in workloads:
        if workload.ready is None or workload.ready < (workload.desired or 0):
            yield _sentence(workload, f"has {workload.ready or 0} of {workload.desired or 0} replicas ready")
    for component in service.components:
        if component.link not in {*_BESIDE, Link.WORKLOAD} and component.is_broken is not False:
            yield _sentence(component, "does not work")
    if service.serves is None:
        yield "the cluster could not be read"


def _sentence(component: ServiceLink, words: str) -> str:
    """Return what is wrong with a component: the words of its worst state, or these words if it has no state."""
    if component.is_broken is None:
        return f"{component.object} could not be read"
    if not component.findings:
        return f"{component.object} {words}"
    finding = max(component.findings, key=lambda finding: list(Level).index(finding.level))
    if component.link is Link.WORKLOAD:
        return f"{component.object} {words}: {finding.object} {finding.steady_words}"
    return f"{finding.object} {finding.steady_words}"
