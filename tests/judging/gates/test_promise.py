"""How many requests a gate takes, and with which probability a canary that equals its primary passes."""

import pytest
from scipy import stats

from judging.gates import promise, statistics
from judging.gates.records import GateTerms, Tally
from tests.support.measurements import terms

ONE_POINT = GateTerms("errors", 0.01, 0.01)


def test_the_probability_is_the_sum_over_all_counts():
    primary = stats.binom(900, 0.01)
    canary = stats.binom(300, 0.01)
    total = sum(
        primary.pmf(bad) * canary.pmf(of_canary)
        for bad in range(60)
        for of_canary in range(40)
        if statistics.upper_difference(Tally(900, bad), Tally(300, of_canary), 0.05) <= 0.01
    )
    assert promise.power(ONE_POINT, 0.05, Tally(900, 0), Tally(300, 0)) == pytest.approx(total, abs=1e-6)


def test_large_counts_are_looked_at_in_strips(monkeypatch):
    counts = (Tally(400_000, 0), Tally(8000, 0))
    strips = promise.power(GateTerms("errors", 0.002, 0.01), 0.05, *counts)
    monkeypatch.setattr(promise, "_STRIPS", 10**9)
    assert strips == pytest.approx(promise.power(GateTerms("errors", 0.002, 0.01), 0.05, *counts), abs=0.002)


def test_requests_that_fail_together_count_less():
    plain = promise.power(ONE_POINT, 0.05, Tally(9000, 0), Tally(1000, 0))
    assert promise.power(ONE_POINT, 0.05, Tally(36000, 0, 4), Tally(4000, 0, 4)) == pytest.approx(plain)


def test_the_number_of_requests_is_the_first_that_is_enough():
    count = promise.requests(ONE_POINT, 0.05, 0.1)
    assert count is not None
    reached = [promise.power(ONE_POINT, 0.05, Tally(9 * number, 0), Tally(number, 0)) for number in (count - 1, count)]
    assert reached[0] < promise.POWER <= reached[1]


def test_half_the_margin_takes_more_than_three_times_the_requests():
    wide = promise.requests(ONE_POINT, 0.05, 0.1)
    narrow = promise.requests(GateTerms("errors", 0.005, 0.01), 0.05, 0.1)
    assert (wide, narrow) == (1029, 3418)


def test_a_margin_that_no_number_of_requests_shows_is_no_promise():
    tiny = GateTerms("errors", 1e-6, 0.1)
    assert promise.requests(tiny, 0.05, 0.1) is None
    assert promise.of(terms(tiny)) is None


def test_minutes_follow_from_the_stated_rate_and_the_weight():
    promised = promise.of(terms(ONE_POINT, requests_per_minute=200))
    assert promised is not None
    assert (promised.requests, promised.minutes) == (1029, 52)
    assert promised.power == pytest.approx(0.86, abs=0.01)
    assert promise.of(terms(ONE_POINT)).minutes is None


def test_the_time_goes_on_until_the_canary_has_had_the_requests():
    slow = promise.of(terms(ONE_POINT, requests_per_minute=50, min_requests=1200))
    fast = promise.of(terms(ONE_POINT, requests_per_minute=200, min_requests=1200))
    assert slow.power == pytest.approx(fast.power)


@pytest.mark.parametrize("weight", [0, 100])
def test_nothing_is_promised_where_nothing_is_drawn(weight):
    assert promise.of(terms(ONE_POINT, weight=weight)) is None
