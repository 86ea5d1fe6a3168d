"""The endpoint pickers of pools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from judging.status import picker_pods, pods, pools, proxies, rejections, routes, shares
from judging.status.evidence import Evidence
from judging.status.gateways import CONTROLLER_SECONDS
from judging.status.history import change_time, is_within
from judging.status.pools import PoolBackend
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, finding, time
from judging.status.states import Level
from judging.status.topology import PickerView, ServiceView, VariantView, name_of
from models.trees import EMPTY, at, mapping, sequence
from planning.ground.snapshot import DEPLOYMENT, LEASE, POD, SERVICE, Manifest
from planning.picker.containers import PICKER_CONTAINER

_ELECTION = "--ha-enable-leader-election"
"""Flag with which one of several pickers serves and the others wait (gateway-api-inference-extension v1.3.0,
pkg/epp/server/options.go)."""


@dataclass(frozen=True, slots=True)
class _Use:
    """The use of a picker by a pool."""

    pool: Manifest
    is_needed: bool
    """Whether requests without special headers are answered only if the picker answers."""
    fails_open: bool
    is_entry: bool
    """Whether clients reach the pool through the proxy beside the picker."""


def components(view: ServiceView, variant: VariantView, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the endpoint pickers of a variant. One is broken if requests need it and none of its pods answers."""
    uses = dict(_uses(view, variant, reading))
    deployments = {name_of(picker.deployment)[1]: picker for picker in variant.pickers}
    for name in sorted(uses.keys() | deployments.keys()):
        picker = deployments.get(name)
        if picker is not None:
            yield _component(view, variant, picker, uses.get(name), reading)
        else:
            yield _missing(view, variant, name, uses[name], reading)


def _uses(view: ServiceView, variant: VariantView, reading: Evidence) -> Iterator[tuple[str, _Use]]:
    """Yield the use of each picker that a pool names, by the name of the picker's Service and Deployment."""
    asked = _asked_pools(view, reading)
    for backend in pools.backends(view, variant, reading):
        if backend.pool is None:
            continue
        name = at(backend.pool, "spec", "endpointPickerRef", "name")
        is_entry = proxies.is_entry(view, variant, reading)
        # The proxy sends no request without the picker, whatever the pool tells gateways.
        fails_open = pools.fails_open(backend.pool) and not is_entry
        is_asked = bool(backend.percent) and (not view.routes or _place(backend) in asked)
        yield str(name), _Use(backend.pool, is_asked and not fails_open, fails_open, is_entry)


def _place(backend: PoolBackend) -> tuple[str, str]:
    return backend.namespace, backend.name


def _asked_pools(view: ServiceView, reading: Evidence) -> set[tuple[str, str]]:
    """Return the pools whose pickers the gateway asks: all with a share, or only the last one of each rule."""
    plans = [reading.routes[place] for place in map(name_of, view.routes) if place in reading.routes]
    asks_each = all(plan.asks_each_picker for plan in plans)
    return {
        (share.namespace, share.name) for share in shares.shares(view) if share.percent and (asks_each or share.is_last)
    }


def _missing(view: ServiceView, variant: VariantView, name: str, use: _Use, reading: Evidence) -> ServiceLink:
    at_object = ObjectRef("Deployment", view.namespace, name)
    if DEPLOYMENT in reading.unread:
        return ServiceLink(Link.PICKER, at_object, is_broken=None, variant=variant.name)
    state = "picker-missing"
    if pools.is_being_made(view, use.pool, reading):
        state = "picker-awaited"
    states = (finding(state, at_object, pool=name_of(use.pool)[1]),)
    is_broken: bool | None = use.is_needed
    if not view.routes and SERVICE in reading.unread:
        is_broken = is_broken or None
    return ServiceLink(Link.PICKER, at_object, (*states, *_open(use, states)), is_broken, variant.name, ready=0)


