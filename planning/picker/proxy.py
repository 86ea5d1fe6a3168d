"""The proxy beside the picker: it asks the picker for each request, and sends the request to the chosen pod.

Clients then need no gateway. The proxy is Envoy; its configuration follows from the picker's port and TLS.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.base import Spec
from models.paths import Path
from models.picker import EndpointPicker, PickerProxy, PickerTls
from models.problems import Problem, warning
from models.trees import mapping, sequence
from models.vocabulary import Text
from planning.ground import tables, yaml_text
from planning.ground.lifecycle import Drain
from planning.ground.ports import HEALTH_PORT, HTTP_PORT, METRICS_PORT
from planning.variant.context import VariantContext

READY_PORT = 9004
"""Port of the proxy that answers the kubelet's probes."""
READY_PATH = "/ready"
CONFIG_KEY = "envoy.yaml"
"""Key of the configuration in the picker's ConfigMap, and name of the mounted file."""
CONTAINER = "proxy"
_KILL_MARGIN = 5
"""Seconds between the end of the proxy and the kill of its pod."""
_LONGEST_SILENCE = "3600s"
"""Time without a byte after which the proxy ends a request. A long prompt is silent until its first token."""
_STREAMS = 40_000
"""Number of requests, and of connections, that run at once to pods or to the picker. Above it, Envoy answers 503
(llm-d-router, config/charts/llm-d-router-standalone/values.yaml). Envoy's own limit is 1024 (envoy v1.40,
api/envoy/config/cluster/v3/circuit_breaker.proto)."""
_PICKED = "x-gateway-destination-endpoint"
"""Name under which a picker returns the address of the chosen pod, as a header and as metadata in `envoy.lb`
(gateway-api-inference-extension, docs/proposals/004-endpoint-picker-protocol). A client can send a header of this name,
but no metadata."""
_SEVERAL = "maxNumOfEndpoints"
"""Parameter of plugins that choose pods: the number of pods that they name."""
_TYPES = "type.googleapis.com/envoy"


class _Facts(Spec):
    image: Text
    source: Text
    date: Any
    proof: Text


@dataclass(frozen=True, slots=True)
class ProxyPlan:
    """The proxy in the pods of a picker."""

    image: str
    port: int
    """Port of the pods for requests."""
    service_port: int
    """Port of the proxy's Service for requests."""
    config: str
    """Envoy's configuration as YAML."""
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    pre_stop: int
    """Seconds from the deletion of a pod to the end of its proxy, in which running requests finish."""


def plan(picker: EndpointPicker, drain: Drain) -> ProxyPlan | None:
    """Return the proxy of a picker; None if the picker has none. `drain` has the times of the picker's pods."""
    spec = picker.proxy
    if spec is None:
        return None
    return ProxyPlan(
        image=spec.image or tables.read(_Facts, "picker/proxy.yaml").image,
        port=spec.port,
        service_port=HTTP_PORT,
        config=yaml_text.with_blocks(_bootstrap(picker, spec)),
        requests=spec.resources.requests,
        limits=spec.resources.limits,
        pre_stop=drain.grace - _KILL_MARGIN,
    )


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Reject a port that the pods of the picker have already, and warn of what passes the proxy by."""
    picker = variant.spec.endpoint_picker
    if picker.proxy is None:
        return
    at = variant.path / "endpointPicker" / "proxy"
    taken = {
        picker.port: "of the picker",
        HEALTH_PORT: "of the picker's health service",
        METRICS_PORT: "of the picker's metrics",
        READY_PORT: "of the proxy's probes",
    }
    for name, container in picker.containers.items():
        taken |= dict.fromkeys(container.ports, f"of container {name}")
    if picker.proxy.port in taken:
        what = f"is the port {taken[picker.proxy.port]} as well ({picker.proxy.port})"
        yield Problem(at / "port", what, "choose another port")
    yield from _several_pods(picker, variant.path / "endpointPicker")
    if CONTAINER in picker.containers:
        where = variant.path / "endpointPicker" / "containers" / CONTAINER
        yield Problem(where, f"is the name of the proxy's container ({CONTAINER})", "choose another name", (at,))
    if picker.failure_mode == "FailOpen":
        what = "holds for gateways alone: the proxy sends no request without the picker (FailOpen)"
        yield warning(variant.path / "endpointPicker" / "failureMode", what)
    if variant.metered_as is not None:
        what = "answers requests that the interceptor does not meter"
        yield warning(at, what, "remove it, or let network policies keep clients away from it")


def _several_pods(picker: EndpointPicker, at: Path) -> Iterator[Problem]:
    """Reject a configuration that names several pods for a request: Envoy reads the list as no address at all."""
    for index, plugin in enumerate(map(mapping, sequence((picker.config or {}).get("plugins")))):
        number = mapping(plugin.get("parameters")).get(_SEVERAL)
        if isinstance(number, int) and number > 1:
            where = Path(*at, "config", "plugins", index, "parameters", _SEVERAL)
            what = f"names several pods for a request, and the proxy takes one address ({number})"
            yield Problem(where, what, "remove it, or remove endpointPicker.proxy", (at / "proxy",))


def _bootstrap(picker: EndpointPicker, spec: PickerProxy) -> dict[str, Any]:
    """Return Envoy's bootstrap configuration (envoy v1.40, envoy.config.bootstrap.v3)."""
    return {
        "static_resources": {
            "listeners": [
                _listener("requests", spec.port, _manager("requests", "pods", [_asking()], _LONGEST_SILENCE)),
                _listener("ready", READY_PORT, _ready()),
            ],
            "clusters": [_picker_cluster(picker.port, picker.tls), _pods_cluster()],
        }
    }


