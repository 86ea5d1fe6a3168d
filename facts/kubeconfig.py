"""Reader of kubeconfigs: the server of a context, the verification of the server, and the user's credentials.

This module follows kubectl, because kubectl and the Pulumi provider use the same Go code. The rules are in
`k8s.io/client-go`: `tools/clientcmd/loader.go` for files, and `tools/clientcmd/client_config.go` for users.
"""

import base64
import contextlib
import ipaddress
import json
import os
import time
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTP_PORT
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import yaml

from facts import credential_plugin
from facts.credential_plugin import Credential
from models.trees import EMPTY, mapping

Material = bytes | Path
"""Certificates or a key: PEM text, or the path of a file with PEM text."""

_VARIABLE = "KUBECONFIG"
_FILE_REMEDY = "or read the facts elsewhere with `python -m cli facts`, and name the file in cluster.facts"
_PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"
"""Name of an extension of a cluster's entry. Credential plugins get its content as their configuration."""


class KubeconfigError(Exception):
    """A kubeconfig is invalid, or names no server. The error's text never contains a credential."""


class UnsupportedError(KubeconfigError):
    """A kubeconfig needs something that this program does not do. The text has a remedy."""


@dataclass(frozen=True, slots=True)
class KubeAccess:
    """Kubeconfig and context by which a cluster is reached."""

    kubeconfig: str | None
    """Text of a kubeconfig. If it is None, the files that KUBECONFIG names are read, or `~/.kube/config`."""
    context: str | None
    """Name of a context in the kubeconfig. If it is None, the current context is used."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Verification of a server, and the client's certificate."""

    ca: Material | None
    """CA certificates that verify the server. None for the system's CA certificates."""
    insecure: bool
    server_name: str | None
    """Name that the server's certificate must have. None for the host of the URL."""
    certificate: Material | None = field(repr=False)
    key: Material | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy in front of a server."""

    host: str
    port: int
    headers: Mapping[str, str] = field(repr=False)
    """Headers with the credentials for the proxy; empty if it needs none."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, the way to it, and the credentials for it."""

    url: str
    """URL of the server, without a slash at the end. If the URL has a path, the API's paths are below it."""
    tls: Tls | None
    """None if the protocol is http."""
    authorization: str | None = field(repr=False)
    """Value of the Authorization header. None if requests have no such header."""
    proxy: Proxy | None = None


@dataclass(frozen=True, slots=True)
class _Document:
    content: Mapping[str, Any]
    folder: Path
    """Folder to which paths in the kubeconfig are relative."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named cluster, user or context."""

    fields: Mapping[str, Any]
    folder: Path

    def material(self, name: str) -> Material | None:
        """Return certificates or a key: the content of the field `<name>-data`, or else the path in the field `name`.

        None if both fields are absent.
        """
        data = self.fields.get(f"{name}-data")
        if data:
            try:
                return base64.b64decode(data)
            except ValueError:
                raise KubeconfigError(f"{name}-data is not base64") from None
        path = self.fields.get(name)
        if path:
            return self.folder / path
        return None


def endpoint(access: KubeAccess) -> Endpoint:
    """Return the server of a context, and the user's credentials. Runs the credential plugin of the context's user.

    If the context names no user, or a user that the kubeconfig does not contain, requests carry no credentials, as in
    kubectl. Raises `UnsupportedError` for a server, a proxy or a user that this program cannot use.
    """
    documents = _documents(access)
    name = access.context or _current_context(documents)
    context = _entry(documents, "contexts", name)
    cluster = _entry(documents, "clusters", context.fields.get("cluster"))
    user = _entry(documents, "users", context.fields.get("user"), required=False)
    url = str(cluster.fields.get("server") or "").rstrip("/")
    if not url:
        raise KubeconfigError(f"the cluster of context {name} has no server")
    if urlsplit(url).scheme not in {"http", "https"}:
        raise UnsupportedError("its server has no scheme in the kubeconfig; write https:// before it")
    proxy = _proxy(url, cluster)
    credential = _credential(cluster, user)
    return Endpoint(url, _tls(url, cluster, user, credential), _authorization(user, credential), proxy)


