"""Spec of the windows of a stack: days and hours in which its deployments run."""

from typing import Annotated, Literal

from pydantic import Field

from models.base import Spec
from models.cron import TimeZone
from models.vocabulary import Items, Shape

Weekday = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
WEEKDAYS: tuple[Weekday, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
"""Days in the order of `datetime.weekday`."""
ClockTime = Annotated[
    str,
    Shape(
        "is no time of day",
        r"([01][0-9]|2[0-3]):[0-5][0-9]",
        'write hour and minute of the 24-hour clock in quotes, such as "09:00"',
        5,
    ),
]


class DeploymentWindow(Spec):
    """Days and hours in which a run may deploy the stack."""

    days: Items[Weekday] = Field(default=(), examples=[["Mon", "Tue", "Wed", "Thu"]])
    """Days on which the window begins. Absent: every day."""
    start: Annotated[ClockTime, Field(examples=["09:00"])]
    """Time of day at which the window begins."""
    end: Annotated[ClockTime, Field(examples=["17:00"])]
    """Time of day at which the window ends. If it is not after start, the window ends on the next day."""
    timezone: Annotated[TimeZone, Field(examples=["Europe/Berlin"])]
    """Time zone of days, start and end, by its name in the IANA database."""
