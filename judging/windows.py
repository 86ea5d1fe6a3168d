"""Check of the windows of a stack: whether a run may deploy now, and when the next window begins.

A window is open while the clock of its time zone shows a time in it. So a window that covers the hour that a clock
repeats has an hour more on that day, and a window that lies within the hour that a clock leaves out does not open.
"""

import zoneinfo
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from models.config_keys import OUTSIDE_WINDOWS
from models.paths import Path
from models.problems import Problem, warning
from models.windows import WEEKDAYS, DeploymentWindow

AT = Path("windows")
"""Key of the windows."""
EXCEPTION = Path(OUTSIDE_WINDOWS)
"""Key that names the day of a run outside of all windows."""
_DAYS_AHEAD = 9
"""Days in which a window opens again: a week, a day more if the clock leaves its time out, and a day for time zones."""
_DAY = timedelta(days=1)
_REMEDY = "write the day of the run, such as 2026-11-28"


@dataclass(frozen=True, slots=True)
class DeploymentRun:
    """A run, as far as windows concern it."""

    now: datetime
    """Time of the run, with a time zone."""
    deploys: bool
    """Whether the run changes the cluster. A preview does not."""
    exception: str | None = None
    """Day of a run that may deploy outside of all windows, as year-month-day; None for no exception."""


def judge(windows: Sequence[DeploymentWindow], run: DeploymentRun) -> Iterator[Problem]:
    """Yield an error if all windows are closed and the run deploys, and a warning if it does not.

    An exception for the day of the run makes the error a warning. No window means that every run may deploy.
    """
    exception = None
    if run.exception is not None:
        exception = _day(run.exception)
        if exception is None:
            yield Problem(EXCEPTION, f"is no day ({run.exception})", _REMEDY)
    if not windows:
        if exception is not None:
            yield warning(EXCEPTION, "has no effect, because the stack has no windows", "take it out")
        return
    try:
        yield from _judge(windows, run, exception)
    except zoneinfo.ZoneInfoNotFoundError as error:
        what = f"cannot be checked, because this machine does not know a time zone ({error.args[0]})"
        severity = "error" if run.deploys else "warning"
        yield Problem(AT, what, "install tzdata on it", severity=severity)


def _judge(windows: Sequence[DeploymentWindow], run: DeploymentRun, exception: date | None) -> Iterator[Problem]:
    if any(_is_open(window, run.now) for window in windows):
        return
    opening = min(filter(None, (_opening(window, run.now) for window in windows)), default=run.now)
    present = run.now.astimezone(opening.tzinfo)
    what = f"are closed on {_text(present)}"
    wait = f"wait until {_text(opening)}, when the next window begins"
    if opening == run.now:
        wait = "correct them, because none of them opens within a week"
    if exception == present.date():
        yield warning(AT, f"{what}; {OUTSIDE_WINDOWS} lets this run pass")
        return
    if exception is not None:
        yield warning(EXCEPTION, f"has no effect on {present.date()} ({exception})", "take it out")
    if run.deploys:
        yield Problem(AT, what, f"{wait}, or run pulumi up -c {OUTSIDE_WINDOWS}={present.date()}")
    else:
        yield warning(AT, f"{what}, so that pulumi up is refused", wait)


def _day(text: str) -> date | None:
    """Return the day that a text names; None if it names none."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _is_open(window: DeploymentWindow, now: datetime) -> bool:
    """Tell whether the clock of a window's time zone shows a time in the window."""
    local = now.astimezone(ZoneInfo(window.timezone))
    start, end = _times(window)
    begins_today = _begins_on(window, local.date())
    if start < end:
        return begins_today and start <= local.time() < end
    began_yesterday = _begins_on(window, local.date() - _DAY)
    return (begins_today and start <= local.time()) or (began_yesterday and local.time() < end)


def _opening(window: DeploymentWindow, now: datetime) -> datetime | None:
    """Return the next time at which a closed window opens; None if it does not open within the days ahead."""
    zone = ZoneInfo(window.timezone)
    start, _ = _times(window)
    today = now.astimezone(zone).date()
    for ahead in range(_DAYS_AHEAD):
        day = today + ahead * _DAY
        # A time that the clock leaves out becomes the time that the clock shows instead.
        opening = datetime.combine(day, start, zone).astimezone(now.tzinfo).astimezone(zone)
        if opening > now and _begins_on(window, day) and _is_open(window, opening):
            return opening
    return None


def _times(window: DeploymentWindow) -> tuple[time, time]:
    return time.fromisoformat(window.start), time.fromisoformat(window.end)


def _begins_on(window: DeploymentWindow, day: date) -> bool:
    return not window.days or WEEKDAYS[day.weekday()] in window.days


def _text(moment: datetime) -> str:
    """Return a time with its day of the week and its time zone, whatever the language of this machine is."""
    return f"{WEEKDAYS[moment.weekday()]} {moment:%Y-%m-%d %H:%M} {moment.tzinfo}"