def _component(
    view: ServiceView, variant: VariantView, picker: PickerView, use: _Use | None, reading: Evidence
) -> ServiceLink:
    at_object = ObjectRef.of(picker.deployment, "Deployment")
    is_needed = use is not None and use.is_needed
    if POD in reading.unread:
        is_broken = None if is_needed else False
        return ServiceLink(Link.PICKER, at_object, is_broken=is_broken, variant=variant.name)
    fault = _fault(view, variant, picker, use, reading)
    ready = [pod for pod in picker.pods if pods.is_ready(pod)]
    states = _states(picker, ready, reading)
    is_broken: bool | None = is_needed and (not ready or fault is not None)
    is_unknown = (not ready and states is None) or (_is_entry(use) and not is_broken and SERVICE in reading.unread)
    if is_needed and is_unknown:
        is_broken = None
    findings = (*([fault] if fault else []), *(states or ()))
    if not ready and use is not None:
        findings = (*findings, *_open(use, findings))
    desired = _desired_count(picker)
    note = _note(picker, ready, reading)
    if _is_entry(use) and note:
        note = f"{note} at {proxies.host(variant)}"
    return ServiceLink(
        Link.PICKER, at_object, findings, is_broken, variant.name, ready=len(ready), desired=desired, note=note
    )


def _is_entry(use: _Use | None) -> bool:
    return use is not None and use.is_entry


def _fault(
    view: ServiceView, variant: VariantView, picker: PickerView, use: _Use | None, reading: Evidence
) -> Finding | None:
    """Return why requests do not reach a picker, whatever its pods do; None if they do."""
    if use is None or not use.is_entry:
        return _wrong_port(picker, use)
    if not use.is_needed or SERVICE in reading.unread:
        return None
    return proxies.service_fault(variant, picker, is_awaited=routes.is_awaited(view, reading))


def _open(use: _Use, states: Sequence[Finding]) -> Iterator[Finding]:
    """Yield what a pool does without a picker, unless the picker lacks only for a moment of a run."""
    if use.fails_open and any(state.level is not Level.NORMAL for state in states):
        yield finding("fail-open", ObjectRef.of(use.pool, shares.POOL))


def _states(picker: PickerView, ready: Sequence[Manifest], reading: Evidence) -> Sequence[Finding] | None:
    """Return the states of a picker's Deployment and pods; None if they are unknown because a kind is unread."""
    at_object = ObjectRef.of(picker.deployment, "Deployment")
    if at(picker.deployment, "spec", "replicas") == 0:
        return [finding("picker-stopped", at_object, change_time(picker.deployment))]
    elects = elects_leader(picker)
    states = [
        state
        for state in picker_pods.findings(picker.pods, reading, is_led=elects and bool(ready))
        if state is not None
    ]
    if ready:
        return states
    if elects and picker.pods and all(map(picker_pods.is_running, picker.pods)):
        return _without_leader(picker, states, reading)
    if states:
        return states
    return [_without_pods(picker.deployment, reading)]


def _without_pods(deployment: Manifest, reading: Evidence) -> Finding:
    """Return the state of a picker that has no pods, or only pods that end."""
    at_object = ObjectRef.of(deployment, "Deployment")
    failure = condition(deployment, "ReplicaFailure")
    if failure.get("status") == "True":
        return rejections.rejection(failure.get("message"), at_object, time(failure.get("lastTransitionTime")))
    since = _unavailable_since(deployment)
    if is_within(since or change_time(deployment), CONTROLLER_SECONDS, reading.now):
        return finding("picker-waits", at_object, since)
    return finding("picker-down", at_object, since)


def _unavailable_since(deployment: Manifest) -> datetime | None:
    available = condition(deployment, "Available")
    if available.get("status") == "False":
        return time(available.get("lastTransitionTime"))
    return None


