"""Newest versions that package indexes and proxies of Go modules offer."""

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Literal

from upstream.history import numbers

SECONDS = 60
"""Time after which a registry counts as silent."""
_RELEASE = re.compile(r"v\d+\.\d+\.\d+")
"""A release of a Go module. Versions before a release have a further part after a hyphen."""
# Without a path of Python, uv starts each Python of the machine, which takes ten seconds.
_PLATFORM = (
    *("--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_35"),
    *("--python", sys.executable),
)


@dataclass(frozen=True, slots=True)
class ReleaseList:
    """A module or a package in a registry."""

    registry: Literal["go", "pypi"]
    name: str

    def __str__(self) -> str:
        if self.registry == "go":
            return f"Go module {self.name}"
        return f"PyPI package {self.name}"


def newest(listing: ReleaseList) -> str | None:
    """Return the newest release of a module or package. None if no registry answers in time with a release."""
    if listing.registry == "go":
        return _newest_module(listing.name)
    return _newest_package(listing.name)


def _newest_module(name: str) -> str | None:
    """Return the newest release of a Go module, by the protocol of GOPROXY (go.dev/ref/mod, GOPROXY protocol)."""
    path = re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", name)
    for proxy in re.split("[,|]", _proxies()):
        if proxy.startswith(("https://", "http://")):
            releases = list(_releases(f"{proxy.rstrip('/')}/{path}/@v/list"))
            if releases:
                return max(releases, key=numbers)
    return None


def _proxies() -> str:
    """Return the proxies of Go modules: those of the environment, or those of the go command; "" without both."""
    proxies = os.environ.get("GOPROXY", "")
    if proxies:
        return proxies
    try:
        command = ["go", "env", "GOPROXY"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _releases(url: str) -> Iterator[str]:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310, the scheme was checked
            lines: Iterable[str] = answer.read().decode().splitlines()
    except (OSError, HTTPException, UnicodeDecodeError):
        return
    yield from (line for line in lines if _RELEASE.fullmatch(line))


def _newest_package(name: str) -> str | None:
    """Return the newest release of a package in the index that uv is configured with."""
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", "-", "--no-deps", "--no-header", "--no-annotate", "--quiet", *_PLATFORM]
    environment = {**os.environ, "UV_HTTP_TIMEOUT": str(SECONDS)}
    try:
        done = subprocess.run(
            command, input=name, capture_output=True, text=True, check=True, timeout=SECONDS, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return None
    pins = re.findall(rf"^{re.escape(name)}==(\S+)$", done.stdout, re.MULTILINE)
    return next(iter(pins), None)
