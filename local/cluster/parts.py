"""Command lines, ports and credentials of the control plane's parts. The parts listen on loopback only."""

from __future__ import annotations

import base64
import json
import secrets
from typing import TYPE_CHECKING

from local import files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONTEXT = "inference-stacks-local"
SERVICE_RANGE = "10.96.0.0/16"
PORTS = ("etcd", "etcd-peer", "kube-apiserver")
CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")
PARTS = ("etcd", "kube-apiserver", *CONTROLLERS)


def write_credentials(directory: Path) -> str:
    """Return the administrator's token. If there is no token, write a new token first."""
    path = directory / "tokens.csv"
    if not path.exists():
        files.write(path, f"{secrets.token_hex(32)},{CONTEXT}-admin,{CONTEXT}-admin,system:masters\n")
    return path.read_text(encoding="ascii").partition(",")[0]


def write_kubeconfig(path: Path, directory: Path, port: int, token: str) -> None:
    """Write a kubeconfig that refers to no other file. A file that already has this content is not written again."""
    authority = (directory / "pki" / "ca.crt").read_bytes()
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority-data": _base64(authority),
        # On loopback, compressing an answer takes longer than sending it. The schema of all kinds has megabytes.
        "disable-compression": True,
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": {"token": token}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        "current-context": CONTEXT,
    }
    text = json.dumps(config, indent=2) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        files.write(path, text)


def arguments(part: str, directory: Path, ports: Mapping[str, int], stages: Path) -> list[str]:
    """Return the arguments of a part's command line. `stages` is the folder of kwok's configuration files."""
    match part:
        case "etcd":
            return _etcd(directory, ports)
        case "kube-apiserver":
            return _api_server(directory, ports)
        case "kube-controller-manager":
            return _controller_manager(directory)
        case "kube-scheduler":
            return _controller(directory)
        case "kwok":
            return _kwok(directory, stages)
        case _:
            raise ValueError(part)


def _etcd(directory: Path, ports: Mapping[str, int]) -> list[str]:
    client = f"http://127.0.0.1:{ports['etcd']}"
    peer = f"http://127.0.0.1:{ports['etcd-peer']}"
    return [
        "--name=local",
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=local={peer}",
        # The data must survive a killed process. It need not survive a crash of the machine.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _api_server(directory: Path, ports: Mapping[str, int]) -> list[str]:
    pki = directory / "pki"
    return [
        f"--etcd-servers=http://127.0.0.1:{ports['etcd']}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        # Kubernetes allows no loopback address as the endpoint of the `kubernetes` Service.
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports['kube-apiserver']}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--service-account-key-file={pki / 'service-account.key'}",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=RBAC",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--allow-privileged=true",
        # etcd before 3.5.13 does not report watch progress, and a streamed list would wait for this report.
        "--feature-gates=WatchList=false",
        "--profiling=false",
    ]


def _controller_manager(directory: Path) -> list[str]:
    pki = directory / "pki"
    return [
        *_controller(directory),
        f"--service-account-private-key-file={pki / 'service-account.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        "--use-service-account-credentials=false",
        # Objects of a deleted owner are deleted within seconds, so that tests can wait for the deletion.
        "--concurrent-gc-syncs=20",
        # The default is 50 seconds, and kwok's next heartbeat (stage `node-heartbeat`) may take longer. If a node has
        # once counted as lost, its pods stay unready.
        "--node-monitor-grace-period=1h",
    ]


def _controller(directory: Path) -> list[str]:
    return [
        f"--kubeconfig={directory / 'admin.kubeconfig'}",
        # Nobody reads health or metrics, so controllers need no port. A controller with a port would end if another
        # process had taken the port.
        "--secure-port=0",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def _kwok(directory: Path, stages: Path) -> list[str]:
    configs = [f"--config={path}" for path in sorted(stages.glob("*.yaml"))]
    return [f"--kubeconfig={directory / 'admin.kubeconfig'}", "--manage-all-nodes=true", *configs]


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
