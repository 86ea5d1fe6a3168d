"""Finder of an endpoint picker of llm-d that the user built and put on PATH."""

from __future__ import annotations

import hashlib
import mmap
import re
import shutil
from pathlib import Path

from local.tools import Tool

NAME = "llm-d-epp"
"""Name of the command: `cmd/epp` of llm-d-router, built by the user."""
_BUILT_FROM = re.compile(rb"mod\tgithub\.com/llm-d/llm-d-router\tv(\d+)\.(\d+)\.(\d+)")
"""Text that Go writes into a program that is built from a tagged version of llm-d-router."""
RELEASES = {"0.9": "llm-d-0.8", "0.10": "llm-d-0.9", "0.11": "llm-d-0.10"}
"""Releases of llm-d by the version of llm-d-router that they contain."""


def find() -> tuple[str, Tool] | None:
    """Return the release of the picker on PATH, and the picker; None if PATH has no picker of a known release."""
    path = shutil.which(NAME)
    if path is None:
        return None
    with Path(path).open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        match = _BUILT_FROM.search(content)
        if match is None:
            return None
        numbers = [part.decode() for part in match.groups()]
        digest = hashlib.sha256(content).hexdigest()
    release = RELEASES.get(f"{numbers[0]}.{numbers[1]}")
    if release is None:
        return None
    tool = Tool(name=NAME, version=".".join(numbers), sha256=digest, path=Path(path), origin="PATH")
    return release, tool
