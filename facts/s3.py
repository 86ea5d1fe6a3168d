"""Reader of the size and the content of an S3 source.

Requests to AWS, and to endpoints that the environment names, carry the AWS identity of the user who runs the program.
Other endpoints are asked without it, and nobody is asked for credentials then: not even the metadata of a machine.
"""

import hashlib
import http
import importlib
import json
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from facts import hosts
from facts.public_buckets import BucketError, PublicBucket
from facts.transport import CONNECT_SECONDS, Run, Transport
from models.source import place
from planning.fit.configs import architecture
from planning.ground.cluster_facts import Unknown
from planning.weights.contents import Content
from planning.weights.sizes import Answer, Size, Unusable, Wanted

_ATTEMPTS = 2
_SHORTEST_SECONDS = 0.1
"""Shortest timeout of a request. Shorter timeouts are no numbers that boto3 takes."""
_VENDOR = "https://s3.amazonaws.com"
_CONFIG = "config.json"
_LARGEST_CONFIG = 2**20
_PAGE = 1000
"""Number of objects in one page of a listing."""
_DEFAULT_REGION = "us-east-1"
"""Default region of the downloader in a pod. The region in the user's AWS configuration is ignored, because pods do not
have that configuration."""
_NO_BUCKET = frozenset({"NoSuchBucket", "InvalidBucketName"})
_OTHER_REGION = frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect"})
_DENIED = frozenset({"ExpiredToken", "InvalidToken"})
"""Error codes that mean rejected credentials although their HTTP status is neither 401 nor 403."""
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
"""Suffixes of archives. The downloader unpacks an archive if no other object is under the prefix."""


class Object(NamedTuple):
    """An object of a listing."""

    size: int
    tag: str
    """Entity tag (`ETag`). It changes with the content of the object."""


class Bucket(Protocol):
    """A bucket that can be read."""

    def pages(self, prefix: str, length: int) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a listing, as boto3 gives them. Raises `BucketError`."""
        ...

    def content(self, key: str, length: int) -> bytes:
        """Return the first bytes of an object. Raises `BucketError`."""
        ...


class Clients:
    """Factory of S3 clients for one run. The user's credentials are looked up once.

    If the user has no credentials, requests are anonymous.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients = dict[tuple[str | None, str], Any]()

    def bucket(self, question: Wanted, transport: Transport) -> Bucket:
        """Return the bucket of a source. Raises boto3's errors."""
        name, _ = _address(question)
        if question.endpoint is not None and not hosts.gets_aws_identity(question.endpoint):
            return PublicBucket(question.endpoint, name, transport)
        return _SignedBucket(self.client(question), name)

    def client(self, question: Wanted) -> Any:  # noqa: ANN401, the client is untyped
        """Return a boto3 client for one source. Raises boto3's errors. The first call imports boto3, which takes 0.1 s.

        The credentials may be those of a machine or a pod, which boto3 asks for at the address of its metadata.
        """
        place = question.endpoint, question.region or _DEFAULT_REGION
        with self._lock:
            if place not in self._clients:
                self._clients[place] = self._make(*place)
            return self._clients[place]

    def _make(self, endpoint: str | None, region: str) -> Any:  # noqa: ANN401, the client is untyped
        if self._session is None:
            self._session = importlib.import_module("boto3.session").Session()
        botocore = importlib.import_module("botocore")
        signature = dict[str, Any]()
        if not self._session.get_credentials():
            signature["signature_version"] = botocore.UNSIGNED
        seconds = max(_SHORTEST_SECONDS, self._run.seconds_left())
        settings = importlib.import_module("botocore.config").Config(
            connect_timeout=min(CONNECT_SECONDS, seconds),
            read_timeout=seconds,
            retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
            ignore_configured_endpoint_urls=True,
            **signature,
        )
        return self._session.client("s3", region_name=region, endpoint_url=endpoint, config=settings)


