"""The backends of routes: InferencePools with the endpoints that they select, and Services."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from judging.status import attachments, pods, proxies, shares
from judging.status.evidence import Evidence
from judging.status.history import change_time, creation_time, is_within
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, conditions, finding, time
from judging.status.shares import SERVICE
from judging.status.topology import (
    RoleView,
    ServiceView,
    Topology,
    VariantView,
    is_selected,
    leader_template,
    name_of,
    pool_selector,
)
from models.trees import at, mapping, sequence
from planning.ground import labels, stages
from planning.ground.names import CANARY, PRIMARY
from planning.ground.snapshot import DEPLOYMENT, LEADER_WORKER_SET, POD, POOL, Manifest

_RUN_SECONDS = 180
"""Time in which a run makes the workload and the picker after their pool. It makes hundreds of objects in a minute, but
may wait for its machine and for the API server."""
_OF_ENDPOINTS = frozenset({POD, DEPLOYMENT, LEADER_WORKER_SET})
"""Kinds without which the endpoints of a backend are unknown."""


@dataclass(frozen=True, slots=True)
class PoolBackend:
    """A backend of a service's routes, or a backend to which no route leads."""

    kind: str
    namespace: str
    name: str
    pool: Manifest | None
    """The InferencePool; None for a Service, and for a pool that does not exist."""
    percent: int | None
    """Share of requests without special headers; None if no route leads to the backend."""

    @property
    def object(self) -> ObjectRef:
        """Return the reference to the backend."""
        return ObjectRef(self.kind, self.namespace, self.name)


def backends(view: ServiceView, variant: VariantView, reading: Evidence) -> Sequence[PoolBackend]:
    """Return the backends of a variant by name: its pools, its Service if requests pass it, and all others of routes.

    Without a route, requests pass the proxy beside the picker, and go on to its pool, or else they pass the Service.
    A backend of a route need not exist.
    """
    pools = {name_of(pool): pool for pool in variant.pools}
    keys = {(shares.POOL, *place) for place in pools}
    keys |= {
        (share.kind, share.namespace, share.name) for share in shares.shares(view) if share.variant == variant.name
    }
    service = (SERVICE, view.namespace, variant.base)
    is_unrouted = not view.routes and (view.namespace, view.name) not in reading.routes
    is_metered = shares.is_metered(view, variant)
    is_proxied = proxies.is_entry(view, variant, reading)
    if is_proxied and not pools:
        keys.add((shares.POOL, view.namespace, variant.base))
    elif (is_unrouted and not is_proxied) or is_metered or not keys:
        keys.add(service)
    asked = shares.percents(view)
    if is_proxied and variant.name == PRIMARY:
        led_to = {(shares.POOL, *name_of(pool)) for pool in proxies.asked_pools(variant)} or keys
        asked = dict.fromkeys(led_to, 100)
    elif is_metered or (is_unrouted and variant.name == PRIMARY):
        # Clients within the cluster ask the Service, too, whose selector has no generation (labels.routed_selector).
        asked = {**asked, service: 100}
    elif not view.routes and not is_unrouted:
        # The route that a run is about to make leads to them.
        asked = dict.fromkeys(keys, 100)
    return [
        PoolBackend(*key, pools.get(key[1:]) if key[0] == shares.POOL else None, asked.get(key)) for key in sorted(keys)
    ]


