"""Asks a registry for the bytes of a ModelKit, anonymously or with the static credentials of Docker's configuration."""

import base64
import hashlib
import http
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Self, cast

from models.source import SCHEMES, place
from planning.weights.sizes import Answer, Size, Unusable, Wanted

_ATTEMPTS = 2
_LARGEST = 8 * 2**20
"""Bytes of a manifest or Kitfile; registries take manifests of up to 4 MiB."""
_LONGEST_CHAIN = 10
"""ModelKits that refer to one another (kit's own limit)."""
_INDEXES = frozenset(
    {"application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"}
)
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_ACCEPT = ", ".join((*_MANIFESTS, *sorted(_INDEXES)))
_KIT = frozenset({"application/vnd.kitops.modelkit.manifest.v1+json", "application/vnd.kitops.modelkit.config.v1+json"})
_PACK = frozenset({"application/vnd.cncf.model.manifest.v1+json", "application/vnd.cncf.model.config.v1+json"})
_LAYER = re.compile(r"application/vnd\.(?:kitops\.modelkit|cncf\.model)\.(\w+(?:\.\w+)?)\.v1\.(?:tar|raw)(\+\w+)?")
_TYPES = {
    "model": frozenset({"model", "modelpart", "weight", "weight.config"}),
    "datasets": frozenset({"dataset"}),
    "code": frozenset({"code"}),
    "docs": frozenset({"docs", "doc"}),
}
"""What the media type of a layer says, in a ModelKit or a ModelPack, by the filter that takes it."""
_KITFILE = "ml.kitops.modelkit.kitfile"
"""The annotation of a ModelPack that kit made."""
_ADDRESSES = {"docker.io": "registry-1.docker.io"}
_DOCKER_HUB = "index.docker.io"
"""The name of docker.io in Docker's configuration."""
_FINAL = frozenset({http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN, http.HTTPStatus.NOT_FOUND})
"""Answers that a second request would not change."""


class _UnusableError(Exception):
    """Nothing could be unpacked."""

    def __init__(self, found: Unusable) -> None:
        super().__init__(found.what)
        self.found = found


class _RefusedError(Exception):
    """The registry did not show what it was asked for."""


def ask(wanted: Wanted, seconds: float) -> Answer:
    """Return the bytes of the layers that kit would unpack; `seconds` bound one answer. Raises where nobody answers."""
    try:
        return _size(wanted, seconds)
    except _UnusableError as error:
        return error.found
    except _RefusedError as error:
        return wanted.unknown(str(error))


def _size(wanted: Wanted, seconds: float) -> Size:
    """Add up a ModelKit and those whose model it refers to; the digest is its own."""
    reference, layers, seen = place(wanted.source), wanted.layers, dict[str, _Kit]()
    counted = list[tuple[int, bool]]()
    while reference is not None:
        if reference in seen or len(seen) > _LONGEST_CHAIN:
            what = f"refers to ModelKits without end ({' -> '.join([*seen, reference])})"
            raise _UnusableError(Unusable("source", what, "pack it with a model.path that holds a model"))
        seen[reference] = kit = _Kit.read(_Repository(reference, wanted, seconds))
        counted += kit.counted(layers)
        reference = kit.parent() if "model" in layers else None
        layers = ("model",)
    total = sum(size for size, _ in counted)
    if not total:
        what = f"takes nothing out of {wanted.source} ({', '.join(wanted.layers)})"
        raise _UnusableError(Unusable("filter", what, "name layers that the ModelKit has, or another ModelKit"))
    return Size(total, digest=next(iter(seen.values())).digest, packed=any(packed for _, packed in counted))


