"""A stand-in for the interceptor. It does what phoebe 4f3fb26 does, whose verdicts are in `corpus/billing.yaml`."""

import contextlib
import gzip
import http.client
import posixpath
import re
import secrets
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from threading import Event as Signal
from threading import Thread
from typing import Any, Self

from local.gateway.model_server import body_of
from tests.support.cluster.server import TIMEOUT
from tests.support.traffic.lookups import Address
from tests.support.traffic.metering import Event, Tee, with_usage
from tests.support.traffic.servers import Server

REQUIRED = ("X-Saturn-Auth-Id", "X-Saturn-Resource-Id")
REQUEST_ID = "X-Request-Id"
VALID_ID = re.compile(r"[\x21-\x7e]{1,200}")
HOPS = {
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
"""Headers of one connection, which a proxy does not pass on (`hopHeaders` of Go's net/http/httputil)."""
PIECE = 65536


class StandIn(Server):
    """One interceptor, at the address and port of a pod.

    `search` returns the URL of a resource id or None, and `reach` the address that a URL leads to, or None.
    """

    def __init__(
        self,
        address: Address,
        search: Callable[[str], str | None],
        reach: Callable[[str], Address | None],
        *,
        bills_partial: bool = True,
    ) -> None:
        super().__init__(address, Handler)
        self.search = search
        self.reach = reach
        self.bills_partial = bills_partial
        self.events = list[Event]()
        """Rows of the bill."""
        self.seen = list[dict[str, str]]()
        """Headers of the requests that came, with names in lower case."""
        self.begun = 0
        self.ended = 0
        """How many requests came, and how many came to their end."""
        self.begin()


class Watch:
    """Breaks a connection to an engine off when the client goes, as the context of a request does in Go."""

    def __init__(self, client: socket.socket, upstream: http.client.HTTPConnection) -> None:
        self._client = client
        self._upstream = upstream
        self._done = Signal()
        self.is_gone = False
        """Whether the client went before the end of its answer."""
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def look(self) -> bool:
        """Return whether the client has gone."""
        try:
            self.is_gone |= not self._client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return self.is_gone
        except OSError:
            self.is_gone = True
        return self.is_gone

    def _run(self) -> None:
        while not self._done.wait(0.02):
            if self.look() and self._upstream.sock is not None:
                with contextlib.suppress(OSError):
                    self._upstream.sock.shutdown(socket.SHUT_RDWR)
                return


class Handler(BaseHTTPRequestHandler):
    """Requests as the interceptor answers them: `Handler` and `handleProxy` of internal/proxy/proxy.go."""

    protocol_version = "HTTP/1.1"
    server: StandIn

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer a request."""
        self._counted()

    def do_POST(self) -> None:
        """Answer a request."""
        self._counted()

    def _counted(self) -> None:
        self.server.begun += 1
        try:
            self._answer()
        finally:
            self.server.ended += 1

    def _answer(self) -> None:
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        body = body_of(self)
        # The base class has made one slash of several at the beginning of `self.path`.
        path, _, query = self.requestline.split()[1].partition("?")
        clean = _clean(path)
        if clean != path:
            # Go's mux leads to the clean path. That path is without the prefix, which the gateway took away.
            self._say(307, "", {"Location": f"{clean}?{query}" if query else clean})
        elif path == "/healthz":
            self._say(200, "ok\n")
        else:
            self._proxy(body)

    def _proxy(self, body: bytes) -> None:
        missing = [name for name in REQUIRED if not self.headers.get(name)]
        request_id = self.headers.get(REQUEST_ID) or f"phoebe-{secrets.token_hex(16)}"
        if missing:
            self._say(400, f"missing required billing identity: {', '.join(missing)}\n")
        elif not VALID_ID.fullmatch(request_id):
            self._say(400, f"invalid {REQUEST_ID}: must be at most 200 printable ASCII (no spaces) characters\n")
        elif (url := self.server.search(self.headers[REQUIRED[1]])) is None:
            self._say(404, "model upstream not found\n")
        elif (address := self.server.reach(url)) is None:
            self._say(502, "upstream error\n")
        else:
            self._forward(address, with_usage(body), request_id)

    def _forward(self, address: Address, body: bytes, request_id: str) -> None:
        """Forward a request, and pass its answer on while it comes (`ReverseProxy`)."""
        about = {"request_id": request_id, "auth_id": self.headers[REQUIRED[0]]}
        about |= {"resource_id": self.headers[REQUIRED[1]]}
        upstream = http.client.HTTPConnection(*address, timeout=TIMEOUT)
        with contextlib.closing(upstream), Watch(self.connection, upstream) as client:
            try:
                upstream.request(self.command, self.path, body, self._headers(request_id, len(body)))
                response = upstream.getresponse()
            except (OSError, http.client.HTTPException):
                if client.look():
                    self._bill(Tee(is_stream=False), about, aborted=True)
                    self.close_connection = True
                else:
                    self._say(502, "upstream error\n")
                return
            tee = Tee(is_stream=response.headers.get("Content-Type", "").startswith("text/event-stream"))
            is_whole = self._pass_on(response, request_id, tee, client)
            self._bill(tee, about, aborted=client.look())
            if is_whole:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = not is_whole

    def _headers(self, request_id: str, length: int) -> dict[str, str]:
        """Return what an engine is sent. Go's transport asks for gzip itself where the client names no encoding."""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOPS}
        named = {name.lower(): name for name in headers}
        forwarded = [headers.pop(named[name]) for name in ("x-forwarded-for",) if name in named]
        for name in ("content-length", "x-request-id"):
            headers.pop(named.get(name, name), None)
        headers |= {"X-Forwarded-For": ", ".join([*forwarded, self.client_address[0]]), REQUEST_ID: request_id}
        headers |= {"Content-Length": str(length)} if length or self.command == "POST" else {}
        return headers if "accept-encoding" in named else headers | {"Accept-Encoding": "gzip"}

    def _pass_on(self, response: http.client.HTTPResponse, request_id: str, tee: Tee, client: Watch) -> bool:
        """Send an answer as it comes; returns whether it came to its end."""
        unpacks = response.headers.get("Content-Encoding") == "gzip" and "Accept-Encoding" not in self.headers
        unsent = {*HOPS, "content-length", "x-request-id", *(["content-encoding"] if unpacks else [])}
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in unsent:
                self.send_header(name, value)
        self.send_header(REQUEST_ID, request_id)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while piece := response.read() if unpacks else response.read1(PIECE):
                text = gzip.decompress(piece) if unpacks else piece
                tee.read(text)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.wfile.flush()
        except (OSError, http.client.HTTPException):
            return False
        return not client.look()

    def _bill(self, tee: Tee, about: dict[str, Any], *, aborted: bool) -> None:
        event = tee.event(about, aborted=aborted, bills_partial=self.server.bills_partial)
        if event is not None:
            self.server.events.append(event)

    def _say(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if text:
            self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _clean(path: str) -> str:
    """Return a path without empty and dotted parts (`cleanPath` of Go's net/http)."""
    clean = f"/{posixpath.normpath(path).lstrip('/')}"
    return f"{clean}/" if path.endswith("/") and clean != "/" else clean
