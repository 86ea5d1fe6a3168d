"""Connections that read JSON from an API server, by `http.client`."""

import contextlib
import http.client
import json
import socket
import ssl
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from facts import kubeconfig
from facts.kubeconfig import Endpoint, KubeAccess, Material, Tls
from models.trees import EMPTY

_JSON = "application/json"


class RefusedError(Exception):
    """The API server answered with another status than the expected one, which is 200 or 201."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered {status}")
        self.status = status


class UnreachableError(OSError):
    """There is no connection to the server, or to the proxy in front of it. The text never contains a credential."""


class Connection:
    """A connection to an API server, which stays open between requests."""

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        """`seconds` is the timeout of each request."""
        self._connection = _HttpConnection(endpoint, seconds)
        self._prefix = urlsplit(endpoint.url).path
        self._headers = dict[str, str]()
        if endpoint.authorization:
            self._headers["Authorization"] = endpoint.authorization
        if endpoint.proxy and endpoint.tls is None:
            self._prefix = endpoint.url
            self._headers.update(endpoint.proxy.headers)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, path: str, accepted: str, query: Mapping[str, str] = EMPTY) -> Mapping[str, Any]:
        """Return the JSON at a path. `accepted` is the value of the Accept header.

        Raises RefusedError if the server answers with another status than 200.
        """
        target = f"{self._prefix}{path}"
        if query:
            target += f"?{urlencode(query)}"
        self._connection.request("GET", target, headers={**self._headers, "Accept": accepted})
        return self._answer(http.HTTPStatus.OK)

    def text(self, path: str, query: Mapping[str, str] = EMPTY) -> str:
        """Return the text at a path, such as the log of a pod. Raises RefusedError as `get` does."""
        self._connection.request("GET", f"{self._prefix}{path}?{urlencode(query)}", headers=self._headers)
        return self._content(http.HTTPStatus.OK).decode(errors="replace")

    def ask(self, path: str, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create a review, such as a SelfSubjectRulesReview, and return the answer. The server does not store reviews.

        `path` is the path of the kind of review, and `question` is the review. Raises RefusedError if the server
        answers with another status than 201.
        """
        headers = {**self._headers, "Accept": _JSON, "Content-Type": _JSON}
        self._connection.request("POST", f"{self._prefix}{path}", body=json.dumps(question), headers=headers)
        return self._answer(http.HTTPStatus.CREATED)

    def _answer(self, expected: http.HTTPStatus) -> Mapping[str, Any]:
        return json.loads(self._content(expected))

    def _content(self, expected: http.HTTPStatus) -> bytes:
        response = self._connection.getresponse()
        content = response.read()
        if response.status != expected:
            raise RefusedError(response.status)
        return content


@contextmanager
def connect(access: KubeAccess, seconds: float) -> Generator[Connection, None, None]:
    """Connect to the API server to which `access` leads. `seconds` is the timeout of each request."""
    with contextlib.closing(Connection(kubeconfig.endpoint(access), seconds)) as connection:
        yield connection


class _HttpConnection(http.client.HTTPConnection):
    """A connection that uses TLS if `endpoint.tls` is set, and a proxy if `endpoint.proxy` is set.

    The server's certificate must be valid for `tls.server_name`, or for the URL's host if `tls.server_name` is None. A
    proxy opens a tunnel to a server with TLS. To a server without TLS, it passes requests on.
    """

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        parts = urlsplit(endpoint.url)
        host = parts.hostname or ""
        tls = endpoint.tls
        proxy = endpoint.proxy
        self.default_port = http.client.HTTPS_PORT if tls else http.client.HTTP_PORT
        port = parts.port or self.default_port
        if proxy is None:
            self._first = "it"
            super().__init__(host, port, timeout=seconds)
        else:
            self._first = "its proxy"
            super().__init__(proxy.host, proxy.port, timeout=seconds)
        self._context = None
        if tls:
            self._context = _tls_context(tls)
            self._server_name = tls.server_name or host
            if proxy is not None:
                # Python 3.11 writes the host into the request as it is given, and an IPv6 address needs brackets there.
                bracketed = f"[{host}]" if ":" in host else host
                self.set_tunnel(bracketed, port, dict(proxy.headers))

    def connect(self) -> None:
        """Open the connection. Raises UnreachableError if the server or its proxy cannot be reached."""
        try:
            super().connect()
        except socket.gaierror:
            raise UnreachableError(f"{self._first} has no address") from None
        except OSError:
            raise UnreachableError(f"{self._first} opens no connection") from None
        if self._context:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)


def _tls_context(tls: Tls) -> ssl.SSLContext:
    """Return a context that verifies certificates as kubectl does.

    The strict checks of `ssl.create_default_context` are off, because the certificate authorities of many clusters do
    not pass them.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif tls.ca is None:
        context.load_default_certs()
    else:
        with _file(tls.ca) as path:
            context.load_verify_locations(path)
    if tls.certificate is not None:
        with _file(tls.certificate) as certificate, _file(tls.key or tls.certificate) as key:
            # Without this empty password, OpenSSL would ask for the key's password on the terminal.
            context.load_cert_chain(certificate, key, password=b"")
    return context


@contextmanager
def _file(material: Material) -> Generator[Path, None, None]:
    """Yield the path of a file with certificates or a key. `ssl` reads certificates and keys only from files.

    If `material` is PEM text, the text is written to a file that is removed afterwards.
    """
    if isinstance(material, Path):
        yield material
        return
    with tempfile.TemporaryDirectory() as folder:  # other users cannot read it
        path = Path(folder, "pem")
        path.write_bytes(material)
        yield path
