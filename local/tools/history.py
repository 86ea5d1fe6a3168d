"""Expected durations of builds, from earlier builds on this machine."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from local.tools import build

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from local.tools.table import Entry

MEASURABLE = 5.0
"""Shortest expected duration, in seconds, of the builds from which the pace of a machine is computed."""


class History:
    """Estimates of the durations of builds, from the records in a cache and from the table of tools."""

    def __init__(self, cache: Path, entries: Iterable[Entry]) -> None:
        self._cache = cache
        self._entries = list(entries)

    def estimate(self, entry: Entry) -> float:
        """Return the expected duration of a build, in seconds.

        The result is the duration of the tool's latest build on this machine. If this machine has not built the tool
        before, the result is the duration in the table, multiplied by the pace of this machine.
        """
        latest = self._latest(entry)
        if latest is None:
            return entry.seconds * self._pace(entry.origin)
        return latest

    def _pace(self, origin: str) -> float:
        """Return the median ratio of actual to expected durations of the builds with one origin; 1 without builds."""
        peers = [entry for entry in self._entries if entry.origin == origin and entry.seconds >= MEASURABLE]
        taken = ((self._latest(entry), entry.seconds) for entry in peers)
        return statistics.median([seconds / expected for seconds, expected in taken if seconds is not None] or [1.0])

    def _latest(self, entry: Entry) -> float | None:
        """Return the duration of the latest build of a tool, of any version."""
        folder = self._cache / "tools" / entry.name
        records = sorted(folder.glob(f"*/{build.METADATA}"), key=lambda path: path.stat().st_mtime, reverse=True)
        builds = (build.metadata(path.parent) for path in records if not path.parent.name.startswith(build.TEMPORARY))
        return next((float(record["seconds"]) for record in builds if record and "seconds" in record), None)
