"""The Gateways to which the routes of a service attach, and what their controllers say of a route."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.status import attachments, certificates
from judging.status.evidence import Evidence
from judging.status.history import change_time, creation_time, is_within
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, conditions, finding, time
from judging.status.topology import Topology, name_of
from models.trees import at, mapping, sequence
from planning.ground.snapshot import GATEWAY, Manifest

_OTHER_KINDS = "InvalidRouteKinds"
"""Reason of `ResolvedRefs` if a listener lists a kind of routes that the controller does not know. The kinds that it
knows are served (Gateway API v1.4, apis/v1/gateway_types.go, ListenerStatus.supportedKinds)."""
CONTROLLER_SECONDS = 60
"""Time within which a controller answers a new or changed object. Controllers answer in seconds, but restart, too."""
_LACKING_PORT = re.compile(r"port (\d{1,5}) not found for hostname")
"""Text about a listener for whose port the Service of a Gateway has none (istio release-1.31,
pilot/pkg/config/kube/gatewaycommon/context.go)."""
_LACKS_ADDRESS = "AddressNotAssigned"
"""Reason of `Programmed` if a Gateway has not got all of its addresses (Gateway API v1.4, apis/v1/gateway_types.go,
GatewayReasonAddressNotAssigned)."""
_LACKS_ALL = "Failed to assign to any requested addresses"
"""Beginning of Istio's message if nothing takes requests. The addresses of before stay in the status (istio
release-1.31, pilot/pkg/config/kube: gatewaycommon/conversion.go, SetProgrammedCondition; gateway/conversion.go)."""


@dataclass(frozen=True, slots=True)
class GatewayVerdict:
    """The verdict on a Gateway for a route."""

    broken: Mapping[str, bool | None]
    """Whether no request gets past it, by the hosts of the route that it takes; None if that is unknown."""
    states: Sequence[Finding]


@dataclass(frozen=True, slots=True)
class _ListenerVerdict:
    """The verdict on a listener for a route."""

    is_broken: bool | None
    """Whether no request gets past it; None if that is unknown."""
    states: Sequence[Finding]


Verdicts = Mapping[tuple[str, str], GatewayVerdict]
"""Verdicts on the Gateways of a route, by namespace and name."""


def verdicts(route: Manifest, cluster: Topology, reading: Evidence) -> Verdicts:
    """Return the verdict on each Gateway to which a route refers."""
    places = {parent.gateway for parent in attachments.parents(route)}
    return {place: _verdict(place, route, cluster, reading) for place in places if place is not None}


def components(of_routes: Sequence[tuple[Manifest, Verdicts]]) -> Iterator[ServiceLink]:
    """Yield the Gateways of a service's routes. One is broken if it fails for a host that no other parent serves.

    `of_routes` are the routes and their verdicts. A set of listeners is a parent of which nothing is known.
    """
    places = sorted({place for _, of_places in of_routes for place in of_places})
    for place in places:
        states = [state for _, of_places in of_routes if place in of_places for state in of_places[place].states]
        broken = {_is_broken(place, route, of_places) for route, of_places in of_routes if place in of_places}
        yield ServiceLink(Link.GATEWAY, ObjectRef("Gateway", *place), _unique(states), _any(broken))


def _unique(states: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return states without those that were there before. A finding has no hash."""
    first = list[Finding]()
    for state in states:
        if state not in first:
            first.append(state)
    return tuple(first)


def _is_broken(place: tuple[str, str], route: Manifest, of_places: Verdicts) -> bool | None:
    """Tell whether a Gateway fails for a host of a route that no other parent serves; None if that is unknown."""
    if any(parent.gateway is None for parent in attachments.parents(route)):
        return False
    hosts = of_places[place].broken
    return _any({_all({verdict.broken.get(host, True) for verdict in of_places.values()}) for host in hosts})


def _any(broken: Collection[bool | None]) -> bool | None:
    """Tell whether one of some parts is broken; None if that is unknown."""
    if True in broken:
        return True
    return None if None in broken else False


def _all(broken: Collection[bool | None]) -> bool | None:
    """Tell whether all of some parts are broken; None if that is unknown."""
    if False in broken:
        return False
    return None if None in broken else True


