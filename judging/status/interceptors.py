"""The interceptors that meter requests on their way to a service."""

from collections.abc import Iterator

from judging.status import pods, shares
from judging.status.evidence import Evidence
from judging.status.records import Link, ObjectRef, ServiceLink, finding
from judging.status.topology import ServiceView, Topology
from planning.ground.snapshot import DEPLOYMENT, POD


def components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[ServiceLink]:
    """Yield the interceptors that a service's routes lead to. One that no stack deployed is not judged."""
    for place in shares.led_through(view):
        yield _component(place, cluster, reading)


def _component(place: tuple[str, str], cluster: Topology, reading: Evidence) -> ServiceLink:
    interceptor = cluster.interceptors.get(place)
    at_object = ObjectRef("Deployment", *place)
    if not reading.unread.keys().isdisjoint({DEPLOYMENT, POD}):
        return ServiceLink(Link.INTERCEPTOR, at_object, is_broken=None)
    if interceptor is None:
        return ServiceLink(Link.INTERCEPTOR, ObjectRef("Service", *place), note="is not deployed by a stack")
    ready = sum(map(pods.is_ready, interceptor.pods))
    states = pods.findings(interceptor.pods, "", reading)
    if not ready:
        states = (*states, finding("interceptor-down", at_object))
    return ServiceLink(Link.INTERCEPTOR, at_object, states, ready == 0, ready=ready)
