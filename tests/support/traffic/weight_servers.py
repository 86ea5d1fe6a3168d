"""Servers of weights on loopback, and how their size is asked for."""

import contextlib
import http.server
import threading

from facts.source_sizes import sizes
from facts.transport import Run, Transport

ANSWERS_SOON = 10
"""Seconds within which a server on loopback answers, however busy the machine is."""


def ask(source, deadline=ANSWERS_SOON):
    return sizes([source], deadline)[source]


def transport():
    """Return a client that may tell of every server."""
    return Transport(Run(ANSWERS_SOON), lambda _: True)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers what the test put under the path; the query does not count."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        if self.server.hang is not None:
            self.server.hang.wait(30)
        status, headers, body = self.server.answer(self.path.partition("?")[0], self.headers.get("Authorization"))
        with contextlib.suppress(ConnectionError):  # who asked may have gone
            self.send_response(status)
            # Without this header a client may send its next request into a connection that ends.
            for name, value in ({"Connection": "close", "Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    server.hang = None
    server.answer = lambda *_: (404, {}, b"")
    server.host = f"127.0.0.1:{server.server_port}"
    server.url = f"http://{server.host}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


def s3_error(code, **more):
    fields = "".join(f"<{name}>{value}</{name}>" for name, value in ({"Code": code, "Message": "no"} | more).items())
    return f"<Error>{fields}</Error>".encode()
