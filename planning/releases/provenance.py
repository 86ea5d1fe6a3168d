"""Provenance of the facts of a channel: what was run, read in source, stated by others, or not proven at all."""

from collections.abc import Collection, Iterator

from planning.ground.tables import Sourced
from planning.releases import Release, channel, offered_channels


def unproven(release: Release, vendors: Collection[str]) -> tuple[tuple[str, Sourced], ...]:
    """Return the entries whose `proof` is `none`, each with its path in the table.

    Engine images for other vendors than `vendors` are left out.
    """
    return tuple((at, entry) for at, entry in _entries_of_vendors(release, vendors) if entry.proof == "none")


def count_of_stated(release: Release, vendors: Collection[str]) -> int:
    """Return the number of entries whose `proof` is `stated`, without engine images for other vendors."""
    return sum(entry.proof == "stated" for _, entry in _entries_of_vendors(release, vendors))


def count_of_earlier(release: Release) -> int:
    """Return the number of entries that were read in a commit before the release."""
    commit = release.line.built
    return sum(commit is not None and commit.short in entry.source for _, entry in release.entries)


def newest_run_channel() -> str:
    """Return the newest offered channel whose picker was read and run itself, not that of a commit before it."""
    return next(name for name in reversed(offered_channels()) if channel(name).line.built is None)


def _entries_of_vendors(release: Release, vendors: Collection[str]) -> Iterator[tuple[str, Sourced]]:
    """Yield the entries, each with its path in the table, without engine images for other vendors."""
    unused = {f"images.engine.{vendor}" for vendor in release.images.engine.keys() - set(vendors)}
    yield from ((at, entry) for at, entry in release.entries if at not in unused)
