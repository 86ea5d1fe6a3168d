"""Bounds of shares of requests, and bursts."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from judging.gates import statistics
from judging.gates.records import Tally
from planning.ground.request_counts import Block
from tests.support.measurements import blocks

ALPHAS = (0.025, 0.0125, 0.001)
GRID = [
    (bad, requests)
    for requests in (1, 7, 40, 500, 2000, 100_000)
    for bad in sorted({0, 1, round(0.003 * requests), round(0.05 * requests), requests // 2, requests - 1, requests})
]


def robbins(bad, requests, alpha, side):
    """Return a bound as scipy computes it: beta-binomial over binomial probabilities reach 1 / alpha there."""
    numerator = math.log(sum(stats.betabinom(requests, *prior).pmf(bad) for prior in statistics._PRIORS) / 3)

    def excess(share):
        return numerator - stats.binom(requests, share).logpmf(bad) + math.log(alpha)

    share = bad / requests
    outside = 0.0 if side == "lower" else 1.0
    if share == outside:
        return outside
    tiny = 1e-15
    inside = min(max(share, tiny), 1 - 1e-16)
    return optimize.brentq(excess, min(max(outside, tiny), 1 - 1e-16), inside, xtol=1e-15, rtol=1e-14)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("bad", "requests"), GRID)
def test_bounds_that_hold_at_every_moment_are_those_of_scipy(bad, requests, alpha):
    tally = Tally(requests, bad)
    assert statistics.lower_bound(tally, alpha) == pytest.approx(robbins(bad, requests, alpha, "lower"), abs=1e-9)
    assert statistics.upper_bound(tally, alpha) == pytest.approx(robbins(bad, requests, alpha, "upper"), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_each_share_has_half_of_the_probability_of_a_wrong_difference(alpha):
    bound = robbins(60, 1200, alpha / 2, "lower") - robbins(108, 10800, alpha / 2, "upper")
    difference = statistics.lower_difference(Tally(10800, 108), Tally(1200, 60), alpha)
    assert difference == pytest.approx(bound, abs=1e-9)


def test_the_priors_make_bounds_narrow_for_small_shares(monkeypatch):
    mixed = statistics.lower_difference(Tally(10800, 108), Tally(1200, 60), 0.05)
    assert mixed == pytest.approx(0.0161018, abs=1e-6)
    monkeypatch.setattr(statistics, "_PRIORS", ((1.0, 1.0),))
    assert statistics.lower_difference(Tally(10800, 108), Tally(1200, 60), 0.05) < mixed - 0.001


def test_a_canary_is_worse_from_the_first_bad_request_on_at_which_the_bound_says_it():
    """The primary has so many requests that its bound is its share, on which the quick test of the canary depends."""
    primary = Tally(10**10, 10**8)
    canaries = [Tally(2000, bad) for bad in range(40, 90)]
    bounds = [statistics.lower_difference(primary, canary, 0.05) > 0.01 for canary in canaries]
    assert bounds == [statistics.is_worse(primary, canary, 0.01, 0.05) for canary in canaries]
    assert set(bounds) == {True, False}


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("bad", "requests"), GRID)
def test_bounds_at_one_moment_are_those_of_scipy(bad, requests, alpha):
    interval = stats.binomtest(bad, requests).proportion_ci(1 - 2 * alpha, method="wilson")
    low, high = statistics.score_bounds(Tally(requests, bad), alpha)
    assert (low, high) == (pytest.approx(interval.low, abs=1e-9), pytest.approx(interval.high, abs=1e-9))


def test_the_difference_at_one_moment_is_that_of_a_published_example():
    """See Newcombe (1998), table II, example (a): 56 of 70 against 48 of 80, method 10, 0.0524 to 0.3339."""
    assert statistics.upper_difference(Tally(80, 48), Tally(70, 56), 0.025) == pytest.approx(0.3339, abs=5e-5)
    assert -statistics.upper_difference(Tally(70, 56), Tally(80, 48), 0.025) == pytest.approx(0.0524, abs=5e-5)


def test_requests_that_fail_together_count_less():
    plain = statistics.lower_bound(Tally(100, 20), 0.05)
    assert statistics.lower_bound(Tally(400, 80, effect=4), 0.05) == pytest.approx(plain, abs=1e-12)
    low, high = statistics.score_bounds(Tally(400, 80, effect=4), 0.05)
    assert (low, high) == pytest.approx(statistics.score_bounds(Tally(100, 20), 0.05), abs=1e-12)


def test_nothing_is_known_without_requests():
    nothing = Tally(0, 0)
    assert statistics.lower_difference(nothing, nothing, 0.05) == -1
    assert statistics.upper_difference(nothing, Tally(10, 1), 0.05) == 1
    assert statistics.upper_difference(Tally(10, 1), nothing, 0.05) == 1
    assert not statistics.is_worse(nothing, Tally(1000, 1000), 0.01, 0.05)


TALLIES = st.tuples(st.integers(1, 5000), st.floats(0, 1), st.floats(1, 60)).map(
    lambda values: Tally(values[0], round(values[0] * values[1]), values[2])
)


@given(TALLIES, TALLIES, st.sampled_from([0.001, 0.01, 0.05]), st.sampled_from([0.05, 0.01]))
def test_worse_is_what_the_bound_of_the_difference_says(primary, canary, margin, alpha):
    bound = statistics.lower_difference(primary, canary, alpha)
    if abs(bound - margin) > 1e-12:
        assert statistics.is_worse(primary, canary, margin, alpha) == (bound > margin)


@given(TALLIES, TALLIES, st.sampled_from([0.05, 0.01]))
def test_a_bound_at_every_moment_lies_below_one_at_one_moment(primary, canary, alpha):
    lower = statistics.lower_difference(primary, canary, alpha)
    assert lower <= canary.share - primary.share <= statistics.upper_difference(primary, canary, alpha) + 1e-12


@given(TALLIES, TALLIES, st.floats(1, 9))
def test_bursts_make_no_canary_worse(primary, canary, effect):
    """A simulation that asks the command's code only where independent requests say worse loses nothing."""
    plain = [Tally(tally.requests, tally.bad) for tally in (primary, canary)]
    bursts = [Tally(tally.requests, tally.bad, effect * tally.effect) for tally in (primary, canary)]
    if statistics.is_worse(*bursts, 0.01, 0.05):
        assert statistics.is_worse(*plain, 0.01, 0.05)


