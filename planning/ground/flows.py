"""Flows between pods and addresses, and the network policies that follow from them."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from models.stack import Stack
from planning.ground.parts import Part
from planning.ground.ports import HTTP_PORT, HTTPS_PORT

_DNS_NAMESPACE = "kube-system"
_API_SERVER = (HTTPS_PORT, 6443)
"""Ports of managed API servers and of kubeadm's, behind their Service. Most networks apply policies to those ports."""
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_ADDRESS = re.compile(r"(?:(https?)://)?(?:[^/@]*@)?(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?(?:/.*)?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of a namespace that have all of the labels; without labels, every pod of the namespace."""

    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Addresses:
    """Address ranges."""

    ranges: tuple[str, ...]
    """Ranges in CIDR notation; empty for any address, of a pod or not."""


End = Pods | Addresses


@dataclass(frozen=True, slots=True)
class Port:
    """A port that the target of a flow listens on."""

    number: int | None
    """Number of the port; None for any."""
    protocol: Literal["TCP", "UDP"] = "TCP"


ANY_TCP = (Port(None),)


@dataclass(frozen=True, slots=True)
class Edge:
    """A flow from the source, which opens the connections, to ports of the target."""

    source: End
    target: End
    ports: tuple[Port, ...]
    """Ports of the target; at least one, because a rule without ports allows all of them."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The network policy of some pods. All flows that it does not list are forbidden to them."""

    part: Part
    name: str
    pods: Pods
    ingress: tuple[Edge, ...]
    """Flows to the pods."""
    egress: tuple[Edge, ...]
    """Flows from the pods."""


def policy(part: Part, name: str, pods: Pods, edges: Iterable[Edge]) -> Policy:
    """Return the network policy of some pods, from the edges that begin or end at them; it ignores other edges."""
    unique = list[Edge]()
    for edge in edges:
        if edge not in unique:
            unique.append(edge)
    ingress, egress = (edge for edge in unique if edge.target == pods), (edge for edge in unique if edge.source == pods)
    return Policy(part, name, pods, tuple(ingress), tuple(egress))


def tcp(*numbers: int) -> tuple[Port, ...]:
    """Return TCP ports, sorted and without duplicates."""
    return tuple(Port(number) for number in sorted(set(numbers)))


def dns(pods: Pods) -> Edge:
    """Return the edge to the cluster's DNS."""
    return Edge(pods, Pods(_DNS_NAMESPACE), (Port(53, "UDP"), Port(53)))


def api_server(pods: Pods, stack: Stack) -> Edge:
    """Return the edge to the API server.

    If its addresses are unknown, the edge has no ranges at all, because some networks count the API server to no range.
    """
    spec = stack.network_policies
    if spec is None or not spec.api_server_cidrs:
        return Edge(pods, Addresses(()), tcp(*_API_SERVER))
    return Edge(pods, Addresses(spec.api_server_cidrs), ANY_TCP)


def fetch_edges(pods: Pods, urls: Iterable[str], stack: Stack) -> Iterator[Edge]:
    """Yield the edges to the servers of weights.

    A server outside the cluster may redirect to another address, so that HTTPS is open to all of them.
    """
    yield from url_edges(pods, urls, stack, further=(HTTPS_PORT,))


def url_edges(pods: Pods, urls: Iterable[str], stack: Stack, further: tuple[int, ...] = ()) -> Iterator[Edge]:
    """Yield the edges to the hosts of URLs; none for a URL without a host.

    `further` are ports that are open besides the URL's own on addresses outside the cluster.
    """
    for url in urls:
        match = _ADDRESS.fullmatch(url)
        if match is None:
            continue
        scheme, host, explicit = match.groups()
        port = int(explicit) if explicit else HTTPS_PORT if scheme == "https" else HTTP_PORT
        for end in _ends(host, pods.namespace, stack, public=port == HTTPS_PORT):
            yield Edge(pods, end, tcp(port, *(further if isinstance(end, Addresses) else ())))


def _ends(host: str, namespace: str, stack: Stack, *, public: bool) -> Iterator[End]:
    """Yield the possible ends of a flow to a host.

    A host name of two parts may be `<service>.<namespace>` as well as a public domain, and yields both. If `public`, on
    the port of HTTPS, it is a domain alone: a Service that listens there has to be written with its `.svc`.
    """
    literal = _literal(host)
    if literal is not None:
        yield Addresses((literal,))
        return
    match host.lower().removesuffix(".").removesuffix(f".{stack.cluster.domain}").split("."):
        case ["localhost"]:
            return
        case [_]:
            yield Pods(namespace)
            return
        case [*_, _, inside, "svc"] if _NAMESPACE.fullmatch(inside):
            yield Pods(inside)
            return
        case [_, inside] if not public and _NAMESPACE.fullmatch(inside):
            yield Pods(inside)
        case _:
            pass
    spec = stack.network_policies
    yield Addresses((spec.egress_cidrs if spec is not None else ()) or _EVERYWHERE)


def _literal(host: str) -> str | None:
    """Return the range that holds a host's address alone, or None if the host is a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
    return f"{address}/{address.max_prefixlen}"
