"""Addresses of a service: URLs, as its routes and their live Gateways say them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judging.status import attachments
from judging.status.topology import ServiceView
from models.trees import at, mapping, sequence
from planning.ground.snapshot import Manifest
from planning.routes.records import EVERY_HOST

_PORTS = {"http": 80, "https": 443}
"""Ports that URLs leave out, by scheme."""
_EXPRESSION = "RegularExpression"
"""Type of the match of a path by a regular expression (Gateway API v1.4, HTTPPathMatch)."""
_SCHEMES = {"HTTP": "http", "HTTPS": "https"}
"""Schemes by the protocol of a listener. Listeners of other protocols take no HTTP requests."""


def of_gateway(gateway: Manifest) -> list[str]:
    """Return the addresses at which a Gateway listens, sorted."""
    entries = map(mapping, sequence(at(gateway, "status", "addresses")))
    return sorted({str(entry["value"]) for entry in entries if entry.get("value")})


def urls(view: ServiceView, gateways: Sequence[Manifest]) -> list[str]:
    """Return the URLs of a service, sorted: those of every host, path and listener of its routes.

    A host with a wildcard is in no URL. If neither route nor listener names a host, the URL has the Gateway's address.
    """
    return sorted({url for route in view.routes for url in _of_route(route, gateways)})


def _of_route(route: Manifest, gateways: Sequence[Manifest]) -> Iterator[str]:
    paths = _paths(route)
    for gateway in gateways:
        for listener in attachments.listeners(route, gateway):
            hosts = _hosts(route, listener, gateway)
            yield from (f"{origin}{path}" for origin in _origins(listener, hosts) for path in paths)


def _origins(listener: Mapping[str, Any], hosts: Iterable[str]) -> Iterator[str]:
    """Yield scheme, host and port of a listener's URLs; none if its protocol is not HTTP."""
    scheme = _SCHEMES.get(str(listener.get("protocol")))
    port = listener.get("port")
    if scheme is None or not isinstance(port, int):
        return
    port_text = f":{port}"
    if port == _PORTS[scheme]:
        port_text = ""
    for host in hosts:
        yield f"{scheme}://{host}{port_text}"


def _hosts(route: Manifest, listener: Mapping[str, Any], gateway: Manifest) -> Iterator[str]:
    """Yield the hosts of a listener's URLs, which are the addresses of its Gateway if it takes every host."""
    for host in attachments.hosts(route, listener):
        if host == EVERY_HOST:
            yield from map(_url_host, of_gateway(gateway))
        elif not host.startswith("*"):
            yield host


def _url_host(address: str) -> str:
    """Return an address as it stands in a URL: an IPv6 address in brackets."""
    if ":" in address:
        return f"[{address}]"
    return address


def _paths(route: Manifest) -> list[str]:
    """Return the paths of all rules of a route; `/` if a rule matches every path. The trailing slash is left out.

    A regular expression is no path of a URL.
    """
    paths = list[str]()
    for rule in map(mapping, sequence(at(route, "spec", "rules"))):
        for match in map(mapping, sequence(rule.get("matches")) or ({},)):
            path = at(match, "path", "value")
            if at(match, "path", "type") != _EXPRESSION:
                paths.append(str(path) if isinstance(path, str) else "/")
    return sorted({path.rstrip("/") for path in paths})
