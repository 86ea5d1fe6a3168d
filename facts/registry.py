"""Reader of registries: it reads the sizes of ModelKits, and the digests of ModelKits and images.

Requests are anonymous, or carry the registry's credentials from Docker's configuration. The credentials go to the
registry, and to the server of tokens that the registry itself names, but never by plain http except on this machine.
"""

import hashlib
import http
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any, Self, cast

from facts import docker_config, hosts, kit_config
from facts.transport import Transport
from models.source import SCHEMES, bare, place, scheme
from planning.fit.configs import architecture
from planning.ground.cluster_facts import Unknown
from planning.weights.contents import Content
from planning.weights.sizes import Answer, Size, Unusable, Wanted

_ATTEMPTS = 2
_LARGEST = 8 * 2**20
"""Maximum size of a manifest or Kitfile in bytes. It exceeds the 4 MiB that registries accept for a manifest."""
_LONGEST_REASON = 2**16
"""Bytes of an error that are read."""
_LONGEST_CHAIN = 10
"""Maximum number of references in a chain of ModelKits. The command `kit` has the same limit."""
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
"""Types of layers that each value of `model.filter` selects, spelt as in media types of ModelKits and ModelPacks."""
_KITFILE = "ml.kitops.modelkit.kitfile"
"""Annotation with the Kitfile of a ModelPack that the command `kit` packed."""
_ADDRESSES = {"docker.io": hosts.DOCKER_HUB}
"""Address of each registry whose address differs from its name."""
_FINAL = frozenset({http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN, http.HTTPStatus.NOT_FOUND})
"""HTTP statuses after which a request is not repeated, because the answer would be the same."""


class _UnusableError(Exception):
    """No pod could use the source, because the source has a mistake."""

    def __init__(self, answer: Unusable) -> None:
        super().__init__(answer.what)
        self.answer = answer


class _UnknownSizeError(Exception):
    """The size could not be read. The source may still be correct.

    For example, the registry may deny access to this program and grant it to the pods.
    """


def ask(question: Wanted, transport: Transport) -> Answer:
    """Return the number of bytes in the layers that `kit` would unpack.

    The answer is `Unusable` if the source has a mistake, and `Unknown` if the size cannot be read. Raises OSError or
    ValueError if the registry or Docker's configuration cannot be read.
    """
    try:
        return _size(question, _kits(question, transport))
    except _UnusableError as error:
        return error.answer
    except _UnknownSizeError as error:
        return question.unknown(str(error))


def content(question: Wanted, transport: Transport) -> Content | Unusable | Unknown:
    """Return the source with its digest, and for a ModelKit also size and architecture. Raises the errors of `ask`."""
    reference = _reference(question.source)
    host = reference.partition("/")[0]
    without_version = bare(question.source)
    try:
        if scheme(question.source) == "kit":
            kits = _kits(question, transport)
            size = _size(question, kits)
            numbers = architecture(_config(question, kits))
            return Content(f"{without_version}@{size.digest}", None, size.bytes, size.packed, numbers, host)
        _, digest = _Repository(reference, question, transport).manifest()
    except _UnusableError as error:
        return error.answer
    except _UnknownSizeError as error:
        return question.unknown(str(error))
    return Content(f"{without_version}@{digest}", origin=host)


def _reference(source: str) -> str:
    """Return the reference of a source, always with a registry. A source may leave out the registry of Docker Hub."""
    reference = place(source)
    host, slash, _ = reference.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return reference
    if slash:
        return f"docker.io/{reference}"
    return f"docker.io/library/{reference}"


