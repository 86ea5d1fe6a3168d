"""Reader of the size of an S3 source. It uses the AWS credentials of the user who runs the program."""

import http
import importlib
import threading
from collections.abc import Mapping
from typing import Any

from models.source import place
from planning.weights.sizes import Answer, Size, Unusable, Wanted

_ATTEMPTS = 2
_PAGE = 1000
"""Number of objects in one page of a listing."""
_DEFAULT_REGION = "us-east-1"
"""Default region of the downloader in a pod. The region in the user's AWS configuration is ignored, because pods do not
have that configuration."""
_NO_BUCKET = frozenset({"NoSuchBucket", "InvalidBucketName"})
_OTHER_REGION = frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect"})
_DENIED = frozenset({"ExpiredToken", "InvalidToken"})
"""Error codes of rejected credentials whose HTTP status is neither 401 nor 403."""
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
"""Suffixes of archives. The downloader unpacks an archive if it is the only object under the prefix."""


class Clients:
    """Factory of S3 clients for one run. The user's credentials are looked up once.

    If there are none, requests are anonymous.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._session: Any = None

    def client(self, question: Wanted) -> Any:  # noqa: ANN401, the client is untyped
        """Return a client for one source. Raises boto3's errors. The first call imports boto3, which takes 0.1 s."""
        with self._lock:
            if self._session is None:
                self._session = importlib.import_module("boto3.session").Session()
            botocore = importlib.import_module("botocore")
            signature = {} if self._session.get_credentials() else {"signature_version": botocore.UNSIGNED}
            settings = importlib.import_module("botocore.config").Config(
                connect_timeout=self._seconds,
                read_timeout=self._seconds,
                retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
                ignore_configured_endpoint_urls=True,
                **signature,
            )
            region = question.region or _DEFAULT_REGION
            return self._session.client("s3", region_name=region, endpoint_url=question.endpoint, config=settings)


def ask(question: Wanted, clients: Clients) -> Answer:
    """Return the bytes of the objects that the downloader would fetch. Raises boto3's errors if no server answers."""
    client = clients.client(question)
    bucket, _, path = place(question.source).partition("/")
    try:
        sizes = _object_sizes(client, bucket, f"{path.rstrip('/')}/")
    except importlib.import_module("botocore.exceptions").ClientError as error:
        return _refusal(question, bucket, error.response)
    if sizes is None:
        return question.unknown("the endpoint answered with something else than a listing")
    total = sum(sizes.values())
    if not total:
        remedy = "upload the weights there, or write the prefix that they are under; a single object is no prefix"
        return Unusable("source", f"holds no objects with content ({question.source})", remedy)
    return Size(total, digest=None, packed=len(sizes) == 1 and next(iter(sizes)).endswith(_ARCHIVES))


def _object_sizes(client: Any, bucket: str, prefix: str) -> dict[str, int] | None:  # noqa: ANN401, untyped
    """Return the bytes of every non-empty object under a prefix; None if the response is no S3 listing."""
    sizes = dict[str, int]()
    pages = client.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=prefix, PaginationConfig={"PageSize": _PAGE}
    )
    for page in pages:
        if "IsTruncated" not in page:
            return None
        files = (entry for entry in page.get("Contents", ()) if entry["Size"] and not entry["Key"].endswith("/"))
        sizes |= {entry["Key"]: entry["Size"] for entry in files}
    return sizes


def _refusal(question: Wanted, bucket: str, response: Mapping[str, Any]) -> Answer:
    """Return the answer to an S3 error: `Unusable` for a wrong bucket or region, otherwise `Unknown`."""
    error, meta = response["Error"], response["ResponseMetadata"]
    code = str(error["Code"])
    if code in _NO_BUCKET:
        remedy = "create the bucket, or correct its name or the endpoint"
        return Unusable("source", f"is in a bucket that does not exist ({bucket})", remedy)
    if code in _OTHER_REGION:
        actual = error.get("Region") or meta.get("HTTPHeaders", {}).get("x-amz-bucket-region")
        region = question.region
        what = f"is not that of the bucket ({region})" if region else f"is missing for bucket {bucket}"
        return Unusable("region", what, f"write {actual}" if actual else "write the region of the bucket")
    if code in _DENIED or meta.get("HTTPStatusCode") in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        reason = f"access was denied to whoever runs this ({code}); the pods may have other rights"
        return question.unknown(reason)
    return question.unknown(f"the endpoint answered {code}")