def _without_leader(picker: PickerView, states: Sequence[Finding], reading: Evidence) -> Sequence[Finding] | None:
    """Return the state of pickers that all run and wait: nobody leads, or the leader is about to become ready."""
    if LEASE in reading.unread:
        return None
    lease = _lease(picker, reading)
    renewed = time(at(lease, "spec", "renewTime"))
    seconds = at(lease, "spec", "leaseDurationSeconds")
    holder = at(lease, "spec", "holderIdentity")
    if not isinstance(seconds, int):
        seconds = 0
    if holder and renewed is not None and (reading.now - renewed).total_seconds() <= seconds:
        return states
    if any(state.state.id == "picker-waits" for state in states):
        return states
    name = name_of(lease)[1] if lease else _lease_prefix(picker)
    at_object = ObjectRef("Lease", name_of(picker.deployment)[0], name)
    return [finding("no-leader", at_object, renewed, pods=len(picker.pods))]


def _lease(picker: PickerView, reading: Evidence) -> Manifest:
    """Return the Lease of a picker's election; an empty object if nobody has ever led."""
    namespace, _ = name_of(picker.deployment)
    prefix = _lease_prefix(picker)
    matches = (place for place in sorted(reading.leases) if place[0] == namespace and place[1].startswith(prefix))
    place = next(matches, None)
    return EMPTY if place is None else reading.leases[place]


def _lease_prefix(picker: PickerView) -> str:
    """Return the beginning of the name of a picker's Lease, which ends with a domain of the picker's project.

    gateway-api-inference-extension v1.3.0 and llm-d-router v0.10.0, pkg/epp/server/controller_manager.go.
    """
    flags = _flags(picker.deployment)
    return f"epp-{flags.get('--pool-namespace', name_of(picker.deployment)[0])}-{flags.get('--pool-name', '')}."


def elects_leader(picker: PickerView) -> bool:
    """Tell whether one pod of a picker serves and the others wait."""
    return _flags(picker.deployment).get(_ELECTION) in {"", "true"}


def _wrong_port(picker: PickerView, use: _Use | None) -> Finding | None:
    """Return the state of a pool that asks a port on which its picker does not listen.

    The picker's Service has the port of the picker (`manifests`), and no controller compares them.
    """
    if use is None:
        return None
    asked = at(use.pool, "spec", "endpointPickerRef", "port", "number")
    listening = _flags(picker.deployment).get("--grpc-port")
    if asked is None or listening is None or str(asked) == listening:
        return None
    return finding(
        "picker-port", ObjectRef.of(use.pool, shares.POOL), change_time(use.pool), asked=asked, listening=listening
    )


def _flags(deployment: Manifest) -> Mapping[str, str]:
    """Return the flags of a picker's container by name; an empty value for a flag without one."""
    containers = sequence(at(deployment, "spec", "template", "spec", "containers"))
    picker = next((entry for entry in map(mapping, containers) if entry.get("name") == PICKER_CONTAINER), EMPTY)
    arguments = map(str, sequence(picker.get("args")))
    pairs = (argument.partition("=") for argument in arguments)
    return {name: value for name, _, value in pairs}


def _desired_count(picker: PickerView) -> int:
    """Return the number of pods that are ready if all is well: one of those that elect a leader."""
    replicas = at(picker.deployment, "spec", "replicas")
    if not isinstance(replicas, int):
        replicas = 1
    return min(replicas, 1) if elects_leader(picker) else replicas


def _note(picker: PickerView, ready: Sequence[Manifest], reading: Evidence) -> str:
    """Return who leads and since when, or which pods answer."""
    if not ready:
        return ""
    names = ", ".join(name_of(pod)[1] for pod in ready)
    if not elects_leader(picker):
        return f"{names} answers" if len(ready) == 1 else f"{names} answer"
    acquired = time(at(_lease(picker, reading), "spec", "acquireTime"))
    if acquired is None:
        return f"{names} leads"
    return f"{names} leads since {acquired:%H:%M}"
