"""Command line, environment and mesh configuration of istiod on loopback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from local import files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMESPACE = "istio-system"
PORTS = ("http", "grpc", "monitoring")
LOGGED = {
    "id": "%REQ(X-REQUEST-ID)%",
    "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
    "status": "%RESPONSE_CODE%",
    "route": "%ROUTE_NAME%",
    "cluster": "%UPSTREAM_CLUSTER_RAW%",
    "endpoint": "%UPSTREAM_HOST%",
    "picked": "%DYNAMIC_METADATA(envoy.lb:x-gateway-destination-endpoint)%",
    "flags": "%RESPONSE_FLAGS%",
}
"""Fields that proxies log for every request."""
ENVIRONMENT = {
    "POD_NAME": "istiod",
    "POD_NAMESPACE": NAMESPACE,
    "CLUSTER_ID": "Kubernetes",
    "ENABLE_LEADER_ELECTION": "false",
    "ENABLE_CA_SERVER": "false",
    "PILOT_CERT_PROVIDER": "none",
    "XDS_AUTH": "false",
    "PILOT_ENABLE_XDS_IDENTITY_CHECK": "false",
    "VALIDATION_WEBHOOK_CONFIG_NAME": "",
    "INJECTION_WEBHOOK_CONFIG_NAME": "",
    # istiod must not deploy proxies: this program makes the Services of proxies, and runs the proxies as processes.
    "PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER": "false",
    "ENABLE_GATEWAY_API_INFERENCE_EXTENSION": "true",
    # Only Istio's build of Envoy has the filters for metadata exchange and ALPN. The proxies here are another build.
    "PILOT_ENABLE_METADATA_EXCHANGE": "false",
    "PILOT_ENABLE_ALPN_FILTER": "false",
    "PILOT_DEBOUNCE_AFTER": "30ms",
    # Garbage is collected four times less often than by default.
    "GOGC": "400",
}
MESH = {
    # There is no certificate authority, so proxies with automatic mTLS would wait for certificates forever.
    "enableAutoMtls": False,
    "enablePrometheusMerge": False,
    "enableTracing": False,
}


def write_files(directory: Path, access_log: Path) -> None:
    """Write the configuration files to which the arguments from `arguments` refer."""
    encoding = {"accessLogEncoding": "JSON", "accessLogFormat": json.dumps(LOGGED)}
    mesh = MESH | {"rootNamespace": NAMESPACE, "accessLogFile": str(access_log), **encoding}
    files.write(directory / "mesh.json", json.dumps(mesh))
    files.write(directory / "networks.json", "")


def arguments(directory: Path, kubeconfig: Path, ports: Mapping[str, int]) -> list[str]:
    """Return the arguments with which istiod listens only on loopback, on the ports in `ports`."""
    return [
        "discovery",
        f"--kubeconfig={kubeconfig}",
        f"--meshConfig={directory / 'mesh.json'}",
        f"--networksConfig={directory / 'networks.json'}",
        f"--namespace={NAMESPACE}",
        "--registries=Kubernetes",
        f"--httpAddr=127.0.0.1:{ports['http']}",
        "--httpsAddr=",
        f"--grpcAddr=127.0.0.1:{ports['grpc']}",
        "--secureGRPCAddr=",
        f"--monitoringAddr=127.0.0.1:{ports['monitoring']}",
        "--ctrlz_address=127.0.0.1",
        "--ctrlz_port=0",
        # istiod writes several statuses for each route, one after the other. Lower limits would delay these writes.
        "--kubernetesApiQPS=1000",
        "--kubernetesApiBurst=1000",
    ]
