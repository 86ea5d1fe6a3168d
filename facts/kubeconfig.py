"""Reader of kubeconfigs: the server of a context, the verification of the server, and the user's credentials.

If kubectl and the Python client differ, this module follows kubectl, because kubectl and the Pulumi provider use the
same Go code. The rules are in `k8s.io/client-go`: `tools/clientcmd/loader.go` for files, and
`tools/clientcmd/client_config.go` for users.
"""

import base64
import os
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import yaml

from facts import credential_plugin
from facts.credential_plugin import Credential

Material = bytes | Path
"""Certificates or a key: PEM text, or the path of a file with PEM text."""

_VARIABLE = "KUBECONFIG"
_NONE: Mapping[str, Any] = {}
_PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"
"""Name of an extension of a cluster's entry. Credential plugins get its content as their configuration."""


class KubeconfigError(Exception):
    """A kubeconfig is invalid, or names no server. The error's text never contains a credential."""


@dataclass(frozen=True, slots=True)
class Access:
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
class Endpoint:
    """A server that `http.client` can reach, and the credentials for this server."""

    url: str
    """URL of the server, without a slash at the end. If the URL has a path, the API's paths are below it."""
    tls: Tls | None
    """None if the protocol is http."""
    authorization: str | None = field(repr=False)
    """Value of the Authorization header. None if requests have no such header."""


@dataclass(frozen=True, slots=True)
class NeedsClient:
    """A context that only the Kubernetes client can use, for example because of a proxy or an `auth-provider`."""

    files: tuple[Path, ...]
    """Files of the kubeconfig. Empty if the kubeconfig was given as text."""
    context: str


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
        data, path = self.fields.get(f"{name}-data"), self.fields.get(name)
        if not data:
            return self.folder / path if path else None
        try:
            return base64.b64decode(data)
        except ValueError:
            raise KubeconfigError(f"{name}-data is not base64") from None


def endpoint(access: Access) -> Endpoint | NeedsClient:
    """Return the server of a context, and the user's credentials. Runs the credential plugin of the context's user.

    If the context names no user, or a user that the kubeconfig does not contain, requests carry no credentials, as in
    kubectl.
    """
    documents = _documents(access)
    name = access.context or _current_context(documents)
    context = _entry(documents, "contexts", name)
    cluster = _entry(documents, "clusters", context.fields.get("cluster"))
    user = _entry(documents, "users", context.fields.get("user"), required=False)
    url = str(cluster.fields.get("server") or "").rstrip("/")
    if not url:
        raise KubeconfigError(f"the cluster of context {name} has no server")
    if _needs_client(url, cluster.fields, user.fields):
        return NeedsClient(() if access.kubeconfig is not None else _files(), name)
    credential = _credential(cluster, user)
    return Endpoint(url, _tls(url, cluster, user, credential), _authorization(user, credential))


def cluster_name(access: Access) -> str:
    """Return the name of the cluster in the context of `access`.

    If `access` names no context, or a context that the kubeconfig does not contain, the current context is used.
    """
    documents = _documents(access)
    current = _entry(documents, "contexts", _current_context(documents))
    context = _entry(documents, "contexts", access.context, required=False)
    return str((context.fields or current.fields)["cluster"])


def _documents(access: Access) -> Sequence[_Document]:
    """Return the content of the kubeconfig's text, or the contents of its existing files in order of precedence."""
    if access.kubeconfig is not None:
        return (_Document(_content(access.kubeconfig), Path.cwd()),)
    return [_Document(_content(path.read_bytes()), path.absolute().parent) for path in _files()]


def _files() -> tuple[Path, ...]:
    names = os.environ.get(_VARIABLE)
    paths = [Path(name) for name in names.split(os.pathsep) if name] if names else [Path.home() / ".kube" / "config"]
    return tuple(path for path in dict.fromkeys(paths) if path.exists())


def _content(text: str | bytes) -> Mapping[str, Any]:
    loader = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    try:
        content = yaml.load(text, Loader=loader)  # noqa: S506, a safe loader
    except yaml.YAMLError:
        # The error is not re-raised: its message quotes the kubeconfig, which may contain credentials. `()` is
        # rejected below.
        content = ()
    if content is None:
        return _NONE
    if not isinstance(content, dict):
        raise KubeconfigError("the kubeconfig is not a mapping of YAML")
    return cast("Mapping[str, Any]", content)


def _current_context(documents: Sequence[_Document]) -> str:
    """Return the current context of the first file that sets one.

    `ClientConfigLoadingRules.Load` of client-go merges single values in reverse order, so that the first file wins. In
    the Python client, the last file wins.
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
        found = [entry for entry in entries if entry["name"] == name]
        if len(found) > 1:
            raise KubeconfigError(f"the kubeconfig has several entries with the name {name} under {section}")
        if found:
            return _Entry(found[0].get(section.removesuffix("s")) or _NONE, document.folder)
    if required:
        raise KubeconfigError(f"the kubeconfig has no entry with the name {name} under {section}")
    return _Entry(_NONE, Path())


def _needs_client(url: str, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> bool:
    """Return whether only the Kubernetes client can use a context."""
    unsupported = user.get("auth-provider") or cluster.get("proxy-url") or urlsplit(url).scheme not in {"http", "https"}
    return bool(unsupported) or _has_proxy(url)


def _has_proxy(url: str) -> bool:
    """Return whether the environment has a proxy for a URL.

    The result may be true for a URL that NO_PROXY excludes, because address ranges in NO_PROXY are not recognized here.
    In that case the Kubernetes client is used. This client recognizes address ranges, and uses no proxy.
    """
    parts, proxies = urlsplit(url), urllib.request.getproxies()
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(parts.netloc)


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
    ca = cluster.material("certificate-authority")
    pem = ca.read_bytes() if isinstance(ca, Path) else ca
    extensions = {item["name"]: item["extension"] for item in cluster.fields.get("extensions") or ()}
    fields = {
        **{name: cluster.fields.get(name) for name in ("tls-server-name", "insecure-skip-tls-verify")},
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
        value = f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"
    else:
        return None
    if not (value.isascii() and value.isprintable()):
        raise KubeconfigError("the user's token has characters that no header may have")
    return value


def _token(user: _Entry) -> str:
    """Return the token in the user's `tokenFile`, or else the token in the kubeconfig.

    The file takes precedence, because its token may be renewed.
    """
    token, path = str(user.fields.get("token") or ""), user.fields.get("tokenFile")
    if not path:
        return token
    try:
        return (user.folder / path).read_text(encoding="utf-8").strip() or token
    except OSError:
        if token:
            return token
        raise
