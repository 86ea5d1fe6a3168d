"""The status of a service as aim-engine would write it into an AIMService, in the words of `aim_engine.yaml`.

Each reading is derived from the objects alone, so no condition is stale.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judging.status import replicas
from judging.status.contract import AimEngineDocument, ConditionDocument, ConditionStatus, RootStatus, RuntimeDocument
from judging.status.heritage import aim_engine_table
from judging.status.heritage.aim_engine_table import ReasonRow, Wording
from judging.status.records import Finding, Link, ServiceLink
from judging.status.states import Level
from judging.status.topology import RoleView
from judging.status.verdict import ServiceStatus
from models.trees import at
from planning.ground import stages
from planning.ground.labels import DECODE
from planning.ground.names import CANARY, PRIMARY

_LINKS = {
    "InferenceService": Link.WORKLOAD,
    "InferenceServicePods": Link.WORKLOAD,
    "Cache": Link.CLAIM,
    "HTTPRoute": Link.ROUTE,
    "HPA": Link.SCALING,
}
"""The links of our chain of which each component is made."""
_PODS = "InferenceServicePods"
_SCALER = "HPA"
_READY = "Ready"


@dataclass(frozen=True, slots=True)
class _Health:
    """The state of a component."""

    component: str
    state: str
    """State; empty if it cannot be told."""
    reason: str
    message: str
    category: str = ""

    @property
    def status(self) -> ConditionStatus:
        """Return the status of the component's condition."""
        if not self.state:
            return "Unknown"
        if self.state == _READY:
            return "True"
        return "False"


def of(service: ServiceStatus) -> AimEngineDocument:
    """Return the status of the primary as the status of an AIMService."""
    components = [_health(service, name) for name in aim_engine_table.read().components if _has(service, name)]
    conditions = [*map(_condition, components), *_errors(components), _ready(components)]
    return {
        "status": _root(components),
        "conditions": sorted(conditions, key=lambda condition: condition["type"]),
        "runtime": _runtime(service),
    }


def _has(service: ServiceStatus, name: str) -> bool:
    """Tell whether a service has a component."""
    optional = {
        "Cache": bool(service.view.claims),
        "HTTPRoute": bool(service.view.routes),
        _SCALER: any(role.autoscaler or role.scaled_object for role in _roles(service)),
    }
    return optional.get(name, True) or bool(_links(service, name))


def _is_missing(service: ServiceStatus, name: str) -> bool:
    """Tell whether KEDA has not made the HorizontalPodAutoscaler of a ScaledObject."""
    return name == _SCALER and any(role.scaled_object and not role.autoscaler for role in _roles(service))


def _roles(service: ServiceStatus) -> list[RoleView]:
    return [role for variant in service.view.variants if variant.name == PRIMARY for role in variant.roles]


def _links(service: ServiceStatus, name: str) -> Sequence[ServiceLink]:
    """Return the links of which a component is made. An AIMService has no canary."""
    link = _LINKS.get(name)
    return [component for component in service.components if component.link is link and component.variant != CANARY]


def _health(service: ServiceStatus, name: str) -> _Health:
    """Return the state of a component: an error, else that it is ready, else why it is not."""
    row = aim_engine_table.read().components[name]
    links = _links(service, name)
    findings = _findings(links, name)
    reasons = [reason for reason in aim_engine_table.read().reasons if reason.component == name]
    known = [(reason, finding) for reason in reasons for finding in findings if finding.state.id in reason.states]
    errors = [(reason, finding) for reason, finding in known if reason.category]
    if any(component.is_broken is None for component in links):
        return _Health(name, "", row.unread, "The cluster could not be read")
    if errors:
        return _in_words(service, name, *errors[0])
    is_ready = not known and _is_faultless(links) and not _is_missing(service, name)
    if name in _READINESS:
        is_ready = _READINESS[name](links)
    if is_ready:
        return _Health(name, _READY, row.ready.reason, row.ready.message)
    if known:
        return _in_words(service, name, *known[0])
    wrong = next((finding for finding in findings if finding.level is not Level.NORMAL), None)
    if wrong is None:
        return _in_words(service, name, row.waiting, None)
    return _in_words(service, name, row.broken, wrong)


def _findings(links: Sequence[ServiceLink], name: str) -> Sequence[Finding]:
    """Return the states of a component. States of workloads that no reason has belong to the pods."""
    findings = [finding for component in links for finding in component.findings]
    if _LINKS.get(name) is not Link.WORKLOAD:
        return findings
    table = aim_engine_table.read()
    return [finding for finding in findings if table.owner(finding.state.id, _PODS) == name]


def _has_ready_pod(workloads: Sequence[ServiceLink]) -> bool:
    """Tell whether a pod that answers is ready."""
    return any(component.ready for component in workloads if stages.of_role(component.role) == DECODE)


