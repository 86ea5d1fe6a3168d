"""Flows between pods and addresses, and the network policies that follow from these flows."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from models.network import NetworkPolicies
from models.stack import Stack
from planning.ground.parts import Part
from planning.ground.ports import HTTP_PORT, HTTPS_PORT

_DNS_PORT = 53
_API_SERVER = (HTTPS_PORT, 6443)
"""Ports that API servers listen on: 443 in managed clusters, 6443 with kubeadm.

A policy has to allow these ports instead of the port of the Service `kubernetes`, because most network plugins apply
policies after they have replaced the address and port of the Service by those of an API server.
"""
_ADDRESS = re.compile(r"(?:(https?)://)?(?:[^/@]*@)?(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?(?:/.*)?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of a namespace that have all of the labels. If `labels` is empty, all pods of the namespace."""

    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Addresses:
    """Address ranges."""

    ranges: tuple[str, ...]
    """Ranges in CIDR notation. Empty for any address, including the addresses of pods."""
    excluded: tuple[str, ...] = ()
    """Smaller ranges, which do not belong to `ranges` although they are inside of them."""


End = Pods | Addresses


@dataclass(frozen=True, slots=True)
class Port:
    """A port that the target of a flow listens on."""

    number: int | None
    """Number of the port; None for any port."""
    protocol: Literal["TCP", "UDP"] = "TCP"


_OUTSIDE = Addresses(("0.0.0.0/0", "::/0"), excluded=("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32"))
"""Addresses outside of the cluster, without those that a node itself answers.

Link-local addresses (RFC 3927, RFC 4291) never leave a network. Clouds give the credentials of nodes and of pods away
there: 169.254.169.254 everywhere, 169.254.170.23 and fd00:ec2::23 of EKS Pod Identity (Amazon EKS User Guide, Set up
the Amazon EKS Pod Identity Agent), fd00:ec2::254 (Amazon EC2 User Guide, Use IMDS). A host of the configuration that is
a name may resolve to any of them.
"""
ANY_TCP = (Port(None),)


@dataclass(frozen=True, slots=True)
class Edge:
    """A flow: the source opens connections to ports of the target."""

    source: End
    target: End
    ports: tuple[Port, ...]
    """Ports of the target; at least one, because a rule without ports allows all ports."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The network policy of `pods`. It forbids all flows of these pods, except those in `ingress` and `egress`."""

    part: Part
    set_name: str
    """Name of the set of serving pods; empty if the pods are no set."""
    name: str
    pods: Pods
    ingress: tuple[Edge, ...]
    """Flows to the pods."""
    egress: tuple[Edge, ...]
    """Flows from the pods."""


def policy(part: Part, name: str, pods: Pods, edges: Iterable[Edge], set_name: str = "") -> Policy:
    """Return the network policy of `pods`. Edges that neither begin nor end at these pods are ignored."""
    unique = list[Edge]()
    for edge in edges:
        if edge not in unique:
            unique.append(edge)
    ingress = (edge for edge in unique if edge.target == pods)
    egress = (edge for edge in unique if edge.source == pods)
    return Policy(part, set_name, name, pods, tuple(ingress), tuple(egress))


def tcp(*numbers: int) -> tuple[Port, ...]:
    """Return TCP ports, sorted and without duplicates."""
    return tuple(Port(number) for number in sorted(set(numbers)))


def dns(pods: Pods, spec: NetworkPolicies) -> Iterator[Edge]:
    """Yield the edges to the cluster's DNS: to the DNS server's pods, and to the DNS servers that are not pods."""
    yield Edge(pods, Pods(spec.dns_namespace), (Port(spec.dns_port, "UDP"), Port(spec.dns_port)))
    if spec.dns_cidrs:
        yield Edge(pods, Addresses(spec.dns_cidrs), (Port(_DNS_PORT, "UDP"), Port(_DNS_PORT)))


def api_server(pods: Pods, stack: Stack) -> Edge:
    """Return the edge to the API server.

    If the stack does not state the API server's addresses, the edge allows any address (an empty `Addresses`). The
    range 0.0.0.0/0 would not be enough, because some network plugins never match the API server by a range.
    """
    spec = stack.network_policies
    if spec is None or not spec.api_server_cidrs:
        return Edge(pods, Addresses(()), tcp(*_API_SERVER))
    return Edge(pods, Addresses(spec.api_server_cidrs), ANY_TCP)


def fetch_edges(pods: Pods, urls: Iterable[str], stack: Stack) -> Iterator[Edge]:
    """Yield the edges from pods to the servers from which these pods fetch weights.

    A server outside the cluster may redirect to another host. The edges to addresses outside the cluster therefore
    allow port 443 in addition to the port of the URL.
    """
    yield from url_edges(pods, urls, stack, further=(HTTPS_PORT,))


def url_edges(pods: Pods, urls: Iterable[str], stack: Stack, further: tuple[int, ...] = ()) -> Iterator[Edge]:
    """Yield the edges to the hosts of URLs; none for a URL without a host.

    If an edge leads to addresses outside the cluster, it allows the ports in `further` in addition to the URL's port.
    """
    for url in urls:
        match = _ADDRESS.fullmatch(url)
        if match is None:
            continue
        number = _port(match)
        for end in _ends(match[2], pods.namespace, stack, is_https=number == HTTPS_PORT):
            yield Edge(pods, end, tcp(number, *(further if isinstance(end, Addresses) else ())))


def port(url: str) -> int | None:
    """Return the port that a URL leads to; None for a text without a host."""
    match = _ADDRESS.fullmatch(url)
    if match is None:
        return None
    return _port(match)


def _port(match: re.Match[str]) -> int:
    scheme, _, explicit = match.groups()
    if explicit:
        return int(explicit)
    if scheme == "https":
        return HTTPS_PORT
    return HTTP_PORT


def _ends(host: str, namespace: str, stack: Stack, *, is_https: bool) -> Iterator[End]:
    """Yield the possible ends of a flow to a host.

    A name with one dot may be `<service>.<namespace>` or a public domain, so both ends are yielded. On port 443, such a
    name counts only as a public domain. The name of a Service on port 443 must therefore be written with `.svc`.
    """
    address_range = _address_range(host)
    if address_range is not None:
        yield Addresses((address_range,))
        return
    match host.lower().removesuffix(".").removesuffix(f".{stack.cluster.domain}").split("."):
        case ["localhost"]:
            return
        case [_]:
            yield Pods(namespace)
            return
        case [*_, _, service_namespace, "svc"] if _NAMESPACE.fullmatch(service_namespace):
            yield Pods(service_namespace)
            return
        case [_, service_namespace] if not is_https and _NAMESPACE.fullmatch(service_namespace):
            yield Pods(service_namespace)
        case _:
            pass
    spec = stack.network_policies
    yield Addresses(spec.egress_cidrs) if spec is not None and spec.egress_cidrs else _OUTSIDE


def _address_range(host: str) -> str | None:
    """Return the range that contains only the address `host`; None if `host` is a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
    return f"{address}/{address.max_prefixlen}"
