"""An adapter of metrics on loopback, which a real API server asks for a real HorizontalPodAutoscaler controller.

The API server reaches it by a Service without a selector whose external name is localhost.
"""

import contextlib
import http.server
import json
import ssl
import threading
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local.cluster import ControlPlane
from local.tools import Tool
from tests.support.cluster.lws import certify
from tests.support.cluster.server import read

GROUP = "custom.metrics.k8s.io"
VERSION = "v1beta2"
NAMESPACE = "metrics-adapter"


class Adapter:
    """The value of each metric of each pod of a namespace."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.values = dict[str, int]()
        """Value by namespace. Without a value there are no metrics."""

    def answer(self, path: str) -> dict[str, Any] | None:
        """Return the answer to a request of the API server; None if there is none."""
        parsed = urllib.parse.urlparse(path)
        place = f"/apis/{GROUP}/{VERSION}"
        if parsed.path.rstrip("/") == place:
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{GROUP}/{VERSION}",
                "resources": [],
            }
        parts = parsed.path.removeprefix(f"{place}/").split("/")
        if parts[:1] != ["namespaces"] or len(parts) != 5 or parts[1] not in self.values:
            return None
        (selector,) = urllib.parse.parse_qs(parsed.query).get("labelSelector", [""])
        items = [self._value(pod, parts[4]) for pod in read(self.plane, "pods", parts[1], selector)]
        return {"kind": "MetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}

    def _value(self, pod: Any, metric: str) -> dict[str, Any]:
        metadata = pod["metadata"]
        return {
            "describedObject": {
                "kind": "Pod",
                "apiVersion": "v1",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
            },
            "metric": {"name": metric},
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "value": str(self.values[metadata["namespace"]]),
        }


@contextlib.contextmanager
def served(plane: ControlPlane, tools: dict[str, Tool], directory: Path) -> Iterator[Adapter]:
    """Serve metrics to a control plane, which asks for them until the context ends."""
    adapter = Adapter(plane)
    certify(tools, directory)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(adapter))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    items = _registration(server.server_port)
    plane.kubectl("apply", "--filename=-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    plane.kubectl("wait", "--for=condition=Available", f"apiservice/{VERSION}.{GROUP}", "--timeout=120s")
    try:
        yield adapter
    finally:
        plane.kubectl("delete", f"apiservice/{VERSION}.{GROUP}", f"namespace/{NAMESPACE}", "--wait=false")
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(adapter: Adapter) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = adapter.answer(self.path)
            body = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "status": "Failure"}).encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            del format, args

    return Handler


def _registration(port: int) -> list[dict[str, Any]]:
    metadata = {"name": "adapter", "namespace": NAMESPACE}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{VERSION}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {**metadata, "port": port},
            },
        },
    ]
