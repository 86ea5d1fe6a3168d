"""Server that tells proxies the addresses behind Services. It reads Services and pods from the API server.

Proxies cannot use EndpointSlices, because the API server refuses loopback addresses in EndpointSlices.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

from local.gateway.objects import POOL_PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from local.cluster.api import Api

MESSAGE = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
CLUSTER = re.compile(r"outbound\|(?P<port>\d+)\|[^|]*\|(?P<name>[^.]+)\.(?P<namespace>[^.]+)\.svc\..+")
"""Pattern of the names that Istio gives to the Envoy clusters of Services' ports."""
AGE = 0.25
"""Default age in seconds at which a listing of Services and pods is replaced by a new listing."""
Address = tuple[str, int]
Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Substitute:
    """A process on loopback that takes the place of the pods with `labels` in a namespace."""

    namespace: str
    labels: Mapping[str, str]
    ports: Mapping[int, int]
    """Ports of the process, by the ports of the pods."""


@dataclass(frozen=True)
class Listing:
    """Services and pods of the Kubernetes cluster at a moment."""

    moment: float
    services: Sequence[Tree]
    pods: Sequence[Tree]

    def endpoints(self, cluster: str, substitutes: Iterable[Substitute]) -> list[Address]:
        """Return the addresses behind an Envoy cluster of Istio."""
        match = CLUSTER.fullmatch(cluster)
        if match is None:
            return []
        number = int(match["port"])
        name = match["name"]
        namespace = match["namespace"]
        service = next((item for item in self.services if _place(item) == (namespace, name)), None)
        if service is None or not service["spec"].get("selector"):
            return []
        selector = service["spec"]["selector"]
        targets = [port.get("targetPort", port["port"]) for port in _ports(service, number)]
        processes = [
            process for process in substitutes if process.namespace == namespace and _selects(selector, process.labels)
        ]
        if processes:
            return [
                ("127.0.0.1", process.ports[target])
                for process in processes
                for target in targets
                if target in process.ports
            ]
        return [
            (pod["status"]["podIP"], port)
            for pod in self.ready_pods(namespace, selector)
            for target in targets
            if (port := container_port(pod, target)) is not None
        ]

    def ready_pods(self, namespace: str, selector: Mapping[str, str]) -> list[Tree]:
        """Return the pods that a selector matches and that are ready for requests."""
        return [
            pod
            for pod in self.pods
            if pod["metadata"]["namespace"] == namespace
            and _selects(selector, pod["metadata"].get("labels", {}))
            and _is_ready(pod)
        ]


class Server(ThreadingHTTPServer):
    """Server of addresses on a free port of loopback. Listings are at most `age` seconds old."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, read: Callable[[], Listing | None], age: float = AGE) -> None:
        super().__init__(("127.0.0.1", 0), _AddressHandler)
        self.substitutes: list[Substitute] = []
        self._read = read
        self._age = age
        self._lock = threading.Lock()
        self._listing = Listing(-age, (), ())
        self._answered = dict[str, float]()
        """For each Envoy cluster, the moment of the listing that the latest answer was made from."""
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def answer(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the answer to a proxy that asks for the addresses of Envoy clusters."""
        listing = self.listing()
        resources = [_assignment(name, listing.endpoints(name, self.substitutes)) for name in names]
        self._answered |= dict.fromkeys(names, listing.moment)
        version = hashlib.sha256(json.dumps(resources).encode()).hexdigest()[:16]
        return {"version_info": version, "type_url": MESSAGE, "resources": resources}

    def listing(self) -> Listing:
        """Return a recent listing, or the last listing if the API server does not answer."""
        with self._lock:
            if time.monotonic() - self._listing.moment > self._age:
                self._listing = self._read() or self._listing
            return self._listing

    def told_since(self, moment: float, names: Iterable[str]) -> bool:
        """Return whether the latest answer about each Envoy cluster is from a listing later than `moment`."""
        return all(self._answered.get(name, 0.0) > moment for name in names)

    def end(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()
        self._thread.join()


class _AddressHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Log nothing; proxies ask every second."""

    def do_POST(self) -> None:
        """Answer a proxy that asks for the addresses of its Envoy clusters."""
        question = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        answer = cast("Server", self.server).answer(question.get("resource_names", ()))
        with contextlib.suppress(ConnectionError):
            self._send(json.dumps(answer).encode())

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def read(api: Api) -> Listing | None:
    """Return a listing from the API server; None if the server does not answer."""
    moment = time.monotonic()
    answers = [api.get(f"/api/v1/{kind}") for kind in ("services", "pods")]
    if any(status != HTTPStatus.OK for status, _ in answers):
        return None
    services, pods = (json.loads(body)["items"] for _, body in answers)
    return Listing(moment, services, pods)


def container_port(pod: Tree, target: str | int) -> int | None:
    """Return the number of a pod's port. None if `target` is a name that no port of the pod has."""
    if isinstance(target, int):
        return target
    containers = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
    ports = (port for container in containers for port in container.get("ports", ()))
    return next((port["containerPort"] for port in ports if port.get("name") == target), None)


def _ports(service: Tree, number: int) -> list[Tree]:
    """Return the ports of a Service to which the Envoy cluster of port `number` leads.

    If a pool owns the Service, the Envoy cluster of `POOL_PORT` leads to all ports.
    """
    ports = service["spec"].get("ports", ())
    owners = [owner["kind"] for owner in service["metadata"].get("ownerReferences", ())]
    if number == POOL_PORT and "InferencePool" in owners:
        return list(ports)
    return [port for port in ports if port["port"] == number]


def _assignment(name: str, addresses: Iterable[Address]) -> dict[str, Any]:
    endpoints = [
        {"endpoint": {"address": {"socket_address": {"address": address, "port_value": port}}}}
        for address, port in addresses
    ]
    return {"@type": MESSAGE, "cluster_name": name, "endpoints": [{"lb_endpoints": endpoints}]}


def _place(item: Tree) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _is_ready(pod: Tree) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and "podIP" in pod["status"] and "deletionTimestamp" not in pod["metadata"]


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()