def _verdict(place: tuple[str, str], route: Manifest, cluster: Topology, reading: Evidence) -> GatewayVerdict:
    gateway = cluster.gateways.get(place)
    if gateway is not None:
        return _of_gateway(gateway, route, reading)
    hosts = attachments.hostnames(route)
    if GATEWAY in reading.unread:
        return GatewayVerdict(dict.fromkeys(hosts, None), ())
    return GatewayVerdict(dict.fromkeys(hosts, True), (finding("gateway-missing", ObjectRef("Gateway", *place)),))


def _of_gateway(gateway: Manifest, route: Manifest, reading: Evidence) -> GatewayVerdict:
    at_object = ObjectRef.of(gateway, "Gateway")
    hosts = _hosts(gateway, route)
    refused = _refusal(gateway)
    states = list[Finding]()
    if refused is not None:
        is_new = is_within(creation_time(gateway), CONTROLLER_SECONDS, reading.now)
        states.append(_off(at_object, refused, is_new=is_new))
        if _concerns_others(refused, gateway, route):
            return GatewayVerdict(dict.fromkeys(hosts, False), states)
        if not _keeps_addresses(refused, gateway):
            return GatewayVerdict(dict.fromkeys(hosts, True), states)
    if _is_forgotten(gateway, reading):
        # While the controller is away, its proxies serve what it said last.
        state = finding("gateway-unseen", at_object, change_time(gateway), gateway_class=_class_name(gateway))
        return GatewayVerdict(dict.fromkeys(hosts, not _is_answered(gateway, route)), (*states, state))
    of_listeners = dict(_listeners(gateway, route, at_object, reading))
    states += [state for verdict in of_listeners.values() for state in verdict.states]
    return GatewayVerdict({host: _of_host(host, gateway, route, of_listeners) for host in hosts}, states)


def _hosts(gateway: Manifest, route: Manifest) -> Sequence[str]:
    """Return the hosts of a route that a listener of a Gateway takes; all hosts if there is none."""
    listeners = attachments.listeners(route, gateway)
    hosts = attachments.hostnames(route)
    return [host for host in hosts if any(attachments.takes(listener, host) for listener in listeners)] or hosts


def _of_host(
    host: str, gateway: Manifest, route: Manifest, of_listeners: Mapping[str, _ListenerVerdict]
) -> bool | None:
    """Tell whether no listener serves a host of a route; None if that is unknown.

    Of the listeners of a port, the one with the most specific hostname takes the requests, unless it does not work.
    If that one does not take the route, it depends on the controller whether another one does: that is an extended
    feature (Gateway API v1.4, apis/v1/gateway_types.go, "Listeners that are distinct only by Hostname" and "Listener
    Isolation").
    """
    attached = [item for item in attachments.listeners(route, gateway) if attachments.takes(item, host)]
    if not attached:
        return False
    works = [item for item in attachments.all_listeners(gateway) if not _is_off(gateway, item)]
    broken = set[bool | None]()
    for listener in attached:
        narrower = [other for other in works if attachments.is_before(other, listener, host)]
        if not narrower:
            broken.add(of_listeners[str(listener.get("name"))].is_broken)
        elif not any(other in attached for other in narrower):
            broken.add(None)
    return _all(broken)


def _is_off(gateway: Manifest, listener: Mapping[str, Any]) -> bool:
    """Tell whether the controller says that a listener does not work."""
    return next(_faults(_statuses(gateway).get(str(listener.get("name")), {})), None) is not None


def _refusal(gateway: Manifest) -> Mapping[str, Any] | None:
    """Return the condition that says that a Gateway does not work; an empty one if the Gateway has no conditions."""
    for name in ("Accepted", "Programmed"):
        entry = condition(gateway, name)
        if entry.get("status") != "True":
            return entry
    return None


def _concerns_others(refusal: Mapping[str, Any], gateway: Manifest, route: Manifest) -> bool:
    """Tell whether Istio lacks the ports of some listeners only, and another listener of the route serves."""
    lacking = {int(port) for port in _LACKING_PORT.findall(str(refusal.get("message")))}
    ports = (listener.get("port") for listener in attachments.listeners(route, gateway))
    used = {port for port in ports if isinstance(port, int)}
    return bool(lacking) and bool(used - lacking)


