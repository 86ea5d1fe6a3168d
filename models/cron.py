"""Times and time zones of schedules, as KEDA reads them.

Source: keda v2.20, pkg/scalers/cron_scaler.go; robfig/cron v3.0.1, parser.go and spec.go.
"""

import functools
import zoneinfo
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from models.vocabulary import Shape, refuse

_FIELD = r"[0-9A-Za-z*,/?-]+"
_OPEN = -1
"""Member of an open field. A day has to fit day and weekday if one of both fields is open, and else one of them."""
_OLD_NAME = "US/Eastern"
"""A name of a zone that machines lack whose database has only the new names."""


@dataclass(frozen=True, slots=True)
class _TimeField:
    """Bounds of the numbers in a field."""

    noun: str
    minimum: int
    maximum: int
    names: tuple[str, ...] = ()
    """Names of the numbers from `minimum` to `maximum`."""

    def number(self, text: str) -> int:
        """Return the number that a text stands for; raise `ValueError` if it is none of the field."""
        if text.lower() in self.names:
            return self.minimum + self.names.index(text.lower())
        number = int(text)
        if not self.minimum <= number <= self.maximum:
            raise ValueError(text)
        return number


_FIELDS = (
    _TimeField("minute", 0, 59),
    _TimeField("hour", 0, 23),
    _TimeField("day of the month", 1, 31),
    _TimeField("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _TimeField("day of the week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def parse(time: str) -> tuple[frozenset[int], ...]:
    """Return the numbers of each field of a time; raise a `refuse` error for a field that KEDA does not read."""
    return tuple(_numbers(text, field) for text, field in zip(time.split(" "), _FIELDS, strict=True))


def _numbers(text: str, field: _TimeField) -> frozenset[int]:
    """Return the numbers of a field. Commas without anything between them are ignored."""
    try:
        numbers = frozenset[int]().union(*(_range(entry, field) for entry in text.split(",") if entry))
    except ValueError:
        numbers = frozenset[int]()
    if not numbers:
        what = f"has no {field.noun} that KEDA reads ({text})"
        remedy = f"write numbers from {field.minimum} to {field.maximum}, the lower one first, and steps above 0"
        raise refuse(what, remedy, echoed=False)
    return numbers


def _range(text: str, field: _TimeField) -> frozenset[int]:
    """Return the numbers of a range, such as 5, 1-5, * or 0-30/10; raise `ValueError` for any other text."""
    span, slash, step_text = text.partition("/")
    step = int(step_text) if slash else 1
    if step < 1:
        raise ValueError(text)
    low, hyphen, high = span.partition("-")
    if low in {"*", "?"}:
        numbers = frozenset(range(field.minimum, field.maximum + 1, step))
        return numbers | {_OPEN} if step == 1 else numbers
    first = field.number(low)
    last = first
    if hyphen:
        last = field.number(high)
    elif slash:
        last = field.maximum
    if first > last:
        raise ValueError(text)
    return frozenset(range(first, last + 1, step))


def _check_time(time: str) -> str:
    parse(time)
    return time


@functools.cache
def _zones() -> frozenset[str]:
    """Return the names of all time zones; empty if this machine does not know them all."""
    zones = zoneinfo.available_timezones()
    return frozenset(zones if _OLD_NAME in zones else ())


def _check_zone(zone: str) -> str:
    zones = _zones()
    if zones and zone not in zones:
        raise refuse("is no name of a time zone", "write one such as Europe/Berlin or UTC, with its capitals")
    return zone


CronTime = Annotated[
    str,
    Shape(
        "is no time of five fields",
        rf"{_FIELD}( {_FIELD}){{4}}",
        "write minute, hour, day, month and weekday, such as 0 7 * * 1-5",
    ),
    AfterValidator(_check_time),
]
TimeZone = Annotated[
    str,
    Shape("is no name of a time zone", r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", "write one such as Europe/Berlin or UTC"),
    AfterValidator(_check_zone),
]