def _listener(name: str, port: int, manager: Mapping[str, Any]) -> dict[str, Any]:
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    return {
        "name": name,
        "address": {"socket_address": {"address": "0.0.0.0", "port_value": port}},  # noqa: S104, pods listen there
        "filter_chains": [{"filters": filters}],
    }


def _manager(name: str, cluster: str, filters: list[Mapping[str, Any]], silence: str) -> dict[str, Any]:
    """Return the handling of requests that go to a cluster. Only silence ends a request, however long it takes.

    A client connects anew for each request, through the picker's Service: a proxy that waits for running requests to
    finish, or whose picker no longer leads, then gets no further ones.
    """
    action = {"cluster": cluster, "timeout": "0s", "idle_timeout": silence}
    routes = [{"match": {"prefix": "/"}, "route": action}]
    return {
        "@type": f"{_TYPES}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "stream_idle_timeout": silence,
        "common_http_protocol_options": {"max_requests_per_connection": 1},
        "route_config": {"virtual_hosts": [{"name": name, "domains": ["*"], "routes": routes}]},
        "http_filters": [*filters, _router()],
    }


def _router() -> dict[str, Any]:
    config = {"@type": f"{_TYPES}.extensions.filters.http.router.v3.Router"}
    return {"name": "envoy.filters.http.router", "typed_config": config}


def _ready() -> dict[str, Any]:
    """Return the handling of the kubelet's probes: an answer by the proxy itself."""
    response = {"match": {"path": READY_PATH}, "direct_response": {"status": 200}}
    return {
        "@type": f"{_TYPES}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "ready",
        "route_config": {"virtual_hosts": [{"name": "ready", "domains": ["*"], "routes": [response]}]},
        "http_filters": [_router()],
    }


def _asking() -> dict[str, Any]:
    """Return the filter that asks the picker. A picker reads bodies in pieces, and answers after the last one."""
    config = {
        "@type": f"{_TYPES}.extensions.filters.http.ext_proc.v3.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": "picker"}},
        "processing_mode": {
            "request_header_mode": "SEND",
            "response_header_mode": "SEND",
            "request_body_mode": "FULL_DUPLEX_STREAMED",
            "response_body_mode": "FULL_DUPLEX_STREAMED",
            "request_trailer_mode": "SEND",
            "response_trailer_mode": "SEND",
        },
        "message_timeout": _LONGEST_SILENCE,
        "metadata_options": {"receiving_namespaces": {"untyped": ["envoy.lb"]}},
    }
    return {"name": "envoy.filters.http.ext_proc", "typed_config": config}


def _limits() -> dict[str, Any]:
    """Return the limits of a cluster. Flow control of the picker decides which requests wait, and not the proxy."""
    return {"thresholds": [{f"max_{name}": _STREAMS for name in ("connections", "pending_requests", "requests")}]}


def _pods_cluster() -> dict[str, Any]:
    """Return the cluster of the address that the picker has chosen."""
    metadata = {"key": "envoy.lb", "path": [{"key": _PICKED}]}
    return {
        "name": "pods",
        "type": "ORIGINAL_DST",
        "lb_policy": "CLUSTER_PROVIDED",
        "connect_timeout": "10s",
        "circuit_breakers": _limits(),
        "original_dst_lb_config": {"metadata_key": metadata},
    }


def _picker_cluster(port: int, tls: PickerTls) -> dict[str, Any]:
    """Return the cluster of the picker in the same pod. Its certificate need not be verified: nobody is between."""
    protocol: dict[str, Any] = {
        "@type": f"{_TYPES}.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    cluster: dict[str, Any] = {
        "name": "picker",
        "type": "STATIC",
        "connect_timeout": "10s",
        "circuit_breakers": _limits(),
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol},
        "load_assignment": {
            "cluster_name": "picker",
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    }
    if tls.type != "none":
        context = {
            "@type": f"{_TYPES}.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "common_tls_context": {"alpn_protocols": ["h2"]},
        }
        cluster["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": context}
    return cluster