def cluster_name(access: KubeAccess) -> str:
    """Return the name of the cluster in the context of `access`.

    If `access` names no context, or a context that the kubeconfig does not contain, the current context is used.
    """
    documents = _documents(access)
    current = _entry(documents, "contexts", _current_context(documents))
    context = _entry(documents, "contexts", access.context, required=False)
    return str((context.fields or current.fields)["cluster"])


def _documents(access: KubeAccess) -> Sequence[_Document]:
    """Return the content of the kubeconfig's text, or the contents of its existing files in order of precedence."""
    if access.kubeconfig is not None:
        return (_Document(_content(access.kubeconfig), Path.cwd()),)
    return [_Document(_content(path.read_bytes()), path.absolute().parent) for path in _files()]


def _files() -> tuple[Path, ...]:
    names = os.environ.get(_VARIABLE) or str(Path.home() / ".kube" / "config")
    paths = (Path(name) for name in dict.fromkeys(names.split(os.pathsep)) if name)
    return tuple(path for path in paths if path.exists())


def _content(text: str | bytes) -> Mapping[str, Any]:
    loader = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    try:
        content = yaml.load(text, Loader=loader)  # noqa: S506, a safe loader
    except yaml.YAMLError:
        # The error is not re-raised: its message quotes the kubeconfig, which may contain credentials. `()` is
        # rejected below.
        content = ()
    if content is None:
        return EMPTY
    if not isinstance(content, dict):
        raise KubeconfigError("the kubeconfig is not a mapping of YAML")
    return cast("Mapping[str, Any]", content)


def _current_context(documents: Sequence[_Document]) -> str:
    """Return the current context of the first file that sets one.

    `ClientConfigLoadingRules.Load` of client-go merges single values in reverse order, so that the first file wins.
    """
    names = (document.content.get("current-context") for document in documents)
    name = next(filter(None, names), None)
    if name is None:
        raise KubeconfigError("the kubeconfig has no current context")
    return str(name)


def _entry(documents: Sequence[_Document], section: str, name: str | None, *, required: bool = True) -> _Entry:
    """Return the entry called `name` from the first file that has it.

    If no file has this entry, raises KubeconfigError. If the entry is not `required`, returns an empty entry instead.
    """
    for document in documents:
        entries = cast("Sequence[Mapping[str, Any]]", document.content.get(section) or ())
        named = [entry for entry in entries if entry["name"] == name]
        if len(named) > 1:
            raise KubeconfigError(f"the kubeconfig has several entries with the name {name} under {section}")
        if named:
            return _Entry(named[0].get(section.removesuffix("s")) or EMPTY, document.folder)
    if required:
        raise KubeconfigError(f"the kubeconfig has no entry with the name {name} under {section}")
    return _Entry(EMPTY, Path())


def _proxy(url: str, cluster: _Entry) -> Proxy | None:
    """Return the proxy that a cluster's entry names, or else the proxy of the environment; None if there is none."""
    text = str(cluster.fields.get("proxy-url") or "") or _environment_proxy(url)
    if not text:
        return None
    if "://" not in text:
        text = f"http://{text}"
    parts = urlsplit(text)
    if parts.scheme != "http" or not parts.hostname:
        raise UnsupportedError(f"its proxy is no HTTP proxy; name a proxy that begins with http://, {_FILE_REMEDY}")
    headers = dict[str, str]()
    if parts.username:
        headers["Proxy-Authorization"] = _basic(unquote(parts.username), unquote(parts.password or ""))
    return Proxy(parts.hostname, parts.port or HTTP_PORT, headers)


def _environment_proxy(url: str) -> str:
    """Return the proxy that the environment has for a URL; empty if there is none, or if none is used for the host.

    As in Go, the local host needs no proxy, NO_PROXY may have ranges and `*`, and ALL_PROXY has no effect
    (golang.org/x/net, http/httpproxy/proxy.go).
    """
    parts = urlsplit(url)
    proxies = urllib.request.getproxies()
    excluded = [entry.strip() for entry in proxies.get("no", "").split(",")]
    if "*" in excluded or urllib.request.proxy_bypass(parts.netloc) or _is_excluded(parts.hostname or "", excluded):
        return ""
    return proxies.get(parts.scheme) or ""