def _kits(question: Wanted, transport: Transport) -> "list[_Kit]":
    """Return the ModelKit that the source names, and the ModelKits to which that ModelKit leads by references.

    Instead of a model, a ModelKit may contain a reference to another ModelKit, whose model is then unpacked.
    """
    reference = place(question.source)
    kits = dict[str, _Kit]()
    while reference is not None:
        if reference in kits or len(kits) > _LONGEST_CHAIN:
            what = f"does not lead to a model within {_LONGEST_CHAIN} references ({' -> '.join([*kits, reference])})"
            raise _UnusableError(
                Unusable("source", what, "give one of these ModelKits a model.path that names its own files")
            )
        kits[reference] = kit = _Kit.read(_Repository(reference, question, transport))
        reference = None
        if len(kits) > 1 or "model" in question.layers:
            reference = kit.parent()
    return list(kits.values())


def _filters(question: Wanted, kits: "list[_Kit]") -> "Iterator[tuple[_Kit, Sequence[str]]]":
    """Yield each ModelKit with the filters of the layers to unpack.

    Of a ModelKit that another ModelKit refers to, only the layers of the model are unpacked.
    """
    yield kits[0], question.layers
    yield from ((kit, ("model",)) for kit in kits[1:])


def _size(question: Wanted, kits: "list[_Kit]") -> Size:
    """Return the size of all layers to unpack, and the digest of the ModelKit that the source names."""
    layers = [size for kit, filters in _filters(question, kits) for size in kit.layer_sizes(filters)]
    total = sum(size for size, _ in layers)
    if not total:
        what = f"selects no layers of {question.source} ({', '.join(question.layers)})"
        raise _UnusableError(Unusable("filter", what, "name layers that the ModelKit has, or correct the source"))
    return Size(total, digest=kits[0].digest, packed=any(compressed for _, compressed in layers))


def _config(question: Wanted, kits: "list[_Kit]") -> object:
    """Return the `config.json` of the model if it lies in the first bytes of a layer, else None."""
    try:
        for kit, filters in _filters(question, kits):
            for layer in kit_config.candidates(kit.layers(filters), kit.kitfile):
                beginning = kit.repository.beginning(layer["digest"], kit_config.PREFIX)
                config = kit_config.find(layer["mediaType"], beginning)
                if architecture(config) is not None:
                    return config
    except (_UnusableError, _UnknownSizeError, OSError, ValueError):
        pass
    return None


