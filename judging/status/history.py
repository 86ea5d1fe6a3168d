"""When an object was made, and when somebody last changed what it asks for."""

from datetime import datetime, timedelta

from judging.status.records import time
from models.trees import at, mapping, sequence
from planning.ground.snapshot import Manifest


def created(item: Manifest) -> datetime | None:
    """Return the time at which an object was made."""
    return time(at(item, "metadata", "creationTimestamp"))


def changed(item: Manifest) -> datetime | None:
    """Return the time at which somebody last wrote an object, its status not counted."""
    entries = map(mapping, sequence(at(item, "metadata", "managedFields")))
    times = (time(entry.get("time")) for entry in entries if not entry.get("subresource"))
    return max((moment for moment in times if moment is not None), default=created(item))


def is_within(moment: datetime | None, seconds: float, now: datetime) -> bool:
    """Tell whether a moment is at most so many seconds ago; no if it is unknown."""
    return moment is not None and now - moment <= timedelta(seconds=seconds)