def _is_excluded(host: str, ranges: Iterable[str]) -> bool:
    """Tell whether a host is the local host, or an address in a range. `ranges` may contain names, too."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    for entry in ranges:
        with contextlib.suppress(ValueError):
            if address in ipaddress.ip_network(entry, strict=False):
                return True
    return address.is_loopback


def _credential(cluster: _Entry, user: _Entry) -> Credential:
    """Run the user's credential plugin and return its answer.

    The answer is empty if the user has no plugin. It is also empty if the user has other credentials, because client-go
    does not run the plugin then.
    """
    plugin = user.fields.get("exec")
    others = ("token", "tokenFile", "username", "password", "client-certificate", "client-certificate-data")
    if not plugin or any(user.fields.get(name) for name in others):
        return Credential("", b"", b"")
    return credential_plugin.run(plugin, user.folder, _plugin_cluster(cluster))


def _plugin_cluster(cluster: _Entry) -> Mapping[str, Any]:
    """Return a cluster in the form that credential plugins read.

    Certificates are data instead of paths, and `config` is the extension for the plugin.
    """
    pem = cluster.material("certificate-authority")
    if isinstance(pem, Path):
        pem = pem.read_bytes()
    extensions = {item["name"]: item["extension"] for item in cluster.fields.get("extensions") or ()}
    fields = {
        **{name: cluster.fields.get(name) for name in ("proxy-url", "tls-server-name", "insecure-skip-tls-verify")},
        "certificate-authority-data": base64.b64encode(pem).decode() if pem else None,
        "disable-compression": cluster.fields.get("disable-compression"),
        "config": extensions.get(_PLUGIN_EXTENSION),
    }
    return {"server": cluster.fields["server"], **{name: value for name, value in fields.items() if value}}


def _tls(url: str, cluster: _Entry, user: _Entry, credential: Credential) -> Tls | None:
    if urlsplit(url).scheme != "https":
        return None
    return Tls(
        cluster.material("certificate-authority"),
        bool(cluster.fields.get("insecure-skip-tls-verify")),
        cluster.fields.get("tls-server-name") or None,
        credential.certificate or user.material("client-certificate"),
        credential.key or user.material("client-key"),
    )


def _authorization(user: _Entry, credential: Credential) -> str | None:
    token = credential.token or _token(user)
    name, password = (str(user.fields.get(field) or "") for field in ("username", "password"))
    if token:
        value = f"Bearer {token}"
    elif name or password:
        value = _basic(name, password)
    elif provider := user.fields.get("auth-provider"):
        value = f"Bearer {_provider_token(provider)}"
    else:
        return None
    if not (value.isascii() and value.isprintable()):
        raise KubeconfigError("the user's token has characters that no header may have")
    return value


def _basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


def _provider_token(provider: Mapping[str, Any]) -> str:
    """Return the token that an identity provider gave to kubectl.

    An expired token is not renewed: the answer has a new refresh token, too, and whoever does not write it into the
    kubeconfig takes kubectl's access away.
    """
    name = provider.get("name")
    if name != "oidc":
        raise UnsupportedError(
            f"kubectl no longer has the auth-provider {name}; use a credential plugin, {_FILE_REMEDY}"
        )
    token = str(mapping(provider.get("config")).get("id-token") or "")
    if _expiry(token) <= time.time():
        raise UnsupportedError("the kubeconfig's OIDC token has expired; run `kubectl version`, which renews it")
    return token


def _expiry(token: str) -> float:
    """Return the time at which a JSON Web Token expires, in seconds since 1970; 0 if the text is no such token."""
    try:
        _, claims, _ = token.split(".")
        return float(json.loads(base64.urlsafe_b64decode(f"{claims}=="))["exp"])
    except (ValueError, KeyError, TypeError):
        return 0.0


def _token(user: _Entry) -> str:
    """Return the token in the user's `tokenFile`, or else the token in the kubeconfig.

    The file takes precedence, because its token may be renewed.
    """
    token = str(user.fields.get("token") or "")
    path = user.fields.get("tokenFile")
    if not path:
        return token
    try:
        return (user.folder / path).read_text(encoding="utf-8").strip() or token
    except OSError:
        if token:
            return token
        raise
