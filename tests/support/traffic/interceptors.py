"""A stand-in for the interceptor: its gates, its search for a Service with a token of its own, and its proxy."""

import contextlib
import http.client
import json
import urllib.parse
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from local.cluster import ControlPlane
from local.gateway.model_server import body_of
from planning.interceptor.resolution import Unresolved, resolve
from tests.support.cluster.server import TIMEOUT, access

REQUIRED = ("X-Saturn-Auth-Id", "X-Saturn-Resource-Id")
HOPS = {"connection", "transfer-encoding", "content-length", "keep-alive"}
"""Headers of one connection, which a proxy does not pass on."""
PIECE = 65536
Found = str | Unresolved | HTTPStatus
"""Outcome of a search: a URL, a reason why there is none, or the status by which the API server refuses it."""
Address = tuple[str, int]


def lookup(plane: ControlPlane, token: str, resource_id: str, namespace: str) -> Found:
    """Search for a Service by the request that the interceptor sends (phoebe 3.2)."""
    _, host, context = access(plane)
    selector = f"saturncloud.io/resource-id={resource_id},saturncloud.io/service-type=internal"
    query = urllib.parse.urlencode({"labelSelector": selector, "limit": "2"})
    with contextlib.closing(http.client.HTTPSConnection(host, timeout=TIMEOUT, context=context)) as connection:
        path = f"/api/v1/namespaces/{namespace}/services?{query}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
    if response.status != HTTPStatus.OK:
        return HTTPStatus(response.status)
    return resolve(answer["items"], resource_id, namespace)


class StandIn(ThreadingHTTPServer):
    """One interceptor, at the address and port of a pod."""

    daemon_threads = True

    def __init__(self, address: Address, search: Callable[[str], Found], reach: Callable[[str], Address]) -> None:
        super().__init__(address, Handler)
        self.search, self.reach = search, reach
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End it."""
        self.shutdown()
        self.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    """Requests as the interceptor answers them."""

    protocol_version = "HTTP/1.1"
    server: StandIn

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer the health check, and proxy everything else."""
        if self.path == "/healthz":
            self._refuse(200, "ok")
        else:
            self._proxy()

    def do_POST(self) -> None:
        """Proxy a request."""
        self._proxy()

    def _proxy(self) -> None:
        body = body_of(self)
        missing = [name for name in REQUIRED if not self.headers.get(name)]
        if missing:
            self._refuse(400, f"missing {', '.join(missing)}")
            return
        found = self.server.search(self.headers[REQUIRED[1]])
        if not isinstance(found, str):
            self._refuse(404, "model upstream not found")
            return
        with contextlib.closing(http.client.HTTPConnection(*self.server.reach(found), timeout=TIMEOUT)) as upstream:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOPS}
            upstream.request(self.command, self.path, body or None, headers)
            self._pass_on(upstream.getresponse())

    def _pass_on(self, response: http.client.HTTPResponse) -> None:
        """Send an answer as it comes."""
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOPS:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := response.read1(PIECE):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def pod_of(url: str, services: list[Any], pods: list[Any]) -> Address:
    """Return a pod behind the URL of a Service, as names and addresses of a cluster would lead there."""
    parts = urllib.parse.urlsplit(url)
    name, namespace, *_ = str(parts.hostname).split(".")
    (service,) = (each for each in services if _place(each) == (name, namespace))
    (port,) = (each for each in service["spec"]["ports"] if each["port"] == parts.port)
    selector = service["spec"]["selector"].items()
    found = [each for each in pods if selector <= each["metadata"]["labels"].items()]
    return found[0]["status"]["podIP"], port["targetPort"]


def _place(item: Any) -> tuple[str, str]:
    return item["metadata"]["name"], item["metadata"]["namespace"]