def _keeps_addresses(refusal: Mapping[str, Any], gateway: Manifest) -> bool:
    """Tell whether a Gateway lacks some addresses only, and takes requests at those that it has."""
    lacks = refusal.get("reason") == _LACKS_ADDRESS and not str(refusal.get("message")).startswith(_LACKS_ALL)
    return lacks and bool(sequence(at(gateway, "status", "addresses")))


def _off(at_object: ObjectRef, entry: Mapping[str, Any], *, is_new: bool) -> Finding:
    state = "gateway-off"
    if is_new:
        state = "gateway-new"
    reason = entry.get("reason") or "no controller has looked at it"
    since = time(entry.get("lastTransitionTime"))
    return finding(state, at_object, since, reason=quote(reason), message=quote(entry.get("message")))


def _is_forgotten(gateway: Manifest, reading: Evidence) -> bool:
    """Tell whether no controller has looked at the present generation of a Gateway for a while."""
    return is_old(gateway, condition(gateway, "Accepted")) and not is_within(
        change_time(gateway), CONTROLLER_SECONDS, reading.now
    )


def is_old(item: Manifest, entry: Mapping[str, Any]) -> bool:
    """Tell whether a condition is about a former generation of an object."""
    observed = entry.get("observedGeneration")
    generation = at(item, "metadata", "generation")
    return isinstance(observed, int) and isinstance(generation, int) and observed < generation


def _is_answered(gateway: Manifest, route: Manifest) -> bool:
    """Tell whether a controller says anything about a route at a Gateway."""
    refs = [parent for parent in attachments.parents(route) if parent.gateway == name_of(gateway)]
    return any(attachments.answers(route, parent) for parent in refs)


def _statuses(gateway: Manifest) -> Mapping[str, Mapping[str, Any]]:
    """Return what the controller says of the listeners of a Gateway, by the listener's name."""
    return {str(entry.get("name")): entry for entry in map(mapping, sequence(at(gateway, "status", "listeners")))}


def _listeners(
    gateway: Manifest, route: Manifest, at_object: ObjectRef, reading: Evidence
) -> Iterator[tuple[str, _ListenerVerdict]]:
    """Yield name and verdict of each listener to which a route attaches."""
    statuses = _statuses(gateway)
    is_recent = is_within(change_time(gateway), CONTROLLER_SECONDS, reading.now)
    for listener in attachments.listeners(route, gateway):
        name = str(listener.get("name"))
        refusal = _listener(at_object, name, statuses.get(name, {}), is_recent=is_recent)
        if refusal is None:
            states = tuple(certificates.findings(gateway, listener, reading))
            yield name, _ListenerVerdict(certificates.is_broken(gateway, listener, reading), states)
        else:
            yield name, _ListenerVerdict(True, (refusal,))


def _listener(at_object: ObjectRef, name: str, status: Mapping[str, Any], *, is_recent: bool) -> Finding | None:
    """Return the state of a listener that does not work; None if it works.

    The controller of a Gateway that is new or has just been changed may not have seen a certificate yet.
    """
    for state, entry in _faults(status):
        if is_recent:
            return _off(at_object, entry, is_new=True)
        since = time(entry.get("lastTransitionTime"))
        reason = quote(entry.get("reason"))
        message = quote(entry.get("message"))
        return finding(state, at_object, since, listener=name, reason=reason, message=message)
    return None


def _faults(status: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the conditions that say that a listener does not work, each with the id of its state."""
    for kind, state in (
        ("ResolvedRefs", "listener-cert"),
        ("Accepted", "listener-off"),
        ("Programmed", "listener-off"),
    ):
        entry = conditions(status).get(kind, {})
        if entry.get("status") == "False" and entry.get("reason") != _OTHER_KINDS:
            yield state, entry


def _class_name(gateway: Manifest) -> str:
    return quote(at(gateway, "spec", "gatewayClassName"))
