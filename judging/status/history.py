"""When an object was made, when somebody last changed what it asks for, and who wrote a field of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from judging.status.records import time
from models.trees import at, mapping, sequence
from planning.ground.snapshot import Manifest


@dataclass(frozen=True, slots=True)
class Writer:
    """A field manager that owns a field."""

    name: str
    """Name of the field manager, such as `kubectl`."""
    at: datetime | None
    """Time at which the manager last changed any of its fields. The API server does not note the time of a change
    through the subresource `scale` (apimachinery v0.36.3, pkg/util/managedfields/scalehandler.go)."""


def creation_time(item: Manifest) -> datetime | None:
    """Return the time at which an object was made."""
    return time(at(item, "metadata", "creationTimestamp"))


def change_time(item: Manifest) -> datetime | None:
    """Return the time at which somebody last wrote an object, its status not counted."""
    times = (time(entry.get("time")) for entry in _entries(item) if entry.get("subresource") != "status")
    return max((moment for moment in times if moment is not None), default=creation_time(item))


def status_time(item: Manifest) -> datetime | None:
    """Return the time at which a controller last wrote the status of an object."""
    times = (time(entry.get("time")) for entry in _entries(item) if entry.get("subresource") == "status")
    return max((moment for moment in times if moment is not None), default=None)


def is_within(moment: datetime | None, seconds: float, now: datetime) -> bool:
    """Tell whether a moment is at most so many seconds ago; no if it is unknown."""
    return moment is not None and now - moment <= timedelta(seconds=seconds)


def writer(item: Manifest, *path: str) -> Writer | None:
    """Return the field manager that wrote a field last; None if nobody owns the field."""
    writers = [
        Writer(str(entry.get("manager", "")), time(entry.get("time")))
        for entry in _entries(item)
        if at(entry.get("fieldsV1"), *(f"f:{name}" for name in path)) is not None
    ]
    return max(writers, key=_moment, default=None)


def _entries(item: Manifest) -> Iterator[Mapping[str, Any]]:
    yield from map(mapping, sequence(at(item, "metadata", "managedFields")))


def _moment(entry: Writer) -> float:
    return 0.0 if entry.at is None else entry.at.timestamp()
