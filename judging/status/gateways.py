"""The Gateways to which the routes of a service attach, and what their controllers say of a route."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.status import attachments, certificates
from judging.status.evidence import Evidence
from judging.status.history import change_time, creation_time, is_within
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, condition, conditions, finding, time
from judging.status.topology import ServiceView, Topology, name_of
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
    """The verdict on a Gateway for a service, or on one of its listeners."""

    is_broken: bool | None
    """Whether no request of the service's routes gets past it; None if that is unknown."""
    states: Sequence[Finding]


def verdicts(view: ServiceView, cluster: Topology, reading: Evidence) -> Mapping[tuple[str, str], GatewayVerdict]:
    """Return the verdict on each Gateway of a service's routes, by namespace and name."""
    attached = {parent.gateway: route for route in view.routes for parent in attachments.parents(route)}
    places = sorted(place for place in attached if place is not None)
    return {place: _verdict(place, attached[place], cluster, reading) for place in places}


def components(view: ServiceView, of_places: Mapping[tuple[str, str], GatewayVerdict]) -> Iterator[ServiceLink]:
    """Yield the Gateways of a service's routes. One is broken if every parent of the routes is a broken Gateway.

    `of_places` are the verdicts by namespace and name. A set of listeners is a parent of which nothing is known.
    """
    places = [parent.gateway for route in view.routes for parent in attachments.parents(route)]
    is_all = all(place is not None and of_places[place].is_broken for place in places)
    for place, verdict in of_places.items():
        is_broken = verdict.is_broken
        if is_broken and not is_all:
            is_broken = False
        yield ServiceLink(Link.GATEWAY, ObjectRef("Gateway", *place), tuple(verdict.states), is_broken)


def _verdict(place: tuple[str, str], route: Manifest, cluster: Topology, reading: Evidence) -> GatewayVerdict:
    gateway = cluster.gateways.get(place)
    if gateway is not None:
        return _of_gateway(gateway, route, reading)
    if GATEWAY in reading.unread:
        return GatewayVerdict(None, ())
    return GatewayVerdict(True, (finding("gateway-missing", ObjectRef("Gateway", *place)),))


def _of_gateway(gateway: Manifest, route: Manifest, reading: Evidence) -> GatewayVerdict:
    at_object = ObjectRef.of(gateway, "Gateway")
    refused = _refusal(gateway)
    states = list[Finding]()
    if refused is not None:
        is_new = is_within(creation_time(gateway), CONTROLLER_SECONDS, reading.now)
        states.append(_off(at_object, refused, is_new=is_new))
        if _concerns_others(refused, gateway, route):
            return GatewayVerdict(False, states)
        if not _keeps_addresses(refused, gateway):
            return GatewayVerdict(True, states)
    if _is_forgotten(gateway, reading):
        # While the controller is away, its proxies serve what it said last.
        state = finding("gateway-unseen", at_object, change_time(gateway), gateway_class=_class_name(gateway))
        return GatewayVerdict(not _is_answered(gateway, route), (*states, state))
    of_listeners = list(_listeners(gateway, route, at_object, reading))
    states += [state for verdict in of_listeners for state in verdict.states]
    broken = [verdict.is_broken for verdict in of_listeners]
    return GatewayVerdict(_stops_any(_groups(gateway, route, broken)), states)


def _groups(gateway: Manifest, route: Manifest, broken: Sequence[bool | None]) -> Sequence[Collection[bool | None]]:
    """Return which listeners of a route are broken, by the hosts that the route names, or of all if it names none.

    A host that no listener of the Gateway takes is left out.
    """
    listeners = attachments.listeners(route, gateway)
    groups = [
        [is_broken for listener, is_broken in zip(listeners, broken, strict=True) if attachments.takes(listener, host)]
        for host in attachments.hostnames(route)
    ]
    return [group for group in groups if group]


def _stops_any(groups: Sequence[Collection[bool | None]]) -> bool | None:
    """Tell whether all listeners of a group are broken; None if that is unknown."""
    failing = [group for group in groups if False not in group]
    if not failing:
        return False
    if any(None not in group for group in failing):
        return True
    return None


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


def _listeners(gateway: Manifest, route: Manifest, at_object: ObjectRef, reading: Evidence) -> Iterator[GatewayVerdict]:
    """Yield the verdict on each listener to which a route attaches."""
    statuses = {str(entry.get("name")): entry for entry in map(mapping, sequence(at(gateway, "status", "listeners")))}
    is_recent = is_within(change_time(gateway), CONTROLLER_SECONDS, reading.now)
    for listener in attachments.listeners(route, gateway):
        name = str(listener.get("name"))
        refusal = _listener(at_object, name, statuses.get(name, {}), is_recent=is_recent)
        if refusal is None:
            states = tuple(certificates.findings(gateway, listener, reading))
            yield GatewayVerdict(certificates.is_broken(gateway, listener, states, reading), states)
        else:
            yield GatewayVerdict(True, (refusal,))


def _listener(at_object: ObjectRef, name: str, status: Mapping[str, Any], *, is_recent: bool) -> Finding | None:
    """Return the state of a listener that does not work; None if it works.

    The controller of a Gateway that is new or has just been changed may not have seen a certificate yet.
    """
    for kind, state in (
        ("ResolvedRefs", "listener-cert"),
        ("Accepted", "listener-off"),
        ("Programmed", "listener-off"),
    ):
        entry = conditions(status).get(kind, {})
        if entry.get("status") == "False" and entry.get("reason") != _OTHER_KINDS:
            if is_recent:
                return _off(at_object, entry, is_new=True)
            since = time(entry.get("lastTransitionTime"))
            reason = quote(entry.get("reason"))
            message = quote(entry.get("message"))
            return finding(state, at_object, since, listener=name, reason=reason, message=message)
    return None


def _class_name(gateway: Manifest) -> str:
    return quote(at(gateway, "spec", "gatewayClassName"))
