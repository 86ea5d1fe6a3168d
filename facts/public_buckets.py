"""Reader of buckets without credentials, at S3 endpoints that the environment does not name.

The requests are those of boto3 for an endpoint of one's own: path-style, ListObjectsV2 and GetObject (Amazon S3 API
Reference).
"""

import http
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from facts.transport import RefusedAddressError, Transport

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ATTEMPTS = 2
_LARGEST = 8 * 2**20
"""Maximum size of one page of a listing in bytes. A page of 1,000 objects with the longest keys has 4 MiB."""


class BucketError(Exception):
    """An endpoint answered with an error."""

    def __init__(self, response: Mapping[str, Any]) -> None:
        super().__init__()
        self.response = response
        """The error in the form of boto3's `ClientError.response`."""


class PublicBucket:
    """A bucket at an endpoint."""

    def __init__(self, endpoint: str, bucket: str, transport: Transport) -> None:
        self._url = f"{endpoint.rstrip('/')}/{bucket}"
        self._transport = transport

    def pages(self, prefix: str, length: int) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a listing, each of at most `length` objects, in the form that boto3 gives them.

        Raises `BucketError` for an error of the endpoint, OSError if nobody answers, and ValueError for an answer that
        is too long.
        """
        token = ""
        while True:
            fields = {"list-type": "2", "prefix": prefix, "max-keys": str(length), "encoding-type": "url"}
            if token:
                fields["continuation-token"] = token
            page = _page(self._read(f"{self._url}?{urllib.parse.urlencode(fields)}", _LARGEST))
            yield page
            token = page.get("NextContinuationToken", "")
            if not token:
                return

    def content(self, key: str, length: int) -> bytes:
        """Return the content of an object. Raises as `pages` does; `length` is the maximum size in bytes."""
        return self._read(f"{self._url}/{urllib.parse.quote(key)}", length)

    def _read(self, url: str, length: int) -> bytes:
        """Return the body of an answer. A request that may succeed later is repeated once."""
        for attempt in range(_ATTEMPTS):
            try:
                with self._transport.open(urllib.request.Request(url)) as answer:  # noqa: S310, an endpoint is http(s)
                    body = answer.read(length + 1)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR or attempt == _ATTEMPTS - 1:
                        raise BucketError(_response(error)) from None
            except OSError as error:
                if attempt == _ATTEMPTS - 1 or isinstance(error, RefusedAddressError):
                    raise
            else:
                if len(body) > length:
                    raise ValueError("the answer is too long")
                return body
        raise AssertionError


def _page(body: bytes) -> dict[str, Any]:
    """Return a page of a listing; without `IsTruncated` if the answer is no listing."""
    root = _root(body)
    if root is None:
        return {}
    fields = {_name(child): child.text or "" for child in root}
    if _name(root) != "ListBucketResult" or "IsTruncated" not in fields:
        return {}
    is_encoded = fields.get("EncodingType") == "url"
    page: dict[str, Any] = {"IsTruncated": fields["IsTruncated"] == "true", "Contents": []}
    if page["IsTruncated"]:
        page["NextContinuationToken"] = fields.get("NextContinuationToken", "")
    for entry in (child for child in root if _name(child) == "Contents"):
        values = {_name(child): child.text or "" for child in entry}
        key = values["Key"]
        if is_encoded:
            key = urllib.parse.unquote_plus(key)
        page["Contents"].append({"Key": key, "Size": int(values["Size"]), "ETag": values.get("ETag", "")})
    return page


def _response(error: urllib.error.HTTPError) -> Mapping[str, Any]:
    """Return an error in the form of boto3. Its code is the HTTP status if the body names no code."""
    root = _root(error.read(_LARGEST))
    fields = dict[str, str]()
    if root is not None:
        fields = {_name(child): child.text or "" for child in root}
    headers = {name.lower(): value for name, value in error.headers.items()}
    meta = {"HTTPStatusCode": error.code, "HTTPHeaders": headers}
    return {"Error": {"Code": str(error.code), **fields}, "ResponseMetadata": meta}


def _root(body: bytes) -> "Element | None":
    """Return the root of an XML document; None if a text is no XML."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415, the import is slow, and most stacks do not need it

    try:
        # expat limits by itself how much larger than its text a document becomes (since version 2.4.1).
        return ET.fromstring(body)  # noqa: S314, as above
    except ET.ParseError:
        return None


def _name(element: "Element") -> str:
    return element.tag.rpartition("}")[2]
