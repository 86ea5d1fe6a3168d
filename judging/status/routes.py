"""The routes of a service and their Gateways."""

from collections.abc import Iterator

from judging.status.evidence import Evidence
from judging.status.records import Component, Link, ObjectRef, finding
from judging.status.topology import ServiceView, Topology, VariantView, backends
from models.trees import at, mapping, sequence


def components(view: ServiceView, cluster: Topology, reading: Evidence) -> Iterator[Component]:
    """Yield the Gateways and routes of a service."""
    for route in view.routes:
        at_object = ObjectRef.of(route, "HTTPRoute")
        parents = sequence(at(route, "status", "parents"))
        states = () if parents else (finding("route-unseen", at_object),)
        yield Component(Link.ROUTE, at_object, states, not parents)


def gets_requests(view: ServiceView, variant: VariantView) -> bool:
    """Tell whether a route sends requests to a variant that do not ask for it by a header."""
    pools = {at(pool, "metadata", "name") for pool in variant.pools}
    refs = [mapping(ref) for route in view.routes for ref in backends(route)]
    return any(ref.get("name") in {*pools, variant.base} and ref.get("weight", 1) != 0 for ref in refs)
