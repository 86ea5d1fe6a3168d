"""Single files of published wheels, read by HTTP range requests, because a wheel of vLLM has hundreds of megabytes."""

import base64
import csv
import hashlib
import io
import re
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, cast

_BLOCK = 2**19
_SECONDS = 120
# Without a path of Python, uv starts each Python of the machine, which takes ten seconds.
_PLATFORM = (
    *("--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_35"),
    *("--python", sys.executable),
)


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel of a package index."""

    name: str
    """Name of the file."""
    url: str
    sha256: str


class _Ranges(io.RawIOBase):
    """A file behind a URL. Only the blocks that are read are fetched."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._position = 0
        self._blocks = dict[int, bytes]()
        self._size = int(_request(url, "HEAD").headers["content-length"])

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes, or all remaining bytes if `size` is negative."""
        end = self._size
        if size >= 0:
            end = min(end, self._position + size)
        read = bytearray()
        while self._position < end:
            block, offset = divmod(self._position, _BLOCK)
            read += self._block(block)[offset : offset + end - self._position]
            self._position = min(end, (block + 1) * _BLOCK)
        return bytes(read)

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            first = number * _BLOCK
            last = min(self._size, first + _BLOCK) - 1
            self._blocks[number] = _request(self._url, "GET", first, last).read()
        return self._blocks[number]


def find(package: str, version: str) -> Wheel:
    """Return the wheel for Linux of one version of a package. uv finds it in the index that uv is configured with."""
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", "-", "--no-deps", "--no-header", "--format", "pylock.toml", *_PLATFORM]
    lock = subprocess.run(command, input=f"{package}=={version}", capture_output=True, text=True, check=True).stdout
    (locked,) = cast("list[dict[str, Any]]", tomllib.loads(lock)["packages"])
    wheels = [Wheel(_file_name(wheel["url"]), wheel["url"], wheel["hashes"]["sha256"]) for wheel in locked["wheels"]]
    return next(wheel for wheel in wheels if re.search(r"manylinux.*_x86_64\.whl$|-any\.whl$", wheel.name))


def files(wheel: Wheel, paths: tuple[str, ...]) -> dict[str, bytes]:
    """Return the contents of some files of a wheel; absent files are left out.

    Raises ValueError if a file does not have the digest that the wheel records for this file.
    """
    with zipfile.ZipFile(cast("Any", _Ranges(wheel.url))) as archive:
        names = set(archive.namelist())
        contents = {path: archive.read(path) for path in paths if path in names}
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = csv.reader(archive.read(record).decode().splitlines())
        digests = {name: digest for name, digest, _ in rows}
    for path, content in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        if digests[path] != f"sha256={digest}":
            raise ValueError(f"{wheel.name}: {path} does not match its digest in the wheel")
    return contents


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]


def _request(url: str, method: str, first: int | None = None, last: int | None = None) -> HTTPResponse:
    headers = dict[str, str]()
    if first is not None:
        headers["Range"] = f"bytes={first}-{last}"
    request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310, uv gives https URLs
    return cast("HTTPResponse", urllib.request.urlopen(request, timeout=_SECONDS))  # noqa: S310, as above
