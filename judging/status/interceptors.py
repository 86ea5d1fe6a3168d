"""The interceptors that meter requests on their way to a service."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from judging.status import pods, shares
from judging.status.evidence import Evidence
from judging.status.history import change_time, creation_time, is_within, writer
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, finding
from judging.status.topology import ServiceView, Topology, is_selected, name_of
from planning.ground import labels
from planning.ground.snapshot import DEPLOYMENT, POD, SERVICE, Manifest
from planning.interceptor import resolution
from planning.interceptor.resolution import Unresolved

_LABEL_SECONDS = 60
"""Time after a change of a route in which a run may still label the Service. A run makes hundreds of objects in it."""
_Place = tuple[str, str]


def components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the interceptors that a service's routes lead to. Pods of one that no stack deployed are not judged."""
    search_states = tuple(_search_states(view, cluster, reading))
    is_unread = SERVICE in reading.unread and bool(shares.searched_ids(view))
    for place in shares.led_through(view):
        if is_unread or not reading.unread.keys().isdisjoint({DEPLOYMENT, POD}):
            yield ServiceLink(Link.INTERCEPTOR, ObjectRef("Deployment", *place), is_broken=None)
        elif place in cluster.interceptors:
            yield _interceptor(place, search_states, cluster, reading)
        else:
            yield _foreign(place, search_states, view, reading)


def _interceptor(
    place: _Place, search_states: tuple[Finding, ...], cluster: Topology, reading: Evidence
) -> ServiceLink:
    """Return the interceptor at a place, which a stack deployed."""
    interceptor = cluster.interceptors[place]
    at_object = ObjectRef("Deployment", *place)
    ready = sum(map(pods.is_ready, interceptor.pods))
    states = pods.findings(interceptor.pods, "", reading)
    if not ready:
        states = (*states, finding("interceptor-down", at_object))
    return ServiceLink(
        Link.INTERCEPTOR, at_object, (*states, *search_states), ready == 0 or bool(search_states), ready=ready
    )


def _foreign(place: _Place, search_states: tuple[Finding, ...], view: ServiceView, reading: Evidence) -> ServiceLink:
    """Return the Service at a place behind which no interceptor of a stack was read.

    It is taken to answer if its namespace was read and the plan, if there is one, leads requests to it.
    """
    is_broken: bool | None = bool(search_states)
    note = "is not deployed by a stack"
    planned = reading.routes.get(view.place)
    if not reading.has_read(place[0]):
        note = "is in a namespace that was not read"
        is_broken = is_broken or None
    elif planned is not None and place[1] not in planned.percents:
        note = "is not in the plan"
        is_broken = is_broken or None
    return ServiceLink(Link.INTERCEPTOR, ObjectRef("Service", *place), search_states, is_broken, note=note)


def _search_states(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[Finding]:
    """Yield why an interceptor does not forward metered requests to the service: one state for each resource id.

    The interceptor searches the namespace of the service. It takes an address only from a single Service.
    """
    names = set(shares.bases(view).values())
    in_namespace = [service for service in cluster.labelled if name_of(service)[0] == view.namespace]
    for resource_id in shares.searched_ids(view):
        contract = labels.routing_contract(resource_id)
        services = [service for service in in_namespace if is_selected(contract, service)]
        if not services:
            yield _not_found(view, resource_id, reading)
        elif len(services) > 1:
            yield _ambiguous(view, resource_id, services)
        elif name_of(services[0])[1] not in names:
            yield _other(view, resource_id, services[0])
        elif resolution.resolve(services, resource_id, view.namespace) is Unresolved.NO_PORT:
            at_object = ObjectRef.of(services[0], "Service")
            yield finding("meter-portless", at_object, change_time(services[0]), resource_id=quote(resource_id))


def _not_found(view: ServiceView, resource_id: str, reading: Evidence) -> Finding:
    """Return the state of a service whose resource id no Service has. A run may be about to make or label it."""
    state = "meter-none"
    if any(is_within(change_time(route), _LABEL_SECONDS, reading.now) for route in view.routes):
        state = "meter-awaited"
    return finding(state, ObjectRef("Service", view.namespace, view.name), resource_id=quote(resource_id))


def _other(view: ServiceView, resource_id: str, service: Manifest) -> Finding:
    """Return the state of the only Service that an interceptor finds, if it is not that of the service."""
    at_object = ObjectRef.of(service, "Service")
    since = _labelled_since(service)
    return finding("meter-other", at_object, since, resource_id=quote(resource_id), service=quote(view.name))


def _ambiguous(view: ServiceView, resource_id: str, services: Sequence[Manifest]) -> Finding:
    """Return the state of the Services that an interceptor finds beside that of the service."""
    others = [service for service in services if name_of(service)[1] != view.name]
    return finding(
        "meter-double",
        ObjectRef.of(others[0], "Service"),
        _labelled_since(others[0]),
        count=len(others),
        number=len(services),
        resource_id=quote(resource_id),
        names=", ".join(quote(name_of(service)[1]) for service in services),
    )


def _labelled_since(service: Manifest) -> datetime | None:
    """Return the time at which a Service got the label with its resource id."""
    labelling = writer(service, "metadata", "labels", labels.RESOURCE_ID)
    if labelling is None or labelling.at is None:
        return creation_time(service)
    return labelling.at
