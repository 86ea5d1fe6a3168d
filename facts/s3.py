"""Asks S3 for the bytes under a prefix, with the AWS credentials of whoever runs the program."""

import http
import importlib
import threading
from collections.abc import Mapping
from typing import Any

from models.source import place
from planning.weights.sizes import Answer, Size, Unusable, Wanted

_ATTEMPTS = 2
_PAGE = 1000
_DEFAULT_REGION = "us-east-1"
"""What the downloader uses in a pod, whatever the region of whoever runs the program."""
_NO_BUCKET = frozenset({"NoSuchBucket", "InvalidBucketName"})
_OTHER_REGION = frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect"})
_DENIED = frozenset({"ExpiredToken", "InvalidToken"})
"""Codes of refused credentials that come with another status than 401 and 403."""
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
"""What the downloader unpacks where it is alone under a prefix."""


class Clients:
    """The clients of one run; credentials are looked for once, and where there are none the request is anonymous."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._session: Any = None

    def client(self, wanted: Wanted) -> Any:  # noqa: ANN401, the client is untyped
        """Return a client for one source; imports boto3, which costs a tenth of a second. Raises boto3's errors."""
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
            region = wanted.region or _DEFAULT_REGION
            return self._session.client("s3", region_name=region, endpoint_url=wanted.endpoint, config=settings)


def ask(wanted: Wanted, clients: Clients) -> Answer:
    """Return the bytes of the objects that the downloader would fetch. Raises boto3's errors where nobody answers."""
    client = clients.client(wanted)
    bucket, _, path = place(wanted.source).partition("/")
    try:
        found = _objects(client, bucket, f"{path.rstrip('/')}/")
    except importlib.import_module("botocore.exceptions").ClientError as error:
        return _refused(wanted, bucket, error.response)
    if found is None:
        return wanted.unknown("the endpoint answered with something else than a listing")
    total = sum(found.values())
    if not total:
        remedy = "upload the weights there, or write the prefix that they are under; a single object is no prefix"
        return Unusable("source", f"holds no objects with content ({wanted.source})", remedy)
    return Size(total, digest=None, packed=len(found) == 1 and next(iter(found)).endswith(_ARCHIVES))


def _objects(client: Any, bucket: str, prefix: str) -> dict[str, int] | None:  # noqa: ANN401, the client is untyped
    """List every object with content under a prefix; nothing where the answer is none of S3's."""
    found = dict[str, int]()
    pages = client.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=prefix, PaginationConfig={"PageSize": _PAGE}
    )
    for page in pages:
        if "IsTruncated" not in page:
            return None
        files = (one for one in page.get("Contents", ()) if one["Size"] and not one["Key"].endswith("/"))
        found |= {one["Key"]: one["Size"] for one in files}
    return found


def _refused(wanted: Wanted, bucket: str, response: Mapping[str, Any]) -> Answer:
    error, meta = response["Error"], response["ResponseMetadata"]
    code = str(error["Code"])
    if code in _NO_BUCKET:
        remedy = "create the bucket, or correct its name or the endpoint"
        return Unusable("source", f"is in a bucket that does not exist ({bucket})", remedy)
    if code in _OTHER_REGION:
        right = error.get("Region") or meta.get("HTTPHeaders", {}).get("x-amz-bucket-region")
        what = f"is not that of the bucket ({wanted.region})" if wanted.region else f"is missing for bucket {bucket}"
        return Unusable("region", what, f"write {right}" if right else "write the region of the bucket")
    if code in _DENIED or meta.get("HTTPStatusCode") in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}:
        why = f"access was denied to whoever runs this ({code}); the pods may have other rights"
        return wanted.unknown(why)
    return wanted.unknown(f"the endpoint answered {code}")
