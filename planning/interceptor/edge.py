"""The edge of metered requests: the Service that routes lead to, and the headers that routes set and remove."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.service import Service
from models.stack import Stack
from planning.ground.names import address
from planning.ground.ports import ROUTED_PORT
from planning.interceptor.facts import facts
from planning.variant.context import VariantContext, gateway


@dataclass(frozen=True, slots=True)
class MeteringEdge:
    """Target of an HTTPRoute's rule for metered requests, and the headers that the rule sets."""

    name: str
    """Name of the interceptor's Service."""
    namespace: str
    port: int
    set_headers: Mapping[str, str]
    """Headers that the rule sets, with their values. They replace headers of the same name in clients' requests."""


def edge(variant: VariantContext) -> MeteringEdge | None:
    """Return the edge of the requests for a variant; None if its service is not metered."""
    spec = variant.stack.interceptor
    resource_id = variant.metered_as
    if spec is None or resource_id is None:
        return None
    headers = facts().headers
    set_headers = {headers.resource_id: resource_id}
    if spec.mode == "header":
        set_headers[headers.upstream] = upstream_of(variant)
    return MeteringEdge(
        name=spec.service_name,
        namespace=spec.namespace,
        port=spec.port,
        set_headers=set_headers,
    )


def removed_headers(mode: str) -> tuple[str, ...]:
    """Return the headers that a route removes from clients' requests. Headers that the route sets are not included.

    `mode` is the value of `interceptor.mode`.
    """
    headers = facts().headers
    if mode == "header":
        return tuple(headers.forged)
    return (*headers.forged, headers.upstream)


def upstream_of(variant: VariantContext) -> str:
    """Return the address of a variant's Service, without a scheme, as the interceptor reads it from a header."""
    host = f"{address(variant.names.base, variant.namespace)}.{variant.stack.cluster.domain}"
    return f"{host}:{ROUTED_PORT}"


def is_metered(service: Service, stack: Stack) -> bool:
    """Tell whether metering is enabled for a service, whoever leads its requests to the interceptor."""
    return stack.interceptor is not None and service.interceptor.enabled


def is_led(service: Service, stack: Stack) -> bool:
    """Tell whether a route of this stack leads the requests of a service to the interceptor."""
    return is_metered(service, stack) and gateway(service, stack) is not None and service.route.enabled
