"""Windows are open while the clock of their time zone shows a time in them; the error says when the next one begins."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest

from judging import windows
from judging.windows import DeploymentRun
from models.load import load
from models.windows import WEEKDAYS, DeploymentWindow
from tests.support.stacks import lines, tree

BERLIN = "Europe/Berlin"
WORK = {"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "09:00", "end": "17:00", "timezone": BERLIN}
NIGHT = {"days": ["Sat"], "start": "22:00", "end": "04:00", "timezone": BERLIN}
SATURDAY = datetime(2026, 11, 28, 12, 10, tzinfo=UTC)
CLOSED = "windows: are closed on Sat 2026-11-28 13:10 Europe/Berlin"
MONDAY = "wait until Mon 2026-11-30 09:00 Europe/Berlin, when the next window begins"


def specs(*trees):
    return load(tree() | {"windows": list(trees)}).stack.windows


def is_open(moment, *trees):
    return not list(windows.judge(specs(*trees), DeploymentRun(moment, deploys=True)))


def judged(*trees, deploys=True, exception=None, now=SATURDAY):
    """Return the errors and the warnings of a run."""
    problems = list(windows.judge(specs(*trees), DeploymentRun(now, deploys, exception)))
    return lines(problems, "error"), lines(problems, "warning")


def test_a_run_in_closed_windows_is_refused_and_a_preview_only_warns():
    way_out = "or run pulumi up -c inference-stacks:outsideWindows=2026-11-28"
    assert judged(WORK) == ([f"{CLOSED}; {MONDAY}, {way_out}"], [])
    assert judged(WORK, deploys=False) == ([], [f"{CLOSED}, so that pulumi up is refused; {MONDAY}"])
    assert judged() == ([], [])


def test_the_window_that_opens_first_is_named():
    (error,), _ = judged(WORK, NIGHT)
    assert error.startswith(f"{CLOSED}; wait until Sat 2026-11-28 22:00 Europe/Berlin, when")
    (error,), _ = judged(WORK, {**WORK, "timezone": "Asia/Tokyo"})
    assert "closed on Sat 2026-11-28 21:10 Asia/Tokyo; wait until Mon 2026-11-30 09:00 Asia/Tokyo," in error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30T08:59", False),
        ("2026-11-30T09:00", True),
        ("2026-11-30T16:59", True),
        ("2026-11-30T17:00", False),
        ("2026-11-29T12:00", False),
        ("2026-11-28T21:59", False),
        ("2026-11-28T22:00", True),
        ("2026-11-29T03:59", True),
        ("2026-11-29T04:00", False),
        ("2026-11-28T03:00", False),
    ],
)
def test_a_window_has_its_start_and_not_its_end_and_may_end_on_the_next_day(text, expected):
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN))
    assert is_open(moment.astimezone(UTC), WORK, NIGHT) is expected


def test_without_days_a_window_begins_every_day_and_with_equal_times_it_has_no_end():
    always = {"start": "09:00", "end": "09:00", "timezone": BERLIN}
    assert all(is_open(SATURDAY + timedelta(hours=hours), always) for hours in range(24 * 8))
    only = {**always, "days": ["Sat"]}
    assert sum(is_open(SATURDAY + timedelta(hours=hours), only) for hours in range(24 * 7)) == 24


@pytest.mark.parametrize(
    ("day", "hours"),
    [(datetime(2026, 3, 29, tzinfo=UTC), 2), (datetime(2026, 10, 25, tzinfo=UTC), 4), (SATURDAY, 3)],
    ids=["an hour is left out", "an hour comes twice", "another day"],
)
def test_a_window_follows_the_clock_of_its_time_zone(day, hours):
    window = {"start": "01:00", "end": "04:00", "timezone": BERLIN}
    midnight = day.replace(hour=0, minute=0) - timedelta(hours=2)
    moments = [midnight + timedelta(minutes=minutes) for minutes in range(0, 24 * 60, 15)]
    assert sum(is_open(moment, window) for moment in moments) == hours * 4


def test_a_window_in_the_hour_that_the_clock_leaves_out_opens_a_day_later():
    lost = {"start": "02:15", "end": "02:45", "timezone": BERLIN}
    now = datetime(2026, 3, 28, 12, tzinfo=UTC)
    (error,), _ = judged(lost, now=now)
    assert "wait until Mon 2026-03-30 02:15 Europe/Berlin" in error
    partly = {**lost, "end": "03:30"}
    (error,), _ = judged(partly, now=now)
    assert "wait until Sun 2026-03-29 03:15 Europe/Berlin" in error


def test_the_named_time_is_the_first_at_which_the_windows_are_open():
    """Every quarter of an hour of the weeks in which clocks change, in zones with changes of an hour and of half."""
    chosen = [
        {**WORK, "days": ["Sun"], "start": "01:30", "end": "02:30"},
        {**NIGHT, "timezone": "Australia/Lord_Howe"},
        {**WORK, "days": ["Wed"], "timezone": "America/New_York"},
    ]
    quarter = timedelta(minutes=15)
    for begin in (datetime(2026, 3, 26, tzinfo=UTC), datetime(2026, 10, 22, tzinfo=UTC)):
        moments = [begin + number * quarter for number in range(4 * 24 * 10)]
        states = [is_open(moment, *chosen) for moment in moments]
        for number in range(0, 4 * 24, 7):
            if not states[number]:
                first = next(moment for moment, state in zip(moments[number:], states[number:], strict=True) if state)
                (error,), _ = judged(*chosen, now=moments[number])
                assert any(f"wait until {text(first, window)}," in error for window in chosen), (error, first)


def text(moment, window):
    local = moment.astimezone(ZoneInfo(window["timezone"]))
    return f"{WEEKDAYS[local.weekday()]} {local:%Y-%m-%d %H:%M} {window['timezone']}"


def test_an_exception_counts_for_its_day_alone():
    passes = f"{CLOSED}; inference-stacks:outsideWindows lets this run pass"
    assert judged(WORK, exception="2026-11-28") == ([], [passes])
    stale = "inference-stacks:outsideWindows: has no effect on 2026-11-28 (2026-11-27); take it out"
    (error,), warned = judged(WORK, exception="2026-11-27")
    assert (error.startswith(CLOSED), warned) == (True, [stale])
    assert judged(exception="2026-11-28") == (
        [],
        ["inference-stacks:outsideWindows: has no effect, because the stack has no windows; take it out"],
    )
    (unreadable, closed), _ = judged(WORK, exception="today")
    assert unreadable == (
        "inference-stacks:outsideWindows: is no day (today); write the day of the run, such as 2026-11-28"
    )
    assert closed.startswith(CLOSED)


def test_the_day_of_an_exception_is_that_of_the_message():
    late = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
    (error,), _ = judged(WORK, now=late)
    assert error.endswith("outsideWindows=2026-11-29")
    assert judged(WORK, now=late, exception="2026-11-29")[0] == []


@pytest.mark.parametrize("deploys", [True, False])
def test_a_machine_without_time_zones_deploys_nothing(monkeypatch, deploys):
    def fail(name):
        raise ZoneInfoNotFoundError(f"No time zone found with key {name}")

    monkeypatch.setattr(windows, "ZoneInfo", fail)
    what = (
        "windows: cannot be checked, because this machine does not know a time zone "
        "(No time zone found with key Europe/Berlin); install tzdata on it"
    )
    assert judged(WORK, deploys=deploys) == (([what], []) if deploys else ([], [what]))


def test_a_window_needs_times_and_a_zone():
    assert DeploymentWindow.model_validate({"start": "09:00", "end": "17:00", "timezone": "UTC"}).days == ()