class _Repository:
    """A client for one repository of a registry.

    After the first denied request, the client asks for an authorization. All later requests reuse this authorization.
    """

    def __init__(self, reference: str, question: Wanted, transport: Transport) -> None:
        self.reference = reference
        self._host, _, path = reference.partition("/")
        self._has_digest = "@" in path
        self._name, _, self._tag_or_digest = path.partition("@" if self._has_digest else ":")
        self._name = self._name.partition(":")[0]
        self._question = question
        self._transport = transport
        protocol = "http" if question.insecure else "https"
        self._url = f"{protocol}://{_ADDRESSES.get(self._host, self._host)}"
        self._server = hosts.origin(self._url)
        self._authorization: str | None = None
        self._credentials = None
        if self._server is not None and self._server.is_confidential:
            self._credentials = docker_config.credentials(self._host)

    def manifest(self) -> tuple[bytes, str]:
        """Return the manifest's text and digest.

        The digest must equal the digest in the reference. If the reference contains a tag instead, the digest must
        equal the digest that the registry announces. Raises `_UnusableError` if the digests differ.
        """
        try:
            body, claimed = self._get(f"manifests/{self._tag_or_digest}", _ACCEPT)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            raise self._absence_error(error) from None
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        expected = digest
        if self._has_digest:
            expected = self._tag_or_digest
        elif claimed is not None and claimed.startswith("sha256:"):
            expected = claimed
        if digest != expected:
            what = f"has a manifest with another digest ({digest}) than expected"
            raise _UnusableError(Unusable("source", what, f"push the manifest with the digest {expected} again"))
        return body, digest

    def blob(self, digest: str) -> bytes:
        """Return the blob whose digest is `digest`. Raises `_UnusableError` if the registry sends other content."""
        body, _ = self._get(f"blobs/{digest}", "*/*")
        if digest != f"sha256:{hashlib.sha256(body).hexdigest()}":
            what = f"has a Kitfile whose digest differs from the digest in the manifest ({self.reference})"
            raise _UnusableError(Unusable("source", what, f"push the Kitfile with the digest {digest} again"))
        return body

    def beginning(self, digest: str, length: int) -> bytes:
        """Return the first `length` bytes of the blob whose digest is `digest`, without verification of the digest."""
        return self._get(f"blobs/{digest}", "*/*", length)[0]

    def _absence_error(self, answer: urllib.error.HTTPError) -> Exception:
        """Return the error for a manifest that the registry does not find.

        A registry may also answer 404 if the manifest is private and the request is anonymous. If failures must not be
        told, the 404 of a server that is no registry is no answer.
        """
        if not self._transport.is_telling and not _is_of_registry(answer):
            return _UnknownSizeError("the server is no registry")
        if self._question.private and self._credentials is None:
            return _UnknownSizeError("an anonymous request did not find it; requests of the pods carry credentials")
        remedy = "push it, or correct the reference"
        return _UnusableError(Unusable("source", f"is not in its registry ({self.reference})", remedy))

    def _get(self, path: str, accept: str, length: int | None = None) -> tuple[bytes, str | None]:
        """Return the body and the digest header of an answer.

        At most `length` bytes of the body are read. If `length` is None, the whole body is read.
        """
        try:
            return self._open(f"{self._url}/v2/{self._name}/{path}", accept, self._authorization, length)
        except urllib.error.HTTPError as error:
            if error.code not in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
                raise
            error.close()
            if hosts.origin(error.url) != self._server:
                raise _UnknownSizeError("access was denied by another server, to which the registry leads") from None
            challenge = error.headers.get("WWW-Authenticate", "")
        if self._authorization is None:
            self._authorization = self._authorize(challenge)
            return self._get(path, accept, length)
        raise _UnknownSizeError("access was denied to the user of this program; the pods may have other rights")

    def _authorize(self, challenge: str) -> str:
        """Return the value of the Authorization header for a `WWW-Authenticate` challenge."""
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic" and self._credentials is not None:
            return f"Basic {self._credentials}"
        fields = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        realm = str(fields.get("realm", ""))
        protocols = ("http://", "https://") if self._question.insecure else ("https://",)
        if kind.lower() != "bearer" or not realm.startswith(protocols):
            raise _UnknownSizeError("access was denied to an anonymous request; the pods may have other rights")
        query = {"service": fields.get("service", ""), "scope": fields.get("scope") or f"repository:{self._name}:pull"}
        basic = None
        if self._credentials and self._trusts(realm):
            basic = f"Basic {self._credentials}"
        url = f"{realm}{'&' if '?' in realm else '?'}{urllib.parse.urlencode(query)}"
        return f"Bearer {self._token(url, basic)}"

    def _trusts(self, realm: str) -> bool:
        """Return whether the registry's credentials may go to the server of tokens at `realm`.

        A registry that is known by its certificate may name any server that is, too: it is asked with these credentials
        itself if it wants them (Distribution, "Token Authentication Specification"). Without a certificate, anybody
        may have named the server, so that only the registry itself is trusted.
        """
        server = hosts.origin(realm)
        if self._server is None or server is None or not server.is_confidential:
            return False
        return server == self._server or "https" == self._server.scheme == server.scheme

    def _token(self, url: str, authorization: str | None) -> str:
        try:
            answer = json.loads(self._open(url, "application/json", authorization)[0])
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
                raise
            raise _UnknownSizeError("the user of this program got no token; the pods may have other rights") from None
        return str(answer.get("token") or answer["access_token"])

    def _open(
        self, url: str, accept: str, authorization: str | None, length: int | None = None
    ) -> tuple[bytes, str | None]:
        """Return the body and the digest header of an answer. Redirected requests carry no authorization."""
        request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310, the callers set the protocol
        if authorization is not None:
            request.add_unredirected_header("Authorization", authorization)
        for attempt in range(_ATTEMPTS):
            is_last = attempt == _ATTEMPTS - 1
            try:
                with self._transport.open(request) as response:
                    body = _body(response) if length is None else response.read(length)
                    return body, response.headers.get("Docker-Content-Digest")
            except urllib.error.HTTPError as error:
                if error.code in _FINAL:
                    raise
                error.close()
                if is_last:
                    raise _UnknownSizeError(f"the registry answered {error.code}") from None
            except OSError:
                if is_last:
                    raise
        raise AssertionError


