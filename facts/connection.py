"""Connections that read JSON from an API server.

A connection uses `http.client` if the kubeconfig permits it, and otherwise the Kubernetes client.
"""

import contextlib
import http.client
import importlib
import json
import os
import socket
import ssl
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import yaml

from facts import kubeconfig
from facts.kubeconfig import Access, Endpoint, Material, NeedsClient, Tls

_NO_QUERY: Mapping[str, str] = {}
_JSON = "application/json"


class RefusedError(Exception):
    """The API server answered with another status than the expected one, which is 200 or 201."""

    def __init__(self, status: int) -> None:
        super().__init__(f"it answered {status}")
        self.status = status


class NewConnectionError(OSError):
    """The server accepts no connection.

    Messages show the class name of an error. The Kubernetes client's error has the same class name, so that messages do
    not depend on the kind of connection.
    """


class NameResolutionError(OSError):
    """The server's name has no address. The class is named like the Kubernetes client's, as `NewConnectionError` is."""


class Connection(Protocol):
    """A connection to an API server."""

    def get(self, path: str, accepted: str, query: Mapping[str, str] = _NO_QUERY) -> Mapping[str, Any]:
        """Return the JSON at a path. `accepted` is the value of the Accept header.

        Raises RefusedError if the server answers with another status than 200.
        """
        ...

    def ask(self, path: str, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create a review, such as a SelfSubjectRulesReview, and return the answer. The server does not store reviews.

        `path` is the path of the kind of review, and `question` is the review. Raises RefusedError if the server
        answers with another status than 201.
        """
        ...


@contextmanager
def connect(access: Access, seconds: float) -> Generator[Connection, None, None]:
    """Connect to the API server to which `access` leads. `seconds` is the timeout of each request."""
    endpoint = kubeconfig.endpoint(access)
    if isinstance(endpoint, NeedsClient):
        with _client(access, endpoint) as api:
            yield _Client(api, seconds)
    else:
        with contextlib.closing(_HttpConnection(endpoint, seconds)) as connection:
            yield _Plain(endpoint, connection)


class _Plain:
    """A connection by `http.client`. It stays open between requests."""

    def __init__(self, endpoint: Endpoint, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._prefix = urlsplit(endpoint.url).path
        self._headers = {"Authorization": endpoint.authorization} if endpoint.authorization else {}

    def get(self, path: str, accepted: str, query: Mapping[str, str] = _NO_QUERY) -> Mapping[str, Any]:
        """Return the answer to a GET request. Raises RefusedError if the answer's status is not 200."""
        target = f"{self._prefix}{path}" + (f"?{urlencode(query)}" if query else "")
        self._connection.request("GET", target, headers={**self._headers, "Accept": accepted})
        return self._answer(http.HTTPStatus.OK)

    def ask(self, path: str, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a POST request. Raises RefusedError if the answer's status is not 201."""
        headers = {**self._headers, "Accept": _JSON, "Content-Type": _JSON}
        self._connection.request("POST", f"{self._prefix}{path}", body=json.dumps(question), headers=headers)
        return self._answer(http.HTTPStatus.CREATED)

    def _answer(self, expected: http.HTTPStatus) -> Mapping[str, Any]:
        response = self._connection.getresponse()
        content = response.read()
        return _json(response.status, content, expected)


class _Client:
    """A connection by the Kubernetes client."""

    def __init__(self, api: Any, seconds: float) -> None:  # noqa: ANN401, the client is untyped
        self._api = api
        self._seconds = seconds

    def get(self, path: str, accepted: str, query: Mapping[str, str] = _NO_QUERY) -> Mapping[str, Any]:
        """Return the answer to a GET request. Raises RefusedError if the answer's status is not 200."""
        headers = {"Accept": accepted}
        return self._answer(http.HTTPStatus.OK, "GET", path, query_params=list(query.items()), header_params=headers)

    def ask(self, path: str, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a POST request. Raises RefusedError if the answer's status is not 201."""
        headers = {"Accept": _JSON, "Content-Type": _JSON}
        return self._answer(http.HTTPStatus.CREATED, "POST", path, header_params=headers, body=question)

    def _answer(self, expected: http.HTTPStatus, method: str, path: str, **options: Any) -> Mapping[str, Any]:  # noqa: ANN401
        request = self._api.param_serialize(method, path, auth_settings=["BearerToken"], **options)
        response = self._api.call_api(*request, _request_timeout=self._seconds)
        response.read()
        return _json(response.status, response.data, expected)


def _json(status: int, content: bytes, expected: http.HTTPStatus) -> Mapping[str, Any]:
    if status != expected:
        raise RefusedError(status)
    return json.loads(content)


class _HttpConnection(http.client.HTTPConnection):
    """A connection that uses TLS if `endpoint.tls` is set.

    The server's certificate must be valid for `tls.server_name`, or for the URL's host if `tls.server_name` is None.
    """

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        parts, tls = urlsplit(endpoint.url), endpoint.tls
        host = parts.hostname or ""
        self.default_port = http.client.HTTPS_PORT if tls else http.client.HTTP_PORT
        super().__init__(host, parts.port or self.default_port, timeout=seconds)
        self._context = _tls_context(tls) if tls else None
        self._server_name = (tls and tls.server_name) or host

    def connect(self) -> None:
        """Open the connection. Raises NameResolutionError or NewConnectionError if the server cannot be reached."""
        try:
            super().connect()
        except socket.gaierror:
            raise NameResolutionError from None
        except OSError:
            raise NewConnectionError from None
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
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
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


def _client(access: Access, endpoint: NeedsClient) -> Any:  # noqa: ANN401, the client is untyped
    """Return a Kubernetes client. Its package is imported only here, because the import takes a third of a second."""
    client, config = (importlib.import_module(f"kubernetes.{module}") for module in ("client", "config"))
    settings = client.Configuration()
    settings.retries = False
    if access.kubeconfig is None:
        files = os.pathsep.join(map(str, endpoint.files))
        config.load_kube_config(
            config_file=files, context=endpoint.context, client_configuration=settings, persist_config=False
        )
    else:
        content = yaml.safe_load(access.kubeconfig)
        config.load_kube_config_from_dict(content, context=endpoint.context, client_configuration=settings)
    return client.ApiClient(settings)
