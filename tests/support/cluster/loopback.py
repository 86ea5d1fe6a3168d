"""API servers on loopback that answer what a test gives them, over HTTP or TLS, and a proxy that leads to them."""

import contextlib
import http.server
import json
import selectors
import socket
import ssl
import threading


def discovery(*kinds):
    """Answer as an API server does: groups by metadata, and built-in kinds without a group of their own."""
    return {
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [{"version": version, "resources": [{"responseKind": {"group": "", "kind": kind}}]}],
            }
            for group, version, kind in kinds
        ]
    }


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers whoever has the server's header Authorization, or a certificate; anybody, if it has none."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    """An answer is one packet: a second one would wait for the confirmation of the first."""

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_GET(self):
        header = self.headers.get("Authorization")
        self.server.seen.append(header)
        if self.server.hang is not None and (not self.server.silent or self.path in self.server.silent):
            self.server.reached.set()
            self.server.hang.wait(30)
        known = self.server.authorization in {None, header} or self._has_certificate()
        allowed = known and self.path not in self.server.refused
        content = self.server.texts.get(self.path) or json.dumps(self.server.answers.get(self.path)).encode()
        with contextlib.suppress(ConnectionError):  # who asked may have gone
            status = 403 if not allowed else 200 if self.path in self.server.answers else 404
            self.send_response(self.server.statuses.get(self.path, status))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if self.path in self.server.locations:
                self.send_header("Location", self.server.locations[self.path])
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if self.path in self.server.cut else content)
            self.close_connection = self.close_connection or self.path in self.server.cut
            if self.server.mended:
                self.server.cut.discard(self.path)

    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.do_GET()

    def _has_certificate(self):
        return isinstance(self.connection, ssl.SSLSocket) and bool(self.connection.getpeercert())

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    """A server whose clients may break off a handshake without a word on the terminal."""

    def handle_error(self, request, client_address):
        pass


@contextlib.contextmanager
def serve(answers, authorization="Bearer right", tls=None):
    """Serve answers by path; `tls` is the context of a TLS server.

    Of single paths, the server may refuse some, answer others with a status, cut answers short (once, if it is mended),
    or be silent; `reached` says that it is. `texts` are answers that are no JSON, `locations` those of redirects.
    """
    server = Server(("127.0.0.1", 0), Handler)
    server.answers = answers
    server.authorization = authorization
    server.seen = []
    server.bodies = []
    server.refused = set()
    server.hang = None
    server.connections = 0
    server.statuses = {}
    server.cut = set()
    server.texts = {}
    server.locations = {}
    server.mended = False
    server.silent = set()
    server.reached = threading.Event()
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    with _running(server):
        yield server
        if server.hang is not None:
            server.hang.set()


class ProxyHandler(http.server.BaseHTTPRequestHandler):
    """Opens the tunnels that a client of TLS servers asks a proxy for."""

    def do_CONNECT(self):
        self.server.seen.append(self.path)
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as target:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: target, target: self.connection}
            with selectors.DefaultSelector() as readable:
                for end in ends:
                    readable.register(end, selectors.EVENT_READ)
                while True:
                    for key, _ in readable.select():
                        data = key.fileobj.recv(65536)
                        if not data:
                            return
                        ends[key.fileobj].sendall(data)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serve_proxy():
    server = Server(("127.0.0.1", 0), ProxyHandler)
    server.seen, server.url = [], f"http://127.0.0.1:{server.server_port}"
    with _running(server):
        yield server


@contextlib.contextmanager
def _running(server):
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