def test_blocks_that_differ_as_independent_requests_do_have_no_effect():
    primary = [Block(100, bad) for bad in (0, 1, 2, 1, 0, 2)]
    assert statistics.tallies(primary, primary)[0] == Tally(600, 6, 1.0)


def test_the_design_effect_is_the_variance_between_blocks():
    bursts = [Block(100, 0)] * 9 + [Block(100, 50)]
    share = 50 / 1000
    squares = 9 * 5**2 + 45**2
    effect = squares / (share * (1 - share) * 1000) * 10 / 9
    assert statistics.tallies(bursts, blocks(10, 0, 10))[0].effect == pytest.approx(effect)


def test_the_variant_with_more_requests_lends_its_bursts_to_the_other():
    """A canary that has had no burst yet does not look as certain as one whose requests are independent."""
    bursts = [Block(100, 0)] * 9 + [Block(100, 50)]
    primary, canary = statistics.tallies(bursts, blocks(10, 0, 10))
    correlation = (primary.effect - 1) / 99
    assert canary.effect == pytest.approx(1 + 9 * correlation)
    assert statistics.tallies(blocks(10, 0, 10), bursts)[0].effect == pytest.approx(canary.effect)


def test_blocks_of_one_request_have_no_bursts():
    singles = [Block(1, bad) for bad in (0, 0, 1, 1, 0, 0)]
    assert statistics.tallies(singles, singles)[1].effect == pytest.approx(6 / 5)


def test_the_quantile_is_that_of_one_side():
    """Wilson's bound solves (share - p)^2 = z^2 p (1 - p) / n."""
    quantile = NormalDist().inv_cdf(0.95)
    _, high = statistics.score_bounds(Tally(500, 5), 0.05)
    assert (high - 0.01) ** 2 == pytest.approx(quantile**2 * high * (1 - high) / 500)
