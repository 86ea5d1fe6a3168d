"""A proxy before the API server that notes what each request asks for, in the words of its authorizer."""

import contextlib
import http
import http.client
import http.server
import re
import ssl
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from local.cluster import ControlPlane
from tests.support.cluster.server import TIMEOUT, access

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/v[^/]+/(?:namespaces/(?P<namespace>[^/]+)/(?=[^/]))?"
    r"(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>.+))?"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_A_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
"""Headers that are not passed on."""
_CHUNK = 65536


class Asked(NamedTuple):
    """Right that a request needs at an API server (k8s.io/apiserver, pkg/endpoints/request/requestinfo.go)."""

    namespace: str
    """Empty for the whole cluster."""
    group: str
    resource: str
    name: str
    """Empty for objects of every name."""
    verb: str


class Request(NamedTuple):
    """A request for objects, without its credentials."""

    method: str
    path: str
    """With the query."""
    kind: str
    """Media type of the body."""
    body: bytes

    @property
    def content(self) -> Any:
        """Return the object in the body, which is JSON or YAML."""
        return yaml.safe_load(self.body) or {}


class Recorder(http.server.ThreadingHTTPServer):
    """Passes requests on with their credentials, and notes those for objects: what is allowed and what is refused."""

    daemon_threads = True

    def __init__(self, plane: ControlPlane) -> None:
        """Listen on a free port of loopback."""
        super().__init__(("127.0.0.1", 0), _Handler)
        _, self.host, self.context = access(plane)
        # Over plain HTTP, clients of Kubernetes send no token.
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(plane.directory / "pki" / "apiserver.crt", plane.directory / "pki" / "apiserver.key")
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.asked = dict[Asked, Request]()
        self.refused = set[Asked]()

    @property
    def url(self) -> str:
        """Return the address."""
        return f"https://127.0.0.1:{self.server_address[1]}"

    def take(self) -> tuple[dict[Asked, Request], set[Asked]]:
        """Return what was allowed since the last call, each with the first request of it, and what was refused."""
        found = self.asked, self.refused
        self.asked = {}
        self.refused = set()
        return found

    def handle_error(self, *_: object) -> None:
        """Print nothing: whoever watches closes the connection in the end."""

    def note(self, request: Request, status: int) -> None:
        """Note a request. An object that a patch creates takes both verbs."""
        url = urllib.parse.urlsplit(request.path)
        found = _PATH.fullmatch(url.path)
        if found is None:
            return
        namespace = found["namespace"] or ""
        name = found["name"] or ""
        query = urllib.parse.parse_qs(url.query)
        watches = query.get("watch", ["false"])[-1] in {"true", "1"}
        verb = _VERBS.get(request.method) or ("get" if name else "watch" if watches else "list")
        resource = "/".join(filter(None, (found["resource"], found["subresource"])))
        asked = Asked(namespace, found["group"] or "", resource, name, verb)
        if status == http.HTTPStatus.FORBIDDEN:
            self.refused.add(asked)
            return
        self.asked.setdefault(asked, request)
        if verb == "patch" and status == http.HTTPStatus.CREATED:
            self.asked.setdefault(asked._replace(name="", verb="create"), request)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Recorder

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key: value for key, value in self.headers.items() if key.lower() not in _OF_A_CONNECTION}
        connection = http.client.HTTPSConnection(self.server.host, timeout=20 * TIMEOUT, context=self.server.context)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            kind = self.headers.get("Content-Type") or ""
            self.server.note(Request(self.command, self.path, kind, body), answer.status)
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in _OF_A_CONNECTION:
                    self.send_header(key, value)
            self.end_headers()
            # The protocol is HTTP/1.0: an answer ends with its connection, so that the events of a watch pass at once.
            while content := answer.read1(_CHUNK):
                self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815, http.server's


@contextlib.contextmanager
def recording(plane: ControlPlane) -> Iterator[Recorder]:
    """Serve a recorder before an API server."""
    recorder = Recorder(plane)
    thread = threading.Thread(target=recorder.serve_forever, daemon=True)
    thread.start()
    try:
        yield recorder
    finally:
        recorder.shutdown()
        recorder.server_close()
        thread.join()