def _is_running(workloads: Sequence[ServiceLink]) -> bool:
    """Tell whether no workload lacks all of its pods."""
    return bool(workloads) and all(component.ready or component.desired == 0 for component in workloads)


def _is_faultless(links: Sequence[ServiceLink]) -> bool:
    return not any(component.is_broken for component in links)


_READINESS: Mapping[str, Callable[[Sequence[ServiceLink]], bool]] = {
    "InferenceService": _is_running,
    _PODS: _has_ready_pod,
}
"""Tells whether a component is ready, by its links, whatever its states are. Other components are ready if no link is
broken, and if no state has a reason."""


def _in_words(service: ServiceStatus, name: str, wording: Wording, finding: Finding | None) -> _Health:
    """Return the state of a component in the words of a row."""
    table = aim_engine_table.read()
    values = {"reason": "Unknown", "message": "", "words": ""}
    message = wording.message
    if finding is not None:
        values |= {**finding.values, "words": finding.steady_words, "object": str(finding.object)}
        message = message or "{object} {words}"
    reason = wording.reason
    state = wording.state
    if wording.category:
        state = table.categories[wording.category].state
    if isinstance(wording, ReasonRow) and wording.starting and not _is_running(_links(service, "InferenceService")):
        reason = wording.starting
        state = table.components[name].waiting.state
    return _Health(name, state, reason.format_map(values), message.format_map(values), wording.category)


def _condition(health: _Health) -> ConditionDocument:
    return {
        "type": f"{health.component}Ready",
        "status": health.status,
        "reason": health.reason,
        "message": health.message,
    }


def _errors(components: Sequence[_Health]) -> Iterator[ConditionDocument]:
    """Yield aim-engine's own conditions that are false because of errors, one for each type."""
    types = dict[str, ConditionDocument]()
    for name, category in aim_engine_table.read().categories.items():
        health = next((health for health in components if health.category == name), None)
        if health is not None and category.condition:
            condition: ConditionDocument = {
                "type": category.condition,
                "status": "False",
                "reason": category.reason,
                "message": health.message,
            }
            types.setdefault(category.condition, condition)
    yield from types.values()


def _ready(components: Sequence[_Health]) -> ConditionDocument:
    """Return the condition of the whole service."""
    table = aim_engine_table.read()
    error = next((health for health in components if health.category), None)
    status: ConditionStatus = "False"
    reason = "Progressing"
    message = "Waiting for components to become ready"
    if error is not None:
        reason = error.reason
        message = f"Component {error.component} is not ready: {error.message}"
    elif all(health.state == _READY for health in components):
        status = "True"
        reason = "AllComponentsReady"
        message = "All components are ready"
    elif any(not health.state for health in components):
        status = "Unknown"
        reason = table.categories["Infrastructure"].reason
        message = "The cluster could not be read"
    return {"type": _READY, "status": status, "reason": reason, "message": message}


def _root(components: Sequence[_Health]) -> RootStatus | None:
    """Return the status of the service: that of its most important error, else that of its worst component."""
    table = aim_engine_table.read()
    categories = {health.category for health in components}
    for name, category in table.categories.items():
        if name in categories and category.root:
            return category.root
    if any(not health.state for health in components):
        return None
    worst = min(map(_effective_state, components), key=table.priorities.index)
    return table.root[worst]


def _effective_state(health: _Health) -> str:
    """Return the state for which a component counts."""
    table = aim_engine_table.read()
    if health.state in {_READY, *table.decisive}:
        return health.state
    return table.dependencies[table.components[health.component].dependency]


def _runtime(service: ServiceStatus) -> RuntimeDocument:
    """Return the numbers of the primary's decode role: `n` if they are fixed, else `current/desired (min-max)`."""
    workloads = [
        workload
        for workload in replicas.workloads(service.view, service.components)
        if workload.component.variant == PRIMARY and stages.of_role(workload.component.role) == DECODE
    ]
    current = sum(workload.component.ready or 0 for workload in workloads)
    desired = sum(workload.component.desired or 0 for workload in workloads)
    scaled = next((workload for workload in workloads if replicas.bounds(workload.role) is not None), None)
    bounds = None if scaled is None else replicas.bounds(scaled.role)
    if scaled is None or bounds is None or bounds.smallest == bounds.largest:
        return _numbers(current, desired, replicas.Bounds(desired, desired), str(desired))
    autoscaler = scaled.role.autoscaler
    current = replicas.number(at(autoscaler, "status", "currentReplicas"), current)
    desired = replicas.number(at(autoscaler, "status", "desiredReplicas"), desired)
    return _numbers(current, desired, bounds, f"{current}/{desired} ({bounds.smallest}-{bounds.largest})")


def _numbers(current: int, desired: int, bounds: replicas.Bounds, text: str) -> RuntimeDocument:
    return {
        "currentReplicas": current,
        "desiredReplicas": desired,
        "minReplicas": bounds.smallest,
        "maxReplicas": bounds.largest,
        "replicas": text,
    }
