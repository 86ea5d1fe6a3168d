"""Requests by HTTP to servers that a configuration names."""

import http.client
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable
from functools import cached_property
from http.client import HTTPResponse
from pathlib import Path
from threading import Lock
from typing import Any, cast

from facts import hosts

CONNECT_SECONDS = 5.0
"""Time after which a server counts as unreachable."""
_Connector = Callable[..., socket.socket]


class RefusedAddressError(OSError):
    """A host is link-local, or is the metadata of a cloud. No configuration has a reason to name it."""


class ForeignServerError(OSError):
    """A redirect leads to another server than the only one that may be asked."""


class Run:
    """The end of a run and its TLS context, which all its requests share."""

    def __init__(self, seconds: float, authority: str | Path | None = None) -> None:
        """Begin now. `authority` is a file with the certificates that vouch for servers; None for the system's."""
        self._end = time.monotonic() + seconds
        self._authority = authority
        self._lock = Lock()

    def seconds_left(self) -> float:
        """Return the seconds until the end; 0 after the end."""
        return max(0.0, self._end - time.monotonic())

    def tls_context(self) -> ssl.SSLContext:
        """Return the context. Reading the certificates of a system takes up to 50 ms."""
        with self._lock:
            return self._context

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._authority)


class Transport:
    """A client for the requests that one question takes. It resolves names itself, and judges each address."""

    def __init__(
        self, run: Run, is_known: Callable[[hosts.ServerOrigin], bool], only: hosts.ServerOrigin | None = None
    ) -> None:
        """`is_known` tells whether the environment of the caller names a server.

        `only` is the only server that is asked; None if redirects may lead to others.
        """
        self._run = run
        self._only = only
        self._is_known = is_known
        self._asks_known = False
        self.is_telling = True
        """Whether the reasons of failures may be told: whether every server asked so far is public or known.

        Reasons that tell an open port from a closed one would make a preview a scanner of the caller's network.
        """

    def open(self, request: urllib.request.Request) -> HTTPResponse:
        """Send a request and return the answer. Raises OSError, or HTTPError for an error status."""
        return cast("HTTPResponse", self._opener.open(request, timeout=self._seconds()))

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler(),
            _Watch(self._watch),
            _Http(self._connect),
            _Https(self._connect, self._run),
            urllib.request.HTTPDefaultErrorHandler(),
            urllib.request.HTTPRedirectHandler(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.UnknownHandler(),
        ):
            opener.add_handler(handler)
        return opener

    def _seconds(self) -> float:
        """Return the seconds that are left. Raises TimeoutError if none are."""
        seconds = self._run.seconds_left()
        if not seconds:
            raise TimeoutError
        return seconds

    def _watch(self, url: str) -> None:
        """Note the server of the next request, which may follow from a redirect.

        Raises RefusedAddressError, and ForeignServerError for a server that may not be asked.
        """
        server = hosts.origin(url)
        if server is None:
            raise OSError
        if hosts.is_refused(server.host):
            raise RefusedAddressError
        if self._only not in {None, server}:
            raise ForeignServerError
        self._asks_known = self._is_known(server)

    def _connect(self, address: tuple[str, int], *_: object) -> socket.socket:
        """Connect to a host and port. Raises OSError, which is RefusedAddressError if an address is refused."""
        may_tell = self.is_telling
        self.is_telling = may_tell and self._asks_known
        host, port = address
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(place[0]) for *_, place in entries))
        self.is_telling = may_tell and (self._asks_known or all(map(hosts.is_public, addresses)))
        if any(map(hosts.is_refused, addresses)):
            raise RefusedAddressError
        return self._connect_to_any(addresses, port)

    def _connect_to_any(self, addresses: list[str], port: int) -> socket.socket:
        """Connect to the first address that accepts. Raises the error of the last address."""
        failure = OSError()
        for address in addresses:
            try:
                connection = socket.create_connection((address, port), min(CONNECT_SECONDS, self._seconds()))
            except OSError as error:
                failure = error
            else:
                connection.settimeout(self._seconds())
                return connection
        raise failure


class _Watch(urllib.request.BaseHandler):
    """Reports the URL of each request, before a proxy replaces its host."""

    handler_order = 0

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report

    def http_request(self, request: urllib.request.Request) -> urllib.request.Request:
        """Report a request."""
        self._report(request.full_url)
        return request

    https_request = http_request


class _Http(urllib.request.HTTPHandler):
    def __init__(self, connect: _Connector) -> None:
        super().__init__()
        self._connect = connect

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        """Send a request."""
        return self.do_open(cast("Any", _maker(http.client.HTTPConnection, self._connect)), req)


class _Https(urllib.request.AbstractHTTPHandler):
    """Opens connections by TLS. `HTTPSHandler` would make a context of its own for each question."""

    def __init__(self, connect: _Connector, run: Run) -> None:
        super().__init__()
        self._connect = connect
        self._run = run

    def https_request(self, request: urllib.request.Request) -> urllib.request.Request:
        """Complete a request."""
        return self.do_request_(request)

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        """Send a request."""
        kind = _maker(http.client.HTTPSConnection, self._connect)
        return self.do_open(cast("Any", kind), req, context=self._run.tls_context())


def _maker(kind: type[http.client.HTTPConnection], connect: _Connector) -> Callable[..., http.client.HTTPConnection]:
    """Return a function that makes connections of a kind, which `connect` opens."""

    def make(host: str, **options: Any) -> http.client.HTTPConnection:  # noqa: ANN401, as the class takes them
        connection = cast("Any", kind(host, **options))
        connection._create_connection = connect  # noqa: SLF001, `http.client` has no public name for what opens one
        return connection

    return make
