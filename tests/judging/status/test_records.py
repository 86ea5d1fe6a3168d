"""Times as the records of a status read them."""

from datetime import UTC, datetime

import pytest

from judging.status import records


@pytest.mark.parametrize("text", ["2026-11-28T01:00:00Z", "2026-11-28T02:00:00+01:00", "2026-11-28T01:00:00"])
def test_a_time_is_in_utc(text):
    moment = records.time(text)
    assert moment == datetime(2026, 11, 28, 1, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00", "soon", 5, None])
def test_a_time_that_utc_does_not_have_is_none(text):
    assert records.time(text) is None