def components(view: ServiceView, variant: VariantView, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the backends of a variant. One is broken if a route leads to it and no endpoint answers behind it."""
    for backend in backends(view, variant, reading):
        if backend.kind == shares.POOL and backend.pool is None:
            yield _missing(view, backend, variant.name, reading)
        else:
            yield from _components(view, variant, backend, reading)


def is_being_made(view: ServiceView, pool: Manifest, reading: Evidence) -> bool:
    """Tell whether a run may still make what belongs to a pool: it makes the pool before, and the route at the end.

    While it makes the pool of a new generation, the route leads to that of the former one. The workload comes after the
    Jobs that fill claims, however long they take.
    """
    is_routed = (shares.POOL, *name_of(pool)) in shares.percents(view)
    fills = [time(at(job, "status", "completionTime")) for job in view.fills]
    moments = (creation_time(pool), *fills)
    return not is_routed and any(is_within(moment, _RUN_SECONDS, reading.now) for moment in moments)


def strays(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the backends that routes name, but that belong to no variant that has objects.

    Pods and picker of a pool that is not the service's own are not known, so it cannot be told whether it answers.
    """
    existing = {variant.name for variant in view.variants}
    named = {share.variant for share in shares.shares(view)} - existing
    for name in sorted(filter(None, named)):
        yield from components(view, VariantView(name, shares.bases(view)[name], (), (), ()), reading)
    percents = shares.percents(view)
    others = {
        (share.namespace, share.name)
        for share in shares.shares(view)
        if share.kind == shares.POOL and not share.variant
    }
    for place in sorted(others):
        percent = percents.get((shares.POOL, *place))
        # The pools of another namespace may not be read.
        if place in cluster.pools or place[0] != view.namespace:
            yield _foreign(place, percent)
        else:
            yield _missing(view, PoolBackend(shares.POOL, *place, None, percent), "", reading)


def _foreign(place: tuple[str, str], percent: int | None) -> ServiceLink:
    is_broken = None if percent else False
    return ServiceLink(Link.POOL, ObjectRef(shares.POOL, *place), is_broken=is_broken, note="is no pool of the service")


def _missing(view: ServiceView, backend: PoolBackend, variant: str, reading: Evidence) -> ServiceLink:
    if POOL in reading.unread:
        return ServiceLink(Link.POOL, backend.object, is_broken=None, variant=variant)
    state = finding("pool-missing", backend.object, _unresolved_since(view), percent=backend.percent or 0)
    return ServiceLink(Link.POOL, backend.object, (state,), bool(backend.percent), variant)


def _unresolved_since(view: ServiceView) -> datetime | None:
    """Return the time since when a controller does not find a backend of the routes."""
    entries = (mapping(entry) for route in view.routes for entry in sequence(at(route, "status", "parents")))
    unresolved = (conditions(entry).get("ResolvedRefs", {}) for entry in entries)
    times = (time(entry.get("lastTransitionTime")) for entry in unresolved if entry.get("status") == "False")
    return next((moment for moment in times if moment is not None), None)


def _components(
    view: ServiceView, variant: VariantView, backend: PoolBackend, reading: Evidence
) -> Iterator[ServiceLink]:
    """Yield a backend, and the workload that is missing behind it."""
    roles = [role for role in variant.roles if stages.of_role(role.role) == labels.DECODE]
    endpoints = [pod for role in roles for pod in role.endpoints if pods.is_ready(pod) and _selects(backend, pod)]
    refusals = list[Finding | None]()
    if backend.pool is not None:
        refusals += _answers(view, backend.pool)
    states = [refusal for refusal in refusals if refusal is not None][:1]
    stops = [refusal is not None and not _is_bypassed(backend.pool, refusal) for refusal in refusals]
    is_broken: bool | None = bool(backend.percent) and bool(stops) and all(stops)
    if not endpoints and backend.percent:
        is_broken = True
        if reading.unread.keys() & _OF_ENDPOINTS:
            is_broken = None
        elif roles:
            states.append(_empty(variant, backend, roles))
        else:
            states.append(_without_endpoints(variant, backend, ()))
            is_awaited = not view.routes and any(is_being_made(view, pool, reading) for pool in variant.pools)
            yield _missing_workload(variant, backend, is_awaited=is_awaited)
    yield ServiceLink(Link.POOL, backend.object, tuple(states), is_broken, variant.name, ready=len(endpoints))


def _selects(backend: PoolBackend, item: Manifest) -> bool:
    """Tell whether a backend selects a pod. The Service of a variant selects the decode pods of all generations."""
    if backend.pool is None:
        return True
    return is_selected(pool_selector(backend.pool), item)


def _empty(variant: VariantView, backend: PoolBackend, roles: Collection[RoleView]) -> Finding:
    """Return why a backend has no ready endpoint although the variant has workloads."""
    selected = [role for role in roles if _selects(backend, _template(role))]
    if selected or backend.pool is None:
        return _without_endpoints(variant, backend, selected or roles)
    selector = pool_selector(backend.pool)
    since = change_time(backend.pool)
    wrong = {key: value for key, value in selector.items() if all(value != _label(role, key) for role in roles)}
    if wrong.keys() == {labels.GENERATION}:
        ready = sorted({str(role.generation) for role in roles if any(map(pods.is_ready, role.pods))})
        generations = ", ".join(ready) or "none"
        return finding(
            "other-generation", backend.object, since, generation=wrong[labels.GENERATION], generations=generations
        )
    text = ", ".join(f"{key}={value}" for key, value in sorted((wrong or selector).items()))
    return finding("selects-nothing", backend.object, since, selector=quote(text))


def _without_endpoints(variant: VariantView, backend: PoolBackend, roles: Collection[RoleView]) -> Finding:
    state = "no-endpoints"
    if variant.name == CANARY:
        state = "canary-empty"
    unready = [
        time(condition(pod, "Ready").get("lastTransitionTime"))
        for role in roles
        for pod in role.endpoints
        if not pods.is_ready(pod)
    ]
    since = max((moment for moment in unready if moment is not None), default=None)
    return finding(state, backend.object, since, percent=backend.percent)


def _missing_workload(variant: VariantView, backend: PoolBackend, *, is_awaited: bool) -> ServiceLink:
    """Return the workload that the name of a pool or of a backend tells, if the variant has none."""
    name = backend.name
    if backend.kind == SERVICE and variant.pools:
        _, name = name_of(variant.pools[-1])
    at_object = ObjectRef("Deployment", backend.namespace, f"{name}-{labels.DECODE}")
    state = "workload-missing"
    if is_awaited:
        state = "workload-awaited"
    states = (finding(state, at_object, role=labels.DECODE),)
    return ServiceLink(Link.WORKLOAD, at_object, states, True, variant.name, labels.DECODE, ready=0)


def _template(role: RoleView) -> Manifest:
    """Return what stands for a pod of a workload: an object with its labels."""
    template = at(role.workload, "spec", "template")
    if role.kind != "Deployment":
        template = leader_template(role.workload)
    return mapping(template)


def _label(role: RoleView, key: str) -> object:
    return mapping(at(_template(role), "metadata", "labels")).get(key)


def _answers(view: ServiceView, pool: Manifest) -> Iterator[Finding | None]:
    """Yield what is said of a pool for each Gateway of a service: the state of a refusal, or None if there is none.

    The Gateway of a set of listeners is not known, so what is said for any Gateway counts then (Gateway API Inference
    Extension v1.3.0, api/v1/inferencepool_types.go, PoolStatus).
    """
    places = {parent.gateway for route in view.routes for parent in attachments.parents(route)}
    for entry in map(mapping, sequence(at(pool, "status", "parents"))):
        parent = mapping(entry.get("parentRef"))
        place = str(parent.get("namespace") or name_of(pool)[0]), str(parent.get("name"))
        if not places or None in places or place in places:
            yield _refusal(pool, entry)


def _refusal(pool: Manifest, entry: Mapping[str, object]) -> Finding | None:
    """Return the state of a pool that a gateway controller rejects."""
    for name in ("Accepted", "ResolvedRefs"):
        verdict = conditions(entry).get(name, {})
        if verdict.get("status") == "False":
            return _refusal_at(pool, entry, verdict)
    return None


def _refusal_at(pool: Manifest, entry: Mapping[str, object], verdict: Mapping[str, object]) -> Finding:
    gateway = quote(at(entry, "parentRef", "name"))
    since = time(verdict.get("lastTransitionTime"))
    reason = quote(verdict.get("reason"))
    message = quote(verdict.get("message"))
    return finding(
        "pool-refused", ObjectRef.of(pool, shares.POOL), since, gateway=gateway, reason=reason, message=message
    )


def _is_bypassed(pool: Manifest | None, refusal: Finding) -> bool:
    """Tell whether requests are answered although a controller does not find the picker: the pool fails open."""
    return fails_open(pool) and refusal.values["reason"] == "InvalidExtensionRef"


def fails_open(pool: Manifest | None) -> bool:
    """Tell whether requests go to any pod of a pool while its picker does not answer."""
    return at(pool, "spec", "endpointPickerRef", "failureMode") == "FailOpen"