class _Repository:
    """One repository of a registry; keeps the authorization that it was given."""

    def __init__(self, reference: str, wanted: Wanted, seconds: float) -> None:
        self.reference = reference
        self._host, _, path = reference.partition("/")
        self._pinned = "@" in path
        self._name, _, self._version = path.partition("@" if self._pinned else ":")
        self._wanted, self._seconds = wanted, seconds
        self._authorization: str | None = None
        self._login = _login(self._host)

    def manifest(self) -> tuple[bytes, str]:
        """Return the manifest's text and its digest, checked against what was asked for and what the registry says."""
        try:
            body, claimed = self._get(f"manifests/{self._version}", _ACCEPT)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            raise self._absent() from None
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        expected = self._version if self._pinned else claimed if (claimed or "").startswith("sha256:") else digest
        if digest != expected:
            what = f"has a manifest of another digest than its registry says ({digest})"
            raise _UnusableError(Unusable("source", what, f"push it again, so that it is {expected}"))
        return body, digest

    def blob(self, digest: str) -> bytes:
        """Return a blob, checked against its digest."""
        body, _ = self._get(f"blobs/{digest}", "*/*")
        if digest != f"sha256:{hashlib.sha256(body).hexdigest()}":
            what = f"has a Kitfile of another digest than its manifest says ({self.reference})"
            raise _UnusableError(Unusable("source", what, f"push it again, so that it is {digest}"))
        return body

    def _absent(self) -> Exception:
        if self._wanted.private and self._login is None:
            return _RefusedError("an anonymous request does not find it; the pods ask with credentials")
        remedy = "push it, or correct the reference"
        return _UnusableError(Unusable("source", f"is not in its registry ({self.reference})", remedy))

    def _get(self, path: str, accept: str) -> tuple[bytes, str | None]:
        protocol = "http" if self._wanted.insecure else "https"
        url = f"{protocol}://{_ADDRESSES.get(self._host, self._host)}/v2/{self._name}/{path}"
        try:
            return self._open(url, accept, self._authorization)
        except urllib.error.HTTPError as error:
            if error.code not in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
                raise
            challenge = error.headers.get("WWW-Authenticate", "")
        if self._authorization is None:
            self._authorization = self._authorize(challenge)
            return self._get(path, accept)
        raise _RefusedError("access was denied to whoever runs this; the pods may have other rights")

    def _authorize(self, challenge: str) -> str:
        """Return the header that answers a challenge."""
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic" and self._login is not None:
            return f"Basic {self._login}"
        given = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        realm = str(given.get("realm", ""))
        safe = ("http://", "https://") if self._wanted.insecure else ("https://",)
        if kind.lower() != "bearer" or not realm.startswith(safe):
            raise _RefusedError("access was denied to an anonymous request; the pods may have other rights")
        asked = {"service": given.get("service", ""), "scope": given.get("scope") or f"repository:{self._name}:pull"}
        login = None if self._login is None else f"Basic {self._login}"
        url = f"{realm}{'&' if '?' in realm else '?'}{urllib.parse.urlencode(asked)}"
        return f"Bearer {self._token(url, login)}"

    def _token(self, url: str, login: str | None) -> str:
        try:
            answer = json.loads(self._open(url, "application/json", login)[0])
        except urllib.error.HTTPError as error:
            if error.code not in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
                raise
            raise _RefusedError("no token was given to whoever runs this; the pods may have other rights") from None
        return str(answer.get("token") or answer["access_token"])

    def _open(self, url: str, accept: str, authorization: str | None) -> tuple[bytes, str | None]:
        """Return body and digest header. The authorization stays with the host that it is meant for."""
        request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310, callers write the protocol
        if authorization is not None:
            request.add_unredirected_header("Authorization", authorization)
        for attempt in range(_ATTEMPTS):
            last = attempt == _ATTEMPTS - 1
            try:
                with urllib.request.urlopen(request, timeout=self._seconds) as response:  # noqa: S310, as above
                    return _whole(response), response.headers.get("Docker-Content-Digest")
            except urllib.error.HTTPError as error:
                error.close()
                if error.code in _FINAL:
                    raise
                if last:
                    raise _RefusedError(f"the registry answered {error.code}") from None
            except OSError:
                if last:
                    raise
        raise AssertionError


@dataclass(frozen=True, slots=True)
class _Kit:
    """The manifest of a ModelKit or ModelPack, and its Kitfile."""

    manifest: Mapping[str, Any]
    kitfile: Mapping[str, Any]
    digest: str

    @classmethod
    def read(cls, repository: _Repository) -> Self:
        """Read manifest and Kitfile; raises `_UnusableError` for what is no ModelKit or ModelPack."""
        body, digest = repository.manifest()
        manifest = json.loads(body)
        config = manifest.get("config", {})
        types = {manifest.get("artifactType"), config.get("mediaType")}
        if manifest.get("mediaType") in _INDEXES or "manifests" in manifest:
            remedy = "write the tag or digest of one of them"
            raise _UnusableError(Unusable("source", f"is an index of manifests ({repository.reference})", remedy))
        if types & _KIT:
            return cls(manifest, json.loads(repository.blob(config["digest"])), digest)
        if types & _PACK:
            return cls(manifest, json.loads(manifest.get("annotations", {}).get(_KITFILE) or "{}"), digest)
        remedy = "write a reference that kit pack made, or image:// where weights are inside the engine's image"
        raise _UnusableError(Unusable("source", f"is no ModelKit ({repository.reference})", remedy))

    def counted(self, layers: Sequence[str]) -> Iterator[tuple[int, bool]]:
        """Yield the bytes of each layer that is unpacked, and whether it is compressed."""
        if "kitfile" in layers and self.kitfile:
            yield len(json.dumps(self.kitfile)), False
        for layer in self.manifest.get("layers", ()):
            matched = _LAYER.fullmatch(layer["mediaType"])
            if matched and any(matched[1] in _TYPES.get(name, ()) for name in layers):
                yield int(layer["size"]), matched[2] is not None

    def parent(self) -> str | None:
        """Return the ModelKit that this one takes its model from, if it does."""
        model = cast("dict[str, Any]", self.kitfile.get("model") or {})
        path = str(model.get("path") or "")
        if ":" not in path and "@" not in path:
            return None
        if re.fullmatch(SCHEMES["kit"].pattern, path) is None:
            raise _RefusedError("it refers to a ModelKit that cannot be asked for by name")
        return path


def _whole(response: HTTPResponse) -> bytes:
    """Read a body; half of one is an error, because it would look like one of another digest."""
    body = response.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise _RefusedError(f"the registry's answer is longer than {_LARGEST} bytes")
    if len(body) < int(response.headers.get("Content-Length") or 0):
        raise ConnectionResetError
    return body


def _login(host: str) -> str | None:
    """Return user and password for a registry, in base64, from `auths` of Docker's configuration; no helper is run.

    Raises OSError or ValueError where the file cannot be read: that is not the same as having no credentials.
    """
    path = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"
    try:
        auths = cast("dict[str, dict[str, str]]", json.loads(path.read_text(encoding="utf-8")).get("auths") or {})
    except FileNotFoundError:
        return None
    name = _DOCKER_HUB if host in _ADDRESSES else host
    entry = next((auths[key] for key in auths if _named(key) == name), dict[str, str]())
    if entry.get("auth") or not entry.get("username"):
        return entry.get("auth")
    return base64.b64encode(f"{entry['username']}:{entry.get('password', '')}".encode()).decode()


def _named(key: str) -> str:
    """Return the host that a key of `auths` names; some are URLs with a path."""
    return key.partition("://")[2].partition("/")[0] if "://" in key else key.partition("/")[0]
