"""Search for the Service of a resource id, as the interceptor searches in mode `label`.

The interceptor lists the Services of one namespace that have both labels of `labels.routing_contract`. It resolves an
id only if it finds exactly one Service. In all other cases, it answers 404 to requests that have this id
(phoebe 4f3fb26, internal/registry).
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from models.trees import EMPTY, at, mapping, sequence
from planning.ground import labels
from planning.interceptor.facts import facts


class Unresolved(Enum):
    """Reasons why the interceptor finds no address, as messages state them."""

    NOT_FOUND = "no Service has both labels"
    AMBIGUOUS = "several Services have both labels"
    NO_PORT = "the Service has neither a port called 8000 nor exactly one port"


def searched_ids(route: Mapping[str, Any]) -> frozenset[str]:
    """Return the resource ids that an HTTPRoute sets in requests whose Service the interceptor searches by labels.

    It does not search for a request in which the route names the address, as in mode `header`.
    """
    headers = facts().headers
    set_by_rule = [dict(_set_headers(mapping(rule))) for rule in sequence(at(route, "spec", "rules"))]
    searched = (values for values in set_by_rule if headers.upstream.lower() not in values)
    ids = (values.get(headers.resource_id.lower()) for values in searched)
    return frozenset(resource_id for resource_id in ids if resource_id is not None)


def resolve(services: Iterable[Mapping[str, Any]], resource_id: str, namespace: str) -> str | Unresolved:
    """Return the URL that requests with a resource id are forwarded to, or the reason why there is no URL.

    `services` are Service objects of any namespace. Raises `ValueError` if `namespace` is empty.
    """
    if not namespace:
        raise ValueError("the interceptor searches one namespace")
    matches = [service for service in services if _is_match(service, resource_id, namespace)]
    if not matches:
        return Unresolved.NOT_FOUND
    if len(matches) > 1:
        return Unresolved.AMBIGUOUS
    (service,) = matches
    port = _port(service.get("spec", {}).get("ports") or ())
    if port is None:
        return Unresolved.NO_PORT
    # Like the interceptor, take only name and port from the found Service, and the domain from the facts.
    return f"http://{service['metadata']['name']}.{namespace}.svc.{facts().routing.domain}:{port}"


def _is_match(service: Mapping[str, Any], resource_id: str, namespace: str) -> bool:
    metadata = service["metadata"]
    contract = labels.routing_contract(resource_id).items()
    return metadata.get("namespace") == namespace and contract <= (metadata.get("labels") or EMPTY).items()


def _set_headers(rule: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names in lower case and values of the headers that a rule of an HTTPRoute sets."""
    for entry in map(mapping, sequence(rule.get("filters"))):
        for header in map(mapping, sequence(at(entry, "requestHeaderModifier", "set"))):
            yield str(header.get("name")).lower(), str(header.get("value"))


def _port(ports: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the number of the port with the preferred name, else of the only port; None if there is no such port."""
    candidates = list(ports)
    for port in candidates:
        if port.get("name") == facts().routing.port:
            return int(port["port"])
    if len(candidates) == 1:
        return int(candidates[0]["port"])
    return None
