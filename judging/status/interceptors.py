"""The interceptors that meter requests on their way to a service."""

from collections.abc import Iterator
from datetime import datetime

from judging.status import pods, shares
from judging.status.evidence import Evidence
from judging.status.history import creation_time, writer
from judging.status.quotes import quote
from judging.status.records import Finding, Link, ObjectRef, ServiceLink, finding
from judging.status.topology import ServiceView, Topology, is_selected, name_of
from planning.ground import labels
from planning.ground.snapshot import DEPLOYMENT, POD, SERVICE, Manifest

_Place = tuple[str, str]


def components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the interceptors that a service's routes lead to. Pods of one that no stack deployed are not judged."""
    ambiguous = tuple(_ambiguous(view, cluster))
    is_unread = SERVICE in reading.unread and bool(shares.searched_ids(view))
    for place in shares.led_through(view):
        if is_unread or not reading.unread.keys().isdisjoint({DEPLOYMENT, POD}):
            yield ServiceLink(Link.INTERCEPTOR, ObjectRef("Deployment", *place), is_broken=None)
        else:
            yield _component(place, ambiguous, cluster, reading)


def _component(place: _Place, ambiguous: tuple[Finding, ...], cluster: Topology, reading: Evidence) -> ServiceLink:
    interceptor = cluster.interceptors.get(place)
    if interceptor is None:
        service = ObjectRef("Service", *place)
        return ServiceLink(Link.INTERCEPTOR, service, ambiguous, bool(ambiguous), note="is not deployed by a stack")
    at_object = ObjectRef("Deployment", *place)
    ready = sum(map(pods.is_ready, interceptor.pods))
    states = pods.findings(interceptor.pods, "", reading)
    if not ready:
        states = (*states, finding("interceptor-down", at_object))
    return ServiceLink(Link.INTERCEPTOR, at_object, (*states, *ambiguous), ready == 0 or bool(ambiguous), ready=ready)


def _ambiguous(view: ServiceView, cluster: Topology) -> Iterator[Finding]:
    """Yield the state of a Service that an interceptor finds beside that of the service.

    The interceptor searches the namespace of the service. It takes an address only from a single Service.
    """
    for resource_id in shares.searched_ids(view):
        contract = labels.routing_contract(resource_id)
        in_namespace = (service for service in cluster.labelled if name_of(service)[0] == view.namespace)
        services = [service for service in in_namespace if is_selected(contract, service)]
        others = [service for service in services if name_of(service)[1] != view.name]
        if len(services) > 1:
            names = ", ".join(quote(name_of(service)[1]) for service in services)
            yield finding(
                "meter-double",
                ObjectRef.of(others[0], "Service"),
                _labelled_since(others[0]),
                count=len(others),
                number=len(services),
                resource_id=quote(resource_id),
                names=names,
            )


def _labelled_since(service: Manifest) -> datetime | None:
    """Return the time at which a Service got the label with its resource id."""
    labelling = writer(service, "metadata", "labels", labels.RESOURCE_ID)
    if labelling is None or labelling.at is None:
        return creation_time(service)
    return labelling.at
