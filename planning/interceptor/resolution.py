"""Search for the Service of a resource id, as the interceptor searches in mode `label`.

The interceptor lists the Services of one namespace that have both labels of `labels.routing_contract`. It resolves an
id only if it finds exactly one Service. In all other cases, it answers 404 to requests that have this id
(phoebe 4f3fb26, internal/registry).
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from planning.ground import labels
from planning.interceptor.facts import facts

_NONE: Mapping[str, str] = {}


class Unresolved(Enum):
    """Reasons why the interceptor finds no address, as messages state them."""

    NOT_FOUND = "no Service has both labels"
    AMBIGUOUS = "several Services have both labels"
    NO_PORT = "the Service has neither a port called 8000 nor exactly one port"


def resolve(services: Iterable[Mapping[str, Any]], resource_id: str, namespace: str) -> str | Unresolved:
    """Return the URL that requests with a resource id are forwarded to, or the reason why there is no URL.

    `services` are Service objects of any namespace. Raises `ValueError` if `namespace` is empty.
    """
    if not namespace:
        raise ValueError("the interceptor searches one namespace")
    found = [service for service in services if _is_match(service, resource_id, namespace)]
    if len(found) != 1:
        return Unresolved.AMBIGUOUS if found else Unresolved.NOT_FOUND
    (service,) = found
    port = _port(service.get("spec", {}).get("ports") or ())
    if port is None:
        return Unresolved.NO_PORT
    # Like the interceptor, take only name and port from the found Service, and the domain from the facts.
    return f"http://{service['metadata']['name']}.{namespace}.svc.{facts().routing.domain}:{port}"


def _is_match(service: Mapping[str, Any], resource_id: str, namespace: str) -> bool:
    metadata = service["metadata"]
    contract = labels.routing_contract(resource_id).items()
    return metadata.get("namespace") == namespace and contract <= (metadata.get("labels") or _NONE).items()


def _port(ports: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the number of the port with the preferred name, else of the only port; None if there is no such port."""
    known = list(ports)
    preferred = [port for port in known if port.get("name") == facts().routing.port]
    chosen = preferred[:1] or (known if len(known) == 1 else [])
    return int(chosen[0]["port"]) if chosen else None
