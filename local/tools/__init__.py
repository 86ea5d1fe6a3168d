"""Find, build and verify the tools that the embedded default runs."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from local import files
from local.errors import LocalError
from local.tools import build, on_path, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local.report import Report
    from local.tools.table import Entry

AT_ONCE = 2
LARGE_SECONDS = 80
"""What takes this long to build takes gigabytes meanwhile; two at once would need more disk than is promised."""
FREE_BYTES = 8 * 1000**3


@dataclass(frozen=True)
class Tool:
    """A tool that can be used: a file to run, or a directory of files. `origin` says where it comes from."""

    name: str
    version: str
    path: Path
    sha256: str
    origin: str


def cache_directory() -> Path:
    """Return the project's own cache, outside any checkout."""
    own = os.environ.get("INFERENCE_STACKS_CACHE")
    if own:
        return Path(own).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inference-stacks"


def ensure(
    names: Iterable[str] | None, report: Report, *, cache: Path | None = None, root: Path = table.ROOT
) -> dict[str, Tool]:
    """Return the named tools (all, if None) by name, built first where they are missing or damaged.

    Raises LocalError where a build fails or the disk is too full to begin one.
    """
    cache = cache or cache_directory()
    go, entries = table.read(root)
    wanted = _selected(entries, names)
    builder = build.Builder(cache, go, report)
    present: dict[str, Tool] = {}
    missing: list[Entry] = []
    present_on_path = {entry.name: on_path.find(entry) for entry in entries if entry.on_path and _needs(entry, wanted)}
    for entry in wanted:
        found = present_on_path.get(entry.together or entry.name)
        if found is not None:
            version, paths = found
            for name in entry.names:
                present[name] = Tool(name, version, paths[name], files.sha256(paths[name]), "PATH")
        else:
            missing.append(entry)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = list(pool.map(partial(_problem, builder=builder, report=report), missing))
    _build([entry for entry, problem in zip(missing, problems, strict=True) if problem], builder, cache)
    for entry in missing:
        present |= _built(entry, builder)
    return present


def _selected(entries: list[Entry], names: Iterable[str] | None) -> list[Entry]:
    if names is None:
        return entries
    wanted = set(names)
    unknown = wanted - {name for entry in entries for name in (entry.name, *entry.names)}
    if unknown:
        raise LocalError(f"no such tool: {', '.join(sorted(unknown))}")
    return [entry for entry in entries if wanted & {entry.name, *entry.names}]


def _needs(entry: Entry, wanted: list[Entry]) -> bool:
    return any(entry.name in (other.name, other.together) for other in wanted)


def _problem(entry: Entry, builder: build.Builder, report: Report) -> str | None:
    directory = builder.finished(entry)
    if not directory.exists():
        return "missing"
    problem = build.damage(entry, directory)
    if problem:
        report.say(f"{entry.name} in {directory} is damaged ({problem}); it is built again")
    return problem


def _build(entries: list[Entry], builder: build.Builder, cache: Path) -> None:
    if not entries:
        return
    cache.mkdir(parents=True, exist_ok=True)
    needed = FREE_BYTES if not (cache / "tools").exists() else FREE_BYTES // 4
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise LocalError(
            f"{cache} has {free / 1000**3:.1f} GB free; building the tools needs {needed / 1000**3:.0f} GB"
        )
    large, small = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    try:
        longest_first = sorted(entries, key=lambda entry: -entry.seconds)
        queued = [
            (large if entry.seconds >= LARGE_SECONDS else small).submit(builder.build, entry) for entry in longest_first
        ]
        for result in queued:
            result.result()
        builder.tidy()
    finally:
        builder.stop()
        for pool in (large, small):
            pool.shutdown(cancel_futures=True)


def _built(entry: Entry, builder: build.Builder) -> dict[str, Tool]:
    directory = builder.finished(entry)
    recorded = build.metadata(directory)
    if recorded is None:
        raise LocalError(f"{entry.name}: {directory} was removed by another program")
    origin = {"python": "Python package", "go": "built from Go modules", "files": "Go module"}[entry.origin]
    return {
        name: Tool(
            name,
            recorded["version"],
            directory / build.CONTENT / entry.location(name),
            recorded["sha256"][name],
            origin,
        )
        for name in entry.names
    }