@dataclass(frozen=True, slots=True)
class _Kit:
    """The manifest of a ModelKit or ModelPack, and its Kitfile."""

    manifest: Mapping[str, Any]
    kitfile: Mapping[str, Any]
    digest: str
    repository: _Repository

    @classmethod
    def read(cls, repository: _Repository) -> Self:
        """Read manifest and Kitfile. Raises `_UnusableError` if the manifest is not of a ModelKit or ModelPack."""
        body, digest = repository.manifest()
        manifest = json.loads(body)
        config = manifest.get("config", {})
        types = {manifest.get("artifactType"), config.get("mediaType")}
        if manifest.get("mediaType") in _INDEXES or "manifests" in manifest:
            remedy = "write the tag or digest of one of these manifests"
            raise _UnusableError(Unusable("source", f"is an index of manifests ({repository.reference})", remedy))
        if types & _KIT:
            return cls(manifest, json.loads(repository.blob(config["digest"])), digest, repository)
        if types & _PACK:
            kitfile = json.loads(manifest.get("annotations", {}).get(_KITFILE) or "{}")
            return cls(manifest, kitfile, digest, repository)
        remedy = "write the reference of a ModelKit, or image:// if the weights are inside the engine's image"
        raise _UnusableError(Unusable("source", f"is no ModelKit ({repository.reference})", remedy))

    def layers(self, filters: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Yield the layers that `filters` select, as the manifest describes them."""
        for layer in self.manifest.get("layers", ()):
            media_type = _LAYER.fullmatch(layer["mediaType"])
            if media_type and any(media_type[1] in _TYPES.get(name, ()) for name in filters):
                yield layer

    def layer_sizes(self, filters: Sequence[str]) -> Iterator[tuple[int, bool]]:
        """Yield the size in bytes of each layer that `filters` select, and whether the layer is compressed."""
        if "kitfile" in filters and self.kitfile:
            yield len(json.dumps(self.kitfile)), False
        for layer in self.layers(filters):
            yield int(layer["size"]), "+" in layer["mediaType"].rpartition(".")[2]

    def parent(self) -> str | None:
        """Return the reference of the ModelKit that contains the model; None if this ModelKit contains the model."""
        model = cast("dict[str, Any]", self.kitfile.get("model") or {})
        path = str(model.get("path") or "")
        if ":" not in path and "@" not in path:
            return None
        if re.fullmatch(SCHEMES["kit"].pattern, path) is None:
            raise _UnknownSizeError("its Kitfile's model.path is an incomplete reference to another ModelKit")
        return path


def _is_of_registry(answer: urllib.error.HTTPError) -> bool:
    """Tell whether an error is in the form of registries (OCI Distribution Specification, "Error Codes")."""
    if "Docker-Distribution-Api-Version" in answer.headers:
        return True
    try:
        return isinstance(json.loads(answer.read(_LONGEST_REASON))["errors"], list)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _body(response: HTTPResponse) -> bytes:
    """Return the body of an answer.

    Raises `_UnknownSizeError` if the body is too long. Raises ConnectionResetError if the body is shorter than
    `Content-Length`, because the body's digest would be wrong.
    """
    body = response.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise _UnknownSizeError(f"the registry's answer is longer than {_LARGEST} bytes")
    if len(body) < int(response.headers.get("Content-Length") or 0):
        raise ConnectionResetError
    return body
