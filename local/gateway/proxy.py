"""Bootstrap of an Envoy. It gets its configuration from istiod, and the addresses of pods from `addresses.Server`."""

from __future__ import annotations

from typing import Any

from local.gateway.objects import ADDRESSES, LABEL

ISTIOD = "istiod"


def bootstrap(gateway: str, namespace: str, address: str, istiod: int, addresses: int) -> dict[str, Any]:
    """Return the configuration with which the proxy of a Gateway starts.

    `address` is the address of the pod that stands for the proxy. `istiod` and `addresses` are the ports of istiod and
    of `addresses.Server`.
    """
    ads: dict[str, Any] = {"ads": {}, "resource_api_version": "V3"}
    service = {"envoy_grpc": {"cluster_name": ISTIOD}}
    return {
        "node": {
            "id": f"router~{address}~{gateway}-istio.{namespace}~{namespace}.svc.cluster.local",
            "cluster": f"{gateway}-istio.{namespace}",
            "metadata": {
                "CLUSTER_ID": "Kubernetes",
                "NAMESPACE": namespace,
                "ISTIO_VERSION": "1.31.0",
                # Without this label, Istio adds no filter that asks pickers.
                "LABELS": {LABEL: gateway},
            },
        },
        "admin": {"address": _loopback(0)},
        "dynamic_resources": {
            "ads_config": {"api_type": "GRPC", "transport_api_version": "V3", "grpc_services": [service]},
            "cds_config": ads,
            "lds_config": ads,
        },
        "static_resources": {
            "clusters": [_cluster(ISTIOD, istiod, http2=True), _cluster(ADDRESSES, addresses, http2=False)]
        },
    }


def arguments(config: str, admin: str) -> list[str]:
    """Return Envoy's arguments. Envoy writes the address of its administration interface to the file `admin`."""
    flags = ["--concurrency", "2", "--disable-hot-restart", "--file-flush-interval-msec", "20"]
    return ["--config-path", config, "--admin-address-path", admin, *flags]


_PROTOCOLS = {False: "http_protocol_options", True: "http2_protocol_options"}
"""Field of Envoy's settings of a protocol, by whether the protocol is HTTP/2."""


def _cluster(name: str, port: int, *, http2: bool) -> dict[str, Any]:
    message = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    protocol: dict[str, Any] = {_PROTOCOLS[http2]: {}}
    options = {"@type": f"type.googleapis.com/{message}", "explicit_http_config": protocol}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": _loopback(port)}}]}]
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "2s",
        "load_assignment": {"cluster_name": name, "endpoints": endpoints},
        "typed_extension_protocol_options": {message: options},
    }


def _loopback(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}
