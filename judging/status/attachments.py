"""The parents that a route refers to, and the listeners of a Gateway to which a route attaches.

The rules are those of Gateway API v1.4, apis/v1: Listener and AllowedRoutes in gateway_types.go, ParentReference in
shared_types.go, HTTPRouteSpec in httproute_types.go. A Gateway is often shared, so most listeners concern other routes.

A listener's status does not decide: its `attachedRoutes` counts routes without naming them, and its `supportedKinds`
repeats what protocol and `allowedRoutes.kinds` say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judging.status.records import conditions
from judging.status.topology import ServiceView, Topology, name_of
from models.trees import at, mapping, sequence
from planning.ground.api_groups import GATEWAY_GROUP
from planning.ground.inventory import EVERY, SAME, SELECTED, Requirement
from planning.ground.snapshot import Manifest
from planning.routes.claim_sets import covering_hosts
from planning.routes.records import EVERY_HOST

_ROUTE = "HTTPRoute"
_GATEWAY = "Gateway"
_KINDS = {
    (GATEWAY_GROUP, _GATEWAY),
    (GATEWAY_GROUP, "ListenerSet"),
    ("gateway.networking.x-k8s.io", "XListenerSet"),
}
"""Groups and kinds of parents: ListenerSet since Gateway API v1.5 (apis/v1/listenerset_types.go), XListenerSet in v1.4
(apisx/v1alpha1/xlistenerset_types.go)."""
_WITHOUT_HTTP = frozenset({"TLS", "TCP", "UDP"})
"""Protocols of the Gateway API whose listeners take no HTTPRoutes. Those of single implementations may take them."""
_NAME_LABEL = "kubernetes.io/metadata.name"
"""Label of every namespace with its name (kubernetes v1.36.3, pkg/apis/core/v1/defaults.go, SetDefaults_Namespace)."""


@dataclass(frozen=True, slots=True, order=True)
class RouteParent:
    """Reference of a route to a Gateway or to a set of listeners, or to some of its listeners."""

    kind: str
    """`Gateway`, `ListenerSet` or `XListenerSet`."""
    namespace: str
    name: str
    section: str
    """Name of the listener; empty for all listeners."""
    port: int
    """Port of the listeners; 0 for all ports."""

    def __str__(self) -> str:
        prefix = "" if self.kind == _GATEWAY else f"{self.kind} "
        return f"{prefix}{self.namespace}/{self.name}"

    @property
    def gateway(self) -> tuple[str, str] | None:
        """Return namespace and name of the Gateway; None for a set of listeners, whose Gateway is not read."""
        if self.kind == _GATEWAY:
            return self.namespace, self.name
        return None


def parents(route: Manifest) -> Sequence[RouteParent]:
    """Return the references of a route to Gateways and to sets of listeners, in the order of the route.

    Parents of other kinds are left out: a Service is a parent of routes for requests within a mesh.
    """
    return list(_parents(route, sequence(at(route, "spec", "parentRefs"))))


def gateways(view: ServiceView, cluster: Topology) -> tuple[Manifest, ...]:
    """Return the Gateways that exist of those that the routes of a service refer to, by namespace and name."""
    places = {parent.gateway for route in view.routes for parent in parents(route)} - {None}
    return tuple(gateway for place, gateway in sorted(cluster.gateways.items()) if place in places)


def answers(route: Manifest, parent: RouteParent) -> Sequence[Mapping[str, Any]]:
    """Return what controllers say of a route and a parent: entries of `status.parents`, one for each controller."""
    entries = map(mapping, sequence(at(route, "status", "parents")))
    return [entry for entry in entries if parent in _parents(route, [entry.get("parentRef")])]


def is_accepted(entry: Mapping[str, Any]) -> bool:
    """Tell whether a controller accepts a route, as an entry of `status.parents` says."""
    return conditions(entry).get("Accepted", {}).get("status") == "True"


def listeners(route: Manifest, gateway: Manifest) -> Sequence[Mapping[str, Any]]:
    """Return the listeners of a Gateway to which a route attaches, in the order of the Gateway.

    The labels of the route's namespace are not read. A listener that selects by them counts unless all controllers
    refuse the route.
    """
    refs = [parent for parent in parents(route) if parent.gateway == name_of(gateway)]
    return [
        listener
        for listener in all_listeners(gateway)
        if _takes_routes(listener)
        and hosts(route, listener)
        and any(_is_meant(ref, listener) and _admits(listener, gateway, route, ref) for ref in refs)
    ]


def hosts(route: Manifest, listener: Mapping[str, Any]) -> Sequence[str]:
    """Return the hosts for which a listener gives requests to a route, such as `*.example.org`; `*` is every host.

    There are none if route and listener have no host in common. Of two that meet, the narrower one counts.
    """
    return [host for name in hostnames(route) for host in _common(name, _host_pattern(listener))]


def hostnames(route: Manifest) -> Sequence[str]:
    """Return the hosts that a route names; `*` alone if it names none."""
    return [str(name).lower() for name in sequence(at(route, "spec", "hostnames"))] or [EVERY_HOST]


def takes(listener: Mapping[str, Any], host: str) -> bool:
    """Tell whether a listener takes requests for a host that a route names, or for some of its hosts."""
    return any(_common(host, _host_pattern(listener)))


def all_listeners(gateway: Manifest) -> Sequence[Mapping[str, Any]]:
    """Return the listeners of a Gateway, those of other routes included."""
    return [mapping(entry) for entry in sequence(at(gateway, "spec", "listeners"))]


def is_before(listener: Mapping[str, Any], other: Mapping[str, Any], host: str) -> bool:
    """Tell whether a listener takes all requests for a host at a port rather than another one, as the more specific.

    A listener for some hosts of a wildcard leaves the others.
    """
    if listener.get("port") != other.get("port"):
        return False
    patterns = [host, *covering_hosts(host)]
    first = _host_pattern(listener)
    second = _host_pattern(other)
    return first in patterns and second in patterns and patterns.index(first) < patterns.index(second)


def _host_pattern(listener: Mapping[str, Any]) -> str:
    return str(listener.get("hostname") or EVERY_HOST).lower()


def _common(first: str, second: str) -> Iterator[str]:
    """Yield the narrower of two hosts if one covers the other: `*.a.b` covers `x.a.b` and `x.y.a.b`, but not `a.b`."""
    if first == second or second in covering_hosts(first):
        yield first
    elif first in covering_hosts(second):
        yield second


def _is_meant(parent: RouteParent, listener: Mapping[str, Any]) -> bool:
    """Tell whether a reference includes a listener: both name and port must match if both are written."""
    return parent.section in ("", listener.get("name")) and parent.port in (0, listener.get("port"))


def _takes_routes(listener: Mapping[str, Any]) -> bool:
    """Tell whether a listener takes HTTPRoutes. If it lists no kinds, its protocol decides."""
    kinds = [mapping(entry) for entry in sequence(at(listener, "allowedRoutes", "kinds"))]
    names = [(kind.get("group", GATEWAY_GROUP), kind.get("kind")) for kind in kinds]
    return str(listener.get("protocol")) not in _WITHOUT_HTTP and (not names or (GATEWAY_GROUP, _ROUTE) in names)


def _admits(listener: Mapping[str, Any], gateway: Manifest, route: Manifest, parent: RouteParent) -> bool:
    """Tell whether a listener admits routes of the namespace of a route."""
    namespaces = mapping(at(listener, "allowedRoutes", "namespaces"))
    namespace, _ = name_of(route)
    match namespaces.get("from", SAME):
        case value if value == EVERY:
            return True
        case value if value == SAME:
            return namespace == name_of(gateway)[0]
        case value if value == SELECTED:
            requirements = _requirements(mapping(namespaces.get("selector")))
            is_named = all(entry.admits({_NAME_LABEL: namespace}) for entry in requirements if entry.key == _NAME_LABEL)
            return is_named and not _is_refused(route, parent)
        case _:
            return False


def _requirements(selector: Mapping[str, Any]) -> Iterator[Requirement]:
    for key, value in mapping(selector.get("matchLabels")).items():
        yield Requirement(key, "In", (str(value),))
    for expression in map(mapping, sequence(selector.get("matchExpressions"))):
        values = tuple(map(str, sequence(expression.get("values"))))
        yield Requirement(str(expression.get("key")), str(expression.get("operator")), values)


def _is_refused(route: Manifest, parent: RouteParent) -> bool:
    """Tell whether controllers have answered a route at a parent, and none of them accepts it."""
    entries = answers(route, parent)
    return bool(entries) and not any(map(is_accepted, entries))


def _parents(route: Manifest, refs: Iterable[object]) -> Iterator[RouteParent]:
    """Yield references of a route in one form. Those to parents of other kinds are left out."""
    for ref in map(mapping, refs):
        kind = str(ref.get("kind", _GATEWAY))
        port = ref.get("port")
        if not isinstance(port, int):
            port = 0
        if (str(ref.get("group", GATEWAY_GROUP)), kind) in _KINDS:
            namespace = str(ref.get("namespace") or name_of(route)[0])
            yield RouteParent(kind, namespace, str(ref.get("name")), str(ref.get("sectionName") or ""), port)
