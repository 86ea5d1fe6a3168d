"""Times and time zones of schedules: KEDA reads those that are taken."""

import zoneinfo

import pytest
from pydantic import TypeAdapter, ValidationError

from models import cron
from models.autoscaling import Schedule
from models.cron import CronTime, TimeZone

TIME: TypeAdapter[str] = TypeAdapter(CronTime)
ZONE: TypeAdapter[str] = TypeAdapter(TimeZone)
ZONES = {"EST5EDT", "Etc/GMT+5", "Europe/Berlin", "GMT0", "US/Eastern", "UTC"}
HOURS = {"start": "0 7 * * 1-5", "end": "0 19 * * 1-5", "timezone": "UTC", "replicas": 2}


@pytest.fixture
def zones(monkeypatch):
    """Replace the names of zones that this machine knows; return them."""
    known = set(ZONES)
    monkeypatch.setattr(zoneinfo, "available_timezones", lambda: known)
    cron._zones.cache_clear()
    yield known
    cron._zones.cache_clear()


@pytest.mark.parametrize(
    "time",
    [
        "0 7 * * 1-5",
        "59 23 31 12 6",
        "0,30 */2 1-15/3 jan-MAR,dec sun",
        "5/10 ? ? * MON-fri",
        "00 07 * * 0",
        "0, 7 * * *",
        "*/90 *-5 * * *",
    ],
)
def test_times_that_keda_reads_are_taken(time):
    assert TIME.validate_python(time) == time


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("60 7 * * *", "has no minute that KEDA reads (60); write numbers from 0 to 59, "),
        ("0 25 * * *", "has no hour that KEDA reads (25); write numbers from 0 to 23, "),
        ("0 7 0 * *", "has no day of the month that KEDA reads (0); write numbers from 1 to 31, "),
        ("0 7 * 13 *", "has no month that KEDA reads (13); write numbers from 1 to 12, "),
        ("0 7 * * 7", "has no day of the week that KEDA reads (7); write numbers from 0 to 6, "),
        ("0 7 * * 5-7", "has no day of the week that KEDA reads (5-7); "),
        ("0 7 * * monday", "has no day of the week that KEDA reads (monday); "),
        ("0 mon * * *", "has no hour that KEDA reads (mon); "),
        ("*/0 * * * *", "has no minute that KEDA reads (*/0); "),
        ("*/-1 * * * *", "has no minute that KEDA reads (*/-1); "),
        ("*/2/3 * * * *", "has no minute that KEDA reads (*/2/3); "),
        ("5-3 * * * *", "has no minute that KEDA reads (5-3); "),
        ("1-2-3 * * * *", "has no minute that KEDA reads (1-2-3); "),
        (", * * * *", "has no minute that KEDA reads (,); "),
    ],
)
def test_times_that_keda_does_not_read_are_refused(time, message):
    with pytest.raises(ValidationError) as caught:
        TIME.validate_python(time)
    (error,) = caught.value.errors()
    assert error["msg"].startswith(message)


@pytest.mark.parametrize("zone", sorted(ZONES))
def test_zones_of_the_database_are_taken(zones, zone):
    assert ZONE.validate_python(zone) == zone


@pytest.mark.parametrize("zone", ["Mars/X", "europe/berlin", "CEST"])
def test_other_zones_are_refused(zones, zone):
    with pytest.raises(ValidationError, match="is no name of a time zone; write one such as Europe/Berlin"):
        ZONE.validate_python(zone)


@pytest.mark.parametrize("absent", [ZONES, {"US/Eastern"}])
def test_a_machine_that_does_not_know_all_zones_refuses_none(zones, absent):
    zones -= absent
    assert ZONE.validate_python("US/Pacific") == "US/Pacific"


@pytest.mark.parametrize("end", ["00 7 * * 1-5", "0 7 * * mon-FRI", "0 7 ? */1 1,2,3,4,5"])
def test_a_window_that_ends_when_it_begins_is_refused_however_it_is_written(end):
    with pytest.raises(ValidationError, match="begins and ends at the same time"):
        Schedule.model_validate({**HOURS, "end": end})


def test_a_window_that_ends_on_other_days_is_taken():
    # With a day of the month and a weekday, one of both is enough, and a star makes both necessary.
    assert Schedule.model_validate({**HOURS, "end": "0 7 1-31 * 1-5"}).replicas == 2
