"""Finder of tools on PATH. A tool on PATH is used only if its version is suitable."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local.tools.table import Entry, Go, OnPath

PROBE_TIMEOUT = 10.0
OURS = ".inference-stacks"
"""Name of a file in the folder `bin` that `PulumiEngine` makes. Tools beside this file are those of `make up`.
They are ignored, because `make down` removes them."""


def find(entry: Entry) -> tuple[str, dict[str, Path]] | None:
    """Return version and paths of an entry's tools.

    All tools must be in one folder, and have the same suitable version; else the result is None. The folder is the one
    where PATH has the entry's first tool, or the one that holds the file to which that tool links.
    """
    if entry.on_path is None:
        return None
    first = shutil.which(entry.names[0], path=_search_path())
    if first is None:
        return None
    for folder in dict.fromkeys((Path(first).parent, Path(first).resolve().parent)):
        paths = {name: folder / name for name in (*entry.names, *entry.on_path.beside)}
        if not all(path.is_file() for path in paths.values()):
            continue
        versions = {_version(entry.on_path, name, paths[name]) for name in entry.names}
        version = versions.pop()
        if not versions and version is not None and entry.on_path.fits(version):
            return version, paths
    return None


def find_go(go: Go) -> tuple[str, Path] | None:
    """Return version and path of the Go toolchain on PATH; None if PATH has no suitable version."""
    path = shutil.which("go", path=_search_path())
    output = _output([path, "env", "GOVERSION"]) if path else ""
    match = re.search(r"go(\d+\.\d+(?:\.\d+)?)", output)
    if path is None or match is None:
        return None
    version = match[1]
    return (version, Path(path)) if go.minimum <= tuple(map(int, version.split("."))) < go.below else None


def _search_path() -> str:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / OURS).exists())


def _version(on_path: OnPath, name: str, path: Path) -> str | None:
    """Return the version of a tool; None if the version is not found.

    A tool with a probe prints its version. The version of any other tool is searched for in the tool's file.
    """
    probe = on_path.probes.get(name, on_path.probe)
    if probe is not None:
        printed = re.search(on_path.pattern, _output([str(path), *probe]))
        return printed[1] if printed else None
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        match = re.search(on_path.pattern.encode(), content)
        return match[1].decode() if match else None


def _output(command: list[str]) -> str:
    """Return all that a command prints; "" if it cannot run or takes too long."""
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROBE_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout + result.stderr
