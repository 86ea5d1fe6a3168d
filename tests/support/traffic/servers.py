"""HTTP servers that end with their connections, as processes do."""

import contextlib
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Server(ThreadingHTTPServer):
    """A server that answers until its end."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._connections = set[socket.socket]()
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection, which may outlive many requests."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that ends."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, unless it is that nobody waits for the answer any more."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def begin(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def end(self) -> None:
        """Break every connection off; who connects from now on is refused."""
        self.shutdown()
        self.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()
