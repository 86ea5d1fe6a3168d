"""Kubernetes objects with which Istio and a proxy serve routes: Gateways, their listeners, and patches of the proxy.

Listeners and ports are derived from the routes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

CLASS = "istio"
CONTROLLER = "istio.io/gateway-controller"
LABEL = "gateway.networking.k8s.io/gateway-name"
"""Label by which Istio finds the pods of a Gateway."""
NODE = "gateway-proxies"
"""Node of the pods that stand for proxies."""
NODE_ADDRESSES = "10.254.0.0/24"
"""Range of these pods' addresses. EndpointSlices list the pods, and must not contain loopback addresses."""
POOL_PORT = 54321
"""First port of the Service that Istio adds for each pool. All endpoints of the pool are behind this port."""
ADDRESSES = "addresses"
"""Name of an Envoy cluster whose only endpoint is `addresses.Server`. Proxies read the addresses of pods from it."""
Manifest = dict[str, Any]


@dataclass(frozen=True, order=True)
class GatewayListener:
    """A listener of a Gateway: an entry to which routes attach."""

    namespace: str
    gateway: str
    port: int
    name: str


def listeners(manifests: Iterable[Mapping[str, Any]]) -> list[GatewayListener]:
    """Return the listeners that Gateways need so that every route in `manifests` can attach."""
    parents = {
        (parent.get("namespace", manifest["metadata"]["namespace"]), parent["name"], _ListenerSection.of(parent))
        for manifest in manifests
        if manifest["kind"] == "HTTPRoute"
        for parent in manifest["spec"].get("parentRefs", ())
    }
    gateways = sorted({(namespace, name) for namespace, name, _ in parents})
    return [
        GatewayListener(*gateway, port, name)
        for gateway in gateways
        for port, name in _resolve({section for *place, section in parents if tuple(place) == gateway})
    ]


@dataclass(frozen=True, order=True)
class _ListenerSection:
    """Name and port of the listener to which a route attaches. An absent name is empty, an absent port is 0."""

    name: str
    port: int

    @staticmethod
    def of(parent: Mapping[str, Any]) -> _ListenerSection:
        """Return the name and port in a route's reference to its Gateway."""
        return _ListenerSection(parent.get("sectionName", ""), parent.get("port", 0))


def _resolve(sections: Collection[_ListenerSection]) -> list[tuple[int, str]]:
    """Return ports and names of the smallest set of listeners to which all routes can attach."""
    named = {section.name: section.port for section in sorted(sections) if section.name}
    taken = {section.port for section in sections if section.port}
    for name, port in named.items():
        free = next(number for number in (80, *range(8080, 9000)) if number not in taken)
        named[name] = port or free
        taken.add(named[name])
    unnamed = {section.port for section in sections if section.port and not section.name} - {*named.values()}
    if not named and not unnamed:
        unnamed = {80}
    return sorted([(port, name) for name, port in named.items()] + [(port, f"http-{port}") for port in unnamed])


def service_ports(manifests: Iterable[Mapping[str, Any]]) -> set[int]:
    """Return the ports of all Services in `manifests`, and the port of the Services that Istio adds."""
    specs = (manifest["spec"] for manifest in manifests if manifest["kind"] == "Service")
    return {POOL_PORT, *(port["port"] for spec in specs for port in spec.get("ports", ()))}


def gateway_class() -> Manifest:
    """Return the GatewayClass of Istio."""
    return _object("gateway.networking.k8s.io/v1", "GatewayClass", CLASS, spec={"controllerName": CONTROLLER})


def gateways(listeners: Sequence[GatewayListener]) -> list[Manifest]:
    """Return the Gateways that have the given listeners. The Gateways accept routes of every namespace and host."""
    grouped = dict[tuple[str, str], list[Manifest]]()
    for listener in listeners:
        allowed = {"namespaces": {"from": "All"}}
        spec = {"name": listener.name, "port": listener.port, "protocol": "HTTP", "allowedRoutes": allowed}
        grouped.setdefault((listener.namespace, listener.gateway), []).append(spec)
    return [
        _object(
            "gateway.networking.k8s.io/v1",
            "Gateway",
            name,
            namespace,
            spec={"gatewayClassName": CLASS, "listeners": parts},
        )
        for (namespace, name), parts in grouped.items()
    ]


def proxies(
    gateway: str, namespace: str, ports: Mapping[int, int], of_services: Collection[int], refresh: float
) -> list[Manifest]:
    """Return the Service and pod that stand for a Gateway's proxy, and the filters that adapt the proxy to loopback.

    `ports` maps ports of the Gateway to ports of the proxy's process. Each Envoy cluster for a port in `of_services`
    reads the addresses of its endpoints from the Envoy cluster `ADDRESSES`, every `refresh` seconds.
    """
    labels = {LABEL: gateway}
    targets = [{"name": f"http-{port}", "port": port, "targetPort": target} for port, target in ports.items()]
    container = {"name": "proxy", "image": "played/proxy"}
    pod = {"nodeName": NODE, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    return [
        _object("v1", "Service", f"{gateway}-istio", namespace, spec={"selector": labels, "ports": targets}),
        _object("v1", "Pod", f"{gateway}-istio", namespace, labels=labels, spec=pod),
        envoy_filter("loopback", namespace, [_on_loopback()]),
        envoy_filter("addresses", namespace, [_address_patch(port, refresh) for port in sorted(of_services)]),
    ]


def proxies_node() -> Manifest:
    """Return the node of the proxies' pods. Its taint keeps other pods away."""
    taint = {"key": NODE, "effect": "NoSchedule"}
    return _object("v1", "Node", NODE, spec={"podCIDR": NODE_ADDRESSES, "taints": [taint]})


def node(name: str, addresses: str) -> Manifest:
    """Return a node whose pods get addresses from the range `addresses`."""
    return _object("v1", "Node", name, spec={"podCIDR": addresses})


def namespace_object(name: str) -> Manifest:
    """Return a Namespace."""
    return _object("v1", "Namespace", name)


def envoy_filter(name: str, namespace: str, patches: Sequence[Mapping[str, Any]]) -> Manifest:
    """Return an EnvoyFilter that patches the configuration of all proxies in a namespace."""
    return _object("networking.istio.io/v1alpha3", "EnvoyFilter", name, namespace, spec={"configPatches": [*patches]})


def _on_loopback() -> Manifest:
    value = {"address": {"socket_address": {"address": "127.0.0.1"}}}
    return {"applyTo": "LISTENER", "match": {"context": "GATEWAY"}, "patch": {"operation": "MERGE", "value": value}}


def _address_patch(port: int, refresh: float) -> Manifest:
    """Return the patch with which Envoy clusters of a port read their endpoints from the Envoy cluster `ADDRESSES`.

    Istio does not know these endpoints: they are loopback addresses, which the API server refuses in EndpointSlices.
    """
    source = {
        "api_type": "REST",
        "transport_api_version": "V3",
        "cluster_names": [ADDRESSES],
        "refresh_delay": f"{refresh}s",
        "request_timeout": "5s",
    }
    return {
        "applyTo": "CLUSTER",
        "match": {"context": "GATEWAY", "cluster": {"portNumber": port}},
        "patch": {
            "operation": "MERGE",
            "value": {
                "eds_cluster_config": {"eds_config": {"api_config_source": source, "resource_api_version": "V3"}}
            },
        },
    }


def _object(
    version: str, kind: str, name: str, namespace: str = "", *, labels: Mapping[str, str] | None = None, **more: object
) -> Manifest:
    metadata: Manifest = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}
