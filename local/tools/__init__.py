"""Tools that `python -m local` runs. A tool is found on PATH, or is built and verified by its checksum."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from local import files
from local.errors import LocalError
from local.tools import build, history, on_path, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from local.report import Report
    from local.tools.table import Entry

AT_ONCE = 2
LARGE_SECONDS = 80
"""A build that is expected to take at least this number of seconds is large. Large builds take gigabytes of disk. Only
one large build runs at a time, so that all builds together take less than `FREE_BYTES`."""
FREE_BYTES = 8 * 1000**3
"""Free disk space that the first set-up needs, in bytes."""


@dataclass(frozen=True)
class Tool:
    """A tool that can be used."""

    name: str
    version: str
    path: Path
    """A file to run, or a directory of files."""
    sha256: str
    origin: str
    """Source of the tool, as text for the user, such as `PATH` or `Go module`."""
    seconds: float | None = field(default=None, compare=False)
    """Duration of the tool's build or installation on this machine; None if the duration is unknown."""

    @property
    def size(self) -> int:
        """Size of the file, or of all files of the directory, in bytes."""
        return sum(path.stat().st_size for path in (self.path, *self.path.rglob("*")) if path.is_file())


def cache_directory() -> Path:
    """Return the directory of the cache. All checkouts of the project share this cache."""
    explicit = os.environ.get("INFERENCE_STACKS_CACHE")
    if explicit:
        return Path(explicit).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inference-stacks"


def ensure(
    names: Iterable[str] | None, report: Report, *, cache: Path | None = None, root: Path = table.ROOT
) -> dict[str, Tool]:
    """Return the tools in `names`, by name; None stands for all tools.

    A tool that is not on PATH, and is missing or damaged in the cache, is built first. Raises LocalError if a build
    fails, or if the disk has too little space for a build.
    """
    cache = cache or cache_directory()
    go, entries = table.read(root)
    requested = _select(entries, names)
    builder = build.Builder(cache, go, report)
    tools: dict[str, Tool] = {}
    missing: list[Entry] = []
    path_tools = {entry.name: on_path.find(entry) for entry in entries if entry.on_path and _needs(entry, requested)}
    for entry in requested:
        installed = path_tools.get(entry.together or entry.name)
        if installed is not None:
            version, paths = installed
            for name in entry.names:
                tools[name] = Tool(name, version, paths[name], files.sha256(paths[name]), "PATH")
        else:
            missing.append(entry)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = list(pool.map(partial(_problem, builder=builder, report=report), missing))
    durations = history.History(cache, entries)
    unbuilt = [entry for entry, problem in zip(missing, problems, strict=True) if problem]
    _build({entry.name: (entry, durations.estimate(entry)) for entry in unbuilt}, builder, cache, report)
    for entry in missing:
        tools |= _built_tools(entry, builder)
    return tools


def listing(tools: Iterable[Tool]) -> list[str]:
    """Return a table of tools, in order of names: version, size, duration of the build, checksum and place."""
    return [f"{'TOOL':<27} {'VERSION':<13} {'SIZE':>8} {'TIME':>6}  {'SHA-256':<64}  PLACE"] + [
        f"{tool.name:<27} {tool.version:<13} {f'{tool.size / 1000**2:.1f} MB':>8} {_duration(tool):>6}  {tool.sha256}"
        f"  {tool.path}  ({tool.origin})"
        for tool in sorted(tools, key=lambda tool: tool.name)
    ]


def _duration(tool: Tool) -> str:
    if tool.seconds is None:
        return ""
    return f"{tool.seconds:.0f} s"


def _select(entries: list[Entry], names: Iterable[str] | None) -> list[Entry]:
    """Return the entries of the tools in `names`; all if `names` is None. Raises LocalError for an unknown name."""
    if names is None:
        return entries
    requested = set(names)
    unknown = requested - {name for entry in entries for name in (entry.name, *entry.names)}
    if unknown:
        raise LocalError(f"no such tool: {', '.join(sorted(unknown))}")
    return [entry for entry in entries if requested & {entry.name, *entry.names}]


def _needs(entry: Entry, requested: list[Entry]) -> bool:
    """Return whether an entry is requested itself, or is the `together` of a requested entry."""
    return any(entry.name in (other.name, other.together) for other in requested)


def _problem(entry: Entry, builder: build.Builder, report: Report) -> str | None:
    """Return the problem of the build of an entry; None if the build is complete and undamaged."""
    directory = builder.build_directory(entry)
    if not directory.exists():
        return "missing"
    problem = build.damage(entry, directory)
    if problem:
        report.say(f"{entry.name} in {directory} is damaged ({problem}); it is built again")
    return problem


def _build(entries: Mapping[str, tuple[Entry, float]], builder: build.Builder, cache: Path, report: Report) -> None:
    """Build entries: one large and one small entry at a time, the longest first.

    Each entry comes with the expected duration of its build, in seconds.
    """
    if not entries:
        return
    cache.mkdir(parents=True, exist_ok=True)
    needed = FREE_BYTES
    if (cache / "tools").exists():
        needed //= 4
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise LocalError(
            f"{cache} has {free / 1000**3:.1f} GB free; building the tools needs {needed / 1000**3:.0f} GB"
        )
    longest_first = sorted(entries.values(), key=lambda pair: -pair[1])
    queues = [
        [pair for pair in longest_first if (pair[0].seconds >= LARGE_SECONDS) == large] for large in (True, False)
    ]
    total = max(sum(expected for _, expected in queue) for queue in queues)
    if total >= LARGE_SECONDS:
        report.say(f"tools to build: {len(entries)}, in about {total / 60:.0f} minutes on this machine")
    pools = [ThreadPoolExecutor(1) for _ in queues]
    try:
        for result in [
            pool.submit(builder.build, *pair) for pool, queue in zip(pools, queues, strict=True) for pair in queue
        ]:
            result.result()
        builder.tidy()
    finally:
        builder.stop()
        for pool in pools:
            pool.shutdown(cancel_futures=True)


def _built_tools(entry: Entry, builder: build.Builder) -> dict[str, Tool]:
    """Return the tools of a finished build, by name."""
    directory = builder.build_directory(entry)
    record = build.metadata(directory)
    if record is None:
        raise LocalError(f"{entry.name}: {directory} was removed by another program")
    origin = {"python": "Python package", "go": "built from Go modules", "files": "Go module"}[entry.origin]
    return {
        name: Tool(
            name,
            record["version"],
            directory / build.CONTENT / entry.location(name),
            record["sha256"][name],
            origin,
            record.get("seconds"),
        )
        for name in entry.names
    }