class _SignedBucket:
    """A bucket that boto3 reads."""

    def __init__(self, client: Any, name: str) -> None:  # noqa: ANN401, the client is untyped
        self._client = client
        self._name = name

    def pages(self, prefix: str, length: int) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a listing. Raises `BucketError`."""
        settings = {"PageSize": length}
        with _errors():
            paginator = self._client.get_paginator("list_objects_v2")
            yield from paginator.paginate(Bucket=self._name, Prefix=prefix, PaginationConfig=settings)

    def content(self, key: str, length: int) -> bytes:
        """Return the first bytes of an object. Raises `BucketError`."""
        with _errors():
            return self._client.get_object(Bucket=self._name, Key=key)["Body"].read(length)


@contextmanager
def _errors() -> Generator[None]:
    """Turn the errors of an endpoint into `BucketError`."""
    try:
        yield
    except importlib.import_module("botocore.exceptions").ClientError as error:
        raise BucketError(error.response) from None


def ask(question: Wanted, clients: Clients, transport: Transport) -> Answer:
    """Return the size of the objects that the downloader would fetch. Raises an error if no server answers."""
    listing = _listing(question, clients.bucket(question, transport))
    if not isinstance(listing, dict):
        return listing
    return _size(listing)


def content(question: Wanted, clients: Clients, transport: Transport) -> Content | Unusable | Unknown:
    """Return digest, size and architecture of what the downloader would fetch. Raises the errors of `ask`."""
    bucket = clients.bucket(question, transport)
    listing = _listing(question, bucket)
    if not isinstance(listing, dict):
        return listing
    size = _size(listing)
    numbers = None
    if _CONFIG in listing:
        _, prefix = _address(question)
        numbers = architecture(_config(bucket, prefix))
    return Content(
        question.source,
        digest=listing_digest(listing),
        bytes=size.bytes,
        packed=size.packed,
        architecture=numbers,
        origin=question.endpoint or _VENDOR,
    )


def listing_digest(listing: Mapping[str, Object]) -> str:
    """Return a hash of objects' names, sizes and entity tags.

    The hash changes with the content of any object, because objects with different contents have different tags.
    """
    lines = (f"{name}\t{entry.size}\t{entry.tag}\n" for name, entry in sorted(listing.items()))
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def _size(listing: Mapping[str, Object]) -> Size:
    packed = len(listing) == 1 and next(iter(listing)).endswith(_ARCHIVES)
    return Size(sum(entry.size for entry in listing.values()), digest=None, packed=packed)


def _address(question: Wanted) -> tuple[str, str]:
    """Return bucket and prefix of a source."""
    bucket, _, path = place(question.source).partition("/")
    return bucket, f"{path.rstrip('/')}/"


def _config(bucket: Bucket, prefix: str) -> object:
    """Return the content of the model's `config.json`; None if the file cannot be read."""
    try:
        body = bucket.content(f"{prefix}{_CONFIG}", _LARGEST_CONFIG + 1)
        if len(body) <= _LARGEST_CONFIG:
            return json.loads(body)
    except (BucketError, OSError, ValueError):
        return None
    return None


def _listing(question: Wanted, bucket: Bucket) -> dict[str, Object] | Unusable | Unknown:
    """Return the objects that the downloader would fetch, by their names below the prefix."""
    name, prefix = _address(question)
    try:
        listing = _objects(bucket, prefix)
    except BucketError as error:
        return _refusal(question, name, error.response)
    if listing is None:
        return question.unknown("the endpoint's answer is no listing of objects")
    if not listing:
        remedy = "upload the weights there, or write the prefix of the weights; a single object is no prefix"
        return Unusable("source", f"holds no objects with content ({question.source})", remedy)
    return listing


def _objects(bucket: Bucket, prefix: str) -> dict[str, Object] | None:
    """Return every non-empty object under a prefix, by name below the prefix; None if a response is no S3 listing."""
    listing = dict[str, Object]()
    for page in bucket.pages(prefix, _PAGE):
        if "IsTruncated" not in page:
            return None
        files = (entry for entry in page.get("Contents", ()) if entry["Size"] and not entry["Key"].endswith("/"))
        listing |= {
            entry["Key"].removeprefix(prefix): Object(entry["Size"], str(entry.get("ETag", "")).strip('"'))
            for entry in files
        }
    return listing


def _refusal(question: Wanted, bucket: str, response: Mapping[str, Any]) -> Unusable | Unknown:
    """Return what an S3 error says about a source: `Unusable` for a wrong bucket or region, otherwise `Unknown`."""
    error = response["Error"]
    meta = response["ResponseMetadata"]
    code = str(error["Code"])
    if code in _NO_BUCKET:
        remedy = "create the bucket, or correct its name or the endpoint"
        return Unusable("source", f"is in a bucket that does not exist ({bucket})", remedy)
    if code in _OTHER_REGION:
        actual = error.get("Region") or meta.get("HTTPHeaders", {}).get("x-amz-bucket-region")
        what = f"is missing for bucket {bucket}"
        if question.region:
            what = f"is not the region of the bucket ({question.region})"
        return Unusable("region", what, f"write {actual or 'the region of the bucket'}")
    if code in _DENIED or meta.get("HTTPStatusCode") in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        reason = f"access was denied to the user of this program ({code}); the pods may have other rights"
        return question.unknown(reason)
    return question.unknown(f"the endpoint answered {code}")
