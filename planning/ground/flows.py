"""Flows between pods and addresses, and what a policy of one kind of pods takes from them."""

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
"""Ports of API servers behind their Service, which most networks look at: managed ones, and kubeadm's."""
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_ADDRESS = re.compile(r"(?:(https?)://)?(?:[^/@]*@)?(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?(?:/.*)?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of a namespace that have all of the labels; without labels, every one."""

    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Addresses:
    """Ranges of addresses."""

    ranges: tuple[str, ...]
    """In CIDR notation; none: any address, of a pod or not."""


End = Pods | Addresses


@dataclass(frozen=True, slots=True)
class Port:
    """What is listened on."""

    number: int | None
    """Absent: any."""
    protocol: Literal["TCP", "UDP"] = "TCP"


ANY_TCP = (Port(None),)


@dataclass(frozen=True, slots=True)
class Edge:
    """A flow: who begins it, whom it reaches, and where."""

    source: End
    target: End
    ports: tuple[Port, ...]
    """At least one, because a rule without ports is about all of them."""


@dataclass(frozen=True, slots=True)
class Policy:
    """All that one kind of pods may do."""

    part: Part
    name: str
    pods: Pods
    ingress: tuple[Edge, ...]
    """That reach the pods; no other does."""
    egress: tuple[Edge, ...]
    """That the pods begin; they begin no other."""


def policy(part: Part, name: str, pods: Pods, edges: Iterable[Edge]) -> Policy:
    """Return what the edges say of one kind of pods."""
    every = list[Edge]()
    for edge in edges:
        if edge not in every:
            every.append(edge)
    reaching, begun = (edge for edge in every if edge.target == pods), (edge for edge in every if edge.source == pods)
    return Policy(part, name, pods, tuple(reaching), tuple(begun))


def tcp(*numbers: int) -> tuple[Port, ...]:
    """Return ports of TCP, in their order."""
    return tuple(Port(number) for number in sorted(set(numbers)))


def names(pods: Pods) -> Edge:
    """Return the edge to the DNS of the cluster."""
    return Edge(pods, Pods(_DNS_NAMESPACE), (Port(53, "UDP"), Port(53)))


def api_server(pods: Pods, stack: Stack) -> Edge:
    """Return the edge to the API server.

    Where its addresses are not known, no range stands for all: some networks take the API server for no address at all.
    """
    wish = stack.network_policies
    if wish is None or not wish.api_server_cidrs:
        return Edge(pods, Addresses(()), tcp(*_API_SERVER))
    return Edge(pods, Addresses(wish.api_server_cidrs), ANY_TCP)


def fetching(pods: Pods, urls: Iterable[str], stack: Stack) -> Iterator[Edge]:
    """Yield the edges to where weights come from; outside, who is asked may send on to another address, over HTTPS."""
    yield from asking(pods, urls, stack, further=(HTTPS_PORT,))


def asking(pods: Pods, urls: Iterable[str], stack: Stack, further: tuple[int, ...] = ()) -> Iterator[Edge]:
    """Yield the edges to whom URLs name; a URL that names nobody has none."""
    for url in urls:
        parts = _ADDRESS.fullmatch(url)
        if parts is None:
            continue
        scheme, host, written = parts.groups()
        port = int(written) if written else HTTPS_PORT if scheme == "https" else HTTP_PORT
        for end in _places(host, pods.namespace, stack, public=port == HTTPS_PORT):
            yield Edge(pods, end, tcp(port, *(further if isinstance(end, Addresses) else ())))


def _places(host: str, namespace: str, stack: Stack, *, public: bool) -> Iterator[End]:
    """Yield where a host may be: a name of two parts is a Service and its namespace as well as a domain.

    On the `public` port of HTTPS it is a domain: a Service there has to be written with its `.svc`.
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
    wish = stack.network_policies
    yield Addresses((wish.egress_cidrs if wish is not None else ()) or _EVERYWHERE)


def _literal(host: str) -> str | None:
    """Return the range of a host that is an address."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
    return f"{address}/{address.max_prefixlen}"
