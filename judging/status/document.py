"""The status of services as a plain tree, which fits `schemas/status.schema.json`.

Nothing but `readAt` depends on the time of reading, so two readings of the same objects differ in nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from judging.status import addresses, contract, effects, replicas
from judging.status.contract import (
    CauseDocument,
    ComponentDocument,
    FindingDocument,
    GatewayDocument,
    HeritageDocument,
    ObjectDocument,
    ReplicasDocument,
    ServiceDocument,
    ServiceState,
    StatusDocument,
)
from judging.status.heritage import aim_engine, otterscale, zerfoo
from judging.status.records import Finding, Link, ObjectRef, ServiceLink
from judging.status.states import Level
from judging.status.topology import name_of
from judging.status.verdict import ExitCode, ServiceStatus, Status
from planning.ground import stages
from planning.ground.labels import DECODE
from planning.ground.snapshot import Manifest


def of(
    status: Status,
    code: ExitCode,
    not_deployed: Sequence[str] = (),
    logs: Mapping[tuple[str, str], Sequence[str]] | None = None,
    answers: Mapping[tuple[str, str], str] | None = None,
) -> StatusDocument:
    """Return the status as a plain tree.

    `code` is the exit code of the command, `not_deployed` are keys of planned services of which the cluster has
    nothing. `logs` and `answers` have the last lines of the culprit's log, and what a request to the service resulted
    in, by name of the service; None if nobody asked for them.
    """
    return {
        "statusVersion": contract.VERSION,
        "readAt": _time(status.read_at),
        "exitCode": code.value,
        "services": [_service(service, logs or {}, answers or {}) for service in status.services],
        "notDeployed": sorted(not_deployed),
        "unread": [{"kind": kind, "reason": reason} for kind, reason in sorted(status.unread.items())],
    }


def state(service: ServiceStatus) -> ServiceState:
    """Return the state of a service in one word."""
    if service.serves is None:
        return "unknown"
    if service.serves:
        return "healthy" if service.level is Level.NORMAL else "degraded"
    if service.level is not Level.NORMAL:
        return "broken"
    return "asleep" if _is_asleep(service) else "starting"


def _is_asleep(service: ServiceStatus) -> bool:
    """Tell whether no pods that answer are asked for."""
    workloads = [
        entry for entry in service.components if entry.link is Link.WORKLOAD and stages.of_role(entry.role) == DECODE
    ]
    return bool(workloads) and all(workload.desired == 0 for workload in workloads)


def _service(
    service: ServiceStatus, logs: Mapping[tuple[str, str], Sequence[str]], answers: Mapping[tuple[str, str], str]
) -> ServiceDocument:
    place = (service.view.namespace, service.view.name)
    return {
        "stack": service.view.stack,
        "namespace": service.view.namespace,
        "name": service.view.name,
        "serves": service.serves,
        "state": state(service),
        "since": _optional_time(service.since),
        "culprit": None if service.culprit is None else _finding(service.culprit),
        "others": [_finding(finding) for finding in service.others],
        "components": list(_components(service)),
        "replicas": [_replicas(workload) for workload in replicas.workloads(service.view, service.components)],
        "gateways": [_gateway(gateway) for gateway in service.gateways],
        "urls": addresses.urls(service.view, service.gateways),
        "log": list(logs[place]) if place in logs else None,
        "answer": answers.get(place),
        "heritage": _heritage(service),
    }


def _components(service: ServiceStatus) -> Iterator[ComponentDocument]:
    followers = effects.follow(service.components, service.culprit)
    for component, follows in zip(service.components, followers, strict=True):
        yield _component(component, service.culprit if follows else None)


def _component(component: ServiceLink, cause: Finding | None) -> ComponentDocument:
    return {
        "link": component.link.value,
        "variant": component.variant,
        "role": component.role,
        "object": _object(component.object),
        "level": component.level.value,
        "broken": component.is_broken,
        "ready": component.ready,
        "desired": component.desired,
        "note": component.note,
        "states": [finding.state.id for finding in component.findings],
        "followsFrom": None if cause is None else _cause(cause),
    }


def _cause(finding: Finding) -> CauseDocument:
    return {"id": finding.state.id, "object": _object(finding.object)}


def _finding(finding: Finding) -> FindingDocument:
    return {
        "id": finding.state.id,
        "level": finding.level.value,
        "object": _object(finding.object),
        "count": finding.count,
        "role": finding.role,
        "since": _optional_time(finding.since),
        "words": finding.steady_words,
        "do": finding.remedy,
    }


def _object(ref: ObjectRef) -> ObjectDocument:
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def _replicas(workload: replicas.LiveWorkload) -> ReplicasDocument:
    bounds = replicas.bounds(workload.role)
    component = workload.component
    return {
        "variant": component.variant,
        "role": component.role,
        "ready": component.ready,
        "desired": component.desired,
        "min": None if bounds is None else bounds.smallest,
        "max": None if bounds is None else bounds.largest,
    }


def _gateway(gateway: Manifest) -> GatewayDocument:
    namespace, name = name_of(gateway)
    return {"namespace": namespace, "name": name, "addresses": addresses.of_gateway(gateway)}


def _heritage(service: ServiceStatus) -> HeritageDocument:
    return {
        "otterscale": otterscale.of(service),
        "aimEngine": aim_engine.of(service),
        "zerfoo": zerfoo.of(service),
    }


def _optional_time(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return _time(moment)


def _time(moment: datetime) -> str:
    """Return a time in UTC as the API server writes it, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
