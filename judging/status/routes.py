"""The routes of a service: whether gateway controllers accept them, and whether they share requests as configured."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from judging.status import attachments, gateways, pods, shares, unresolved_refs
from judging.status.attachments import RouteParent
from judging.status.evidence import Evidence, RouteExpectation
from judging.status.gateways import CONTROLLER_SECONDS
from judging.status.history import change_time, creation_time, is_within, writer
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, conditions, finding, time
from judging.status.states import Level
from judging.status.topology import ServiceView, Topology, name_of
from models.trees import at, mapping, sequence
from planning.ground import labels, stages
from planning.ground.snapshot import POOL, ROUTE, Manifest

_DROPPED = "Dropped Rule"
"""Beginning of the message if a controller ignores the invalid rules of a route. If not, it serves the route as it was
before (Gateway API v1.4, apis/v1/shared_types.go, RouteConditionPartiallyInvalid)."""
_ROUTED_SECONDS = 60
"""Time within which a run makes the route of a service, after the service became ready."""


def components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the Gateways and routes of a service."""
    of_routes = [(route, gateways.verdicts(route, cluster, reading)) for route in view.routes]
    yield from gateways.components(of_routes)
    for route, verdicts in of_routes:
        broken_gateways = {place for place, verdict in verdicts.items() if True in verdict.broken.values()}
        yield _component(view, route, broken_gateways, reading)
    if ROUTE in reading.unread:
        yield ServiceLink(Link.ROUTE, ObjectRef("HTTPRoute", view.namespace, view.name), is_broken=None)
    elif (view.namespace, view.name) in reading.routes and not view.routes:
        yield _missing(view, reading)


def _component(
    view: ServiceView, route: Manifest, broken_gateways: Collection[tuple[str, str]], reading: Evidence
) -> ServiceLink:
    at_object = ObjectRef.of(route, "HTTPRoute")
    refs = attachments.parents(route)
    states = list[Finding]()
    broken = dict[RouteParent, bool | None]()
    for parent in refs:
        state, broken[parent] = _at_parent(view, route, parent, reading)
        if state is not None and state not in states:
            states.append(state)
    is_broken = _stops_all(broken, broken_gateways)
    if shares.leaves_requests(route):
        states.append(finding("route-empty", at_object, change_time(route)))
        is_broken = True
    expectation = reading.routes.get(name_of(route))
    if expectation is not None:
        states += _differences(view, route, expectation)
    return ServiceLink(Link.ROUTE, at_object, tuple(states), is_broken, note=_note(route, refs, states))


def _stops_all(broken: Mapping[RouteParent, bool | None], broken_gateways: Collection[tuple[str, str]]) -> bool | None:
    """Tell whether no request gets past a route; None if that is unknown.

    `broken` says the same of each of its parents. Parents of other kinds than Gateway and sets of listeners are not
    judged, so nothing is known about a route that has only such parents. A route that is refused at the only Gateway
    that works stops all requests.
    """
    if not broken:
        return None
    at_gateways = [value for ref, value in broken.items() if ref.gateway not in broken_gateways]
    verdicts = at_gateways or list(broken.values())
    if False in verdicts:
        return False
    if None in verdicts:
        return None
    return True


def _at_parent(
    view: ServiceView, route: Manifest, parent: RouteParent, reading: Evidence
) -> tuple[Finding | None, bool | None]:
    """Return the state of a route at a parent, and whether no request gets past it there; None if that is unknown."""
    at_object = ObjectRef.of(route, "HTTPRoute")
    is_recent = is_within(change_time(route), CONTROLLER_SECONDS, reading.now)
    entries = _entries(route, parent, is_recent=is_recent)
    accepted = next(filter(attachments.is_accepted, entries), None)
    if accepted is not None:
        return _of_accepted(view, route, accepted, reading)
    refused = [entry for entry in entries if _condition(entry, "Accepted").get("status") == "False"]
    if refused or (entries and not is_recent):
        return _refusal("route-refused", at_object, [*refused, *entries][0], "Accepted"), True
    state = "route-new" if is_recent else "route-unseen"
    return finding(state, at_object, change_time(route), gateway=parent), True


def _entries(route: Manifest, parent: RouteParent, *, is_recent: bool) -> Sequence[Mapping[str, Any]]:
    """Return what controllers say of a route at a parent.

    What was said of a former generation counts only while controllers may not have seen the present one, or if no
    controller has: a controller that was removed leaves what it said last.
    """
    entries = attachments.answers(route, parent)
    present = [entry for entry in entries if not gateways.is_old(route, _condition(entry, "Accepted"))]
    if is_recent or not present:
        return entries
    return present


