"""Words for what pods' findings say: durations, sizes, and texts of others."""

from datetime import datetime

from models import credentials

_LENGTH = 200
"""Longest text of others that is shown."""
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def duration(seconds: float) -> str:
    """Return a duration in its largest unit, rounded: `45 s`, `9 min`, `3 h`, `4 days`."""
    seconds = max(0, round(seconds))
    if seconds < 2 * _MINUTE:
        return f"{seconds} s"
    if seconds < 2 * _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    if seconds < 2 * _DAY:
        return f"{round(seconds / _HOUR)} h"
    return f"{round(seconds / _DAY)} days"


def age(since: datetime | None, now: datetime) -> str:
    """Return the time since a moment; `some time` if nobody knows the moment."""
    return "some time" if since is None else duration((now - since).total_seconds())


def size(count: int) -> str:
    """Return a number of bytes in its largest unit, such as `34 GiB`."""
    power = 0
    while count >= _STEP ** (power + 1) and power + 1 < len(_UNITS):
        power += 1
    number = f"{count / _STEP**power:.1f}".removesuffix(".0")
    return f"{number} {_UNITS[power]}"


def text(message: object) -> str:
    """Return a message of another program on one line, cut, and without credentials; empty if there is none."""
    if not isinstance(message, str):
        return ""
    line = credentials.hide(" ".join(message.split()))
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1]}…"


def last_line(message: object) -> str:
    """Return the last line of a message that is not empty, cut, and without credentials; empty if there is none."""
    if not isinstance(message, str):
        return ""
    lines = [line for line in credentials.hide(message).splitlines() if line.strip()]
    return text(lines[-1]) if lines else ""


def quote(line: str) -> str:
    """Return a line as the end of a sentence: a colon and the line in quotes; empty for an empty line."""
    return f': "{line}"' if line else ""
