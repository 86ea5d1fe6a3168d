"""Addresses of a service: URLs, as its routes and their live Gateways say them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from judging.status.topology import ServiceView, name_of
from models.trees import at, mapping, sequence
from planning.ground.snapshot import Manifest

_PORTS = {"http": 80, "https": 443}
"""Ports that URLs leave out, by scheme."""
_SCHEMES = {"HTTP": "http", "HTTPS": "https"}
"""Schemes by the protocol of a listener. Listeners of other protocols take no HTTP requests."""


class _AttachedListener(NamedTuple):
    """A listener of a Gateway that a route attaches to."""

    gateway: Manifest
    scheme: str
    port: int
    hostname: str


def of_gateway(gateway: Manifest) -> list[str]:
    """Return the addresses at which a Gateway listens, sorted."""
    entries = map(mapping, sequence(at(gateway, "status", "addresses")))
    return sorted({str(entry["value"]) for entry in entries if entry.get("value")})


def urls(view: ServiceView, gateways: Sequence[Manifest]) -> list[str]:
    """Return the URLs of a service, sorted: those of every host, path and listener of its routes.

    A host with a wildcard is in no URL. A route without hosts has those of its listeners, or else their addresses.
    """
    return sorted({url for route in view.routes for url in _of_route(route, view.namespace, gateways)})


def _of_route(route: Manifest, namespace: str, gateways: Sequence[Manifest]) -> Iterator[str]:
    paths = _paths(route)
    for listener in _listeners(route, namespace, gateways):
        port = ""
        if listener.port != _PORTS[listener.scheme]:
            port = f":{listener.port}"
        for host, path in product(_hosts(route, listener), paths):
            yield f"{listener.scheme}://{host}{port}{path}"


def _listeners(route: Manifest, namespace: str, gateways: Sequence[Manifest]) -> Iterator[_AttachedListener]:
    live = {name_of(gateway): gateway for gateway in gateways}
    for parent in map(mapping, sequence(at(route, "spec", "parentRefs"))):
        gateway = live.get((str(parent.get("namespace") or namespace), str(parent.get("name", ""))))
        for entry in map(mapping, sequence(at(gateway, "spec", "listeners"))):
            scheme = _SCHEMES.get(str(entry.get("protocol")))
            port = entry.get("port")
            if gateway is not None and scheme is not None and isinstance(port, int) and _is_chosen(parent, entry):
                yield _AttachedListener(gateway, scheme, port, str(entry.get("hostname") or ""))


def _is_chosen(parent: Mapping[str, Any], listener: Mapping[str, Any]) -> bool:
    """Tell whether a route attaches to a listener."""
    by_name = parent.get("sectionName") in (None, listener.get("name"))
    by_port = parent.get("port") in (None, listener.get("port"))
    return by_name and by_port


def _hosts(route: Manifest, listener: _AttachedListener) -> list[str]:
    hostnames = [str(name) for name in sequence(at(route, "spec", "hostnames"))]
    if hostnames:
        return [name for name in hostnames if not name.startswith("*")]
    if listener.hostname and not listener.hostname.startswith("*"):
        return [listener.hostname]
    return [_url_host(address) for address in of_gateway(listener.gateway)]


def _url_host(address: str) -> str:
    """Return an address as it stands in a URL: an IPv6 address in brackets."""
    if ":" in address:
        return f"[{address}]"
    return address


def _paths(route: Manifest) -> list[str]:
    """Return the paths of all rules of a route; `/` if a rule matches every path. The trailing slash is left out."""
    paths = list[str]()
    for rule in map(mapping, sequence(at(route, "spec", "rules"))):
        for match in map(mapping, sequence(rule.get("matches"))) or ({},):
            path = at(match, "path", "value")
            paths.append(str(path) if isinstance(path, str) else "/")
    return sorted({path.rstrip("/") for path in paths})