def _of_accepted(
    view: ServiceView, route: Manifest, accepted: Mapping[str, Any], reading: Evidence
) -> tuple[Finding | None, bool | None]:
    """Return the state of a route that a controller accepts, and whether it stops requests; None if that is unknown."""
    at_object = ObjectRef.of(route, "HTTPRoute")
    is_recent = is_within(change_time(route), CONTROLLER_SECONDS, reading.now)
    unresolved = _condition(accepted, "ResolvedRefs")
    if unresolved.get("status") == "False":
        # A controller may look at a new route before it has looked at the pool that the route refers to.
        is_early = is_recent or _has_new_pool(view, reading)
        stops = unresolved_refs.stops(view, route, unresolved.get("reason"), is_early=is_early)
        state = "route-unresolved"
        if is_early and not stops:
            state = "route-resolving"
        return _refusal(state, at_object, accepted, "ResolvedRefs"), stops
    partial = _condition(accepted, "PartiallyInvalid")
    if partial.get("status") == "True":
        is_dropped = str(partial.get("message")).startswith(_DROPPED)
        return _refusal("route-refused", at_object, accepted, "PartiallyInvalid"), is_dropped
    if gateways.is_old(route, _condition(accepted, "Accepted")) and not is_recent:
        return finding("route-stale", at_object, change_time(route), controller=_controller(accepted)), False
    return None, False


def _refusal(state: str, at_object: ObjectRef, entry: Mapping[str, Any], name: str) -> Finding:
    refusal = _condition(entry, name)
    return finding(
        state,
        at_object,
        time(refusal.get("lastTransitionTime")),
        controller=_controller(entry),
        reason=quote(refusal.get("reason") or "Unknown"),
        message=quote(refusal.get("message")),
    )


def _has_new_pool(view: ServiceView, reading: Evidence) -> bool:
    pools = (pool for variant in view.variants for pool in variant.pools)
    return any(is_within(creation_time(pool), CONTROLLER_SECONDS, reading.now) for pool in pools)


def _missing(view: ServiceView, reading: Evidence) -> ServiceLink:
    """Return the route that the plan expects. A run makes it last, once pods and pickers are ready."""
    at_object = ObjectRef("HTTPRoute", view.namespace, view.name)
    state = "route-missing"
    if POOL not in reading.unread and is_awaited(view, reading):
        state = "route-awaited"
    return ServiceLink(Link.ROUTE, at_object, (finding(state, at_object),), is_broken=True)


def is_awaited(view: ServiceView, reading: Evidence) -> bool:
    """Tell whether a run may still wait for a service before it makes what leads requests to it."""
    workloads = [
        pod
        for variant in view.variants
        for role in variant.roles
        if stages.of_role(role.role) == labels.DECODE
        for pod in role.pods
    ]
    pickers = [pod for variant in view.variants for picker in variant.pickers for pod in picker.pods]
    ready_pods = [pod for pod in (*workloads, *pickers) if pods.is_ready(pod)]
    if not any(map(pods.is_ready, workloads)) or (pickers and not any(map(pods.is_ready, pickers))):
        return True
    moments = [time(condition(pod, "Ready").get("lastTransitionTime")) for pod in ready_pods]
    made = [creation_time(pool) for variant in view.variants for pool in variant.pools]
    return any(is_within(moment, _ROUTED_SECONDS, reading.now) for moment in (*moments, *made))


def _differences(view: ServiceView, route: Manifest, expectation: RouteExpectation) -> Iterator[Finding]:
    """Yield in what a route differs from the plan, and what the gateway makes of a route that is as planned."""
    at_object = ObjectRef.of(route, "HTTPRoute")
    backends = shares.shares(view)
    live = {share.name: share.percent for share in backends}
    planned = expectation.percents
    # A backend of a generation that the plan lacks is in use until a run has made the next one.
    is_rolling = any(share.variant and share.name not in planned for share in backends)
    if live != planned and not is_rolling:
        yield _drift(route, _shares(live), _shares(planned))
    if not expectation.asks_each_picker and sum(1 for percent in live.values() if percent) > 1:
        last = next(share.name for share in reversed(backends) if share.is_last)
        yield finding("picker-of-primary", at_object, pool=last)


def _drift(route: Manifest, live: str, planned: str) -> Finding:
    """Return the state of a route whose shares are not as planned, with the writer of its rules."""
    at_object = ObjectRef.of(route, "HTTPRoute")
    rules = writer(route, "spec", "rules")
    if rules is None:
        return finding("weight-differs", at_object, change_time(route), live=live, planned=planned, author="")
    author = f"; {quote(rules.name)} has written its rules"
    return finding("weight-differs", at_object, rules.at, live=live, planned=planned, author=author)


def _shares(percents: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {percent} %" for name, percent in sorted(percents.items()))


def _note(route: Manifest, refs: Sequence[RouteParent], states: Sequence[Finding]) -> str:
    """Return the places of a route's requests, such as `/models/chat at gateways/inference-gateway, accepted`."""
    rules = [mapping(rule) for rule in sequence(at(route, "spec", "rules"))]
    matches = [mapping(match) for rule in rules for match in sequence(rule.get("matches"))]
    paths = dict.fromkeys(quote(at(match, "path", "value")) for match in matches)
    hosts = [quote(host) for host in sequence(at(route, "spec", "hostnames"))]
    places = dict.fromkeys(map(str, refs))
    verdict = ", accepted"
    if any(state.level is Level.BROKEN for state in states):
        verdict = ""
    return f"{', '.join((*hosts, *filter(None, paths)))} at {', '.join(places)}{verdict}"


def _condition(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return conditions(entry).get(name, {})


def _controller(entry: Mapping[str, Any]) -> str:
    return quote(entry.get("controllerName"))
