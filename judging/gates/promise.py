"""How many requests a gate takes, before any came: what previews say of a canary.

A preview promises what holds if requests fail independently of each other, and as often as it assumes.
"""

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass

from judging.gates import statistics
from judging.gates.records import GateTerms, Tally, Terms

POWER = 0.8
"""Probability with which a canary that equals the primary passes, from which the number of requests follows."""
_ALL = 100
_MOST_REQUESTS = 10_000_000
_DEVIATIONS = 6
"""Standard deviations around the mean within which counts are added up."""
_STRIPS = 200
"""Number of counts of the primary that are looked at, at most; others are as their neighbours."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Requests and minutes that gates take."""

    gate: GateTerms
    """The gate that takes most requests."""
    requests: int
    """Requests that the canary needs, so that one that equals the primary passes with the probability `POWER`."""
    minutes: int | None
    """Minutes in which these requests come; None if nobody said how many there are."""
    power: float | None
    """Probability that such a canary passes this gate when `bake` is over; None if nobody said how many come."""


def of(terms: Terms) -> Promise | None:
    """Return what gates take; None if no requests are drawn by lot, or if no number of requests is enough."""
    share = terms.weight / _ALL
    if not 0 < share < 1:
        return None
    needed = [requests(gate, terms.alpha, share) for gate in terms.gates]
    counts = [count for count in needed if count is not None]
    if len(counts) < len(needed):
        return None
    count, gate = max(zip(counts, terms.gates, strict=True), key=operator.itemgetter(0))
    count = max(count, terms.min_requests)
    if terms.requests_per_minute is None:
        return Promise(gate, count, None, None)
    rate = terms.requests_per_minute * share
    minutes = max(terms.bake, math.ceil(terms.min_requests / rate))
    chance = power(gate, terms.alpha, Tally(rate * minutes * (1 - share) / share, 0), Tally(rate * minutes, 0))
    return Promise(gate, count, math.ceil(count / rate), chance)


def requests(gate: GateTerms, alpha: float, share: float) -> int | None:
    """Return the requests of the canary with which one that equals the primary passes with the probability `POWER`.

    `share` is the canary's share of the requests, between 0 and 1. None if the number is too large.
    """

    def is_enough(count: int) -> bool:
        primary = Tally(count * (1 - share) / share, 0)
        return power(gate, alpha, primary, Tally(count, 0)) >= POWER

    high = 1
    while not is_enough(high):
        high *= 2
        if high > _MOST_REQUESTS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


def power(gate: GateTerms, alpha: float, primary: Tally, canary: Tally) -> float:
    """Return the probability that a canary passes at the end of the time if it equals the primary.

    `primary` and `canary` have the numbers of requests and the design effects; their bad requests are those that
    `gate` assumes, in all numbers in which they may come.
    """
    total = 0.0
    passing = 0.0
    canary_chances = [*_chances(canary, gate.assumed, strips=None)]
    below = 0.0
    position = 0
    for bad, chance in _chances(primary, gate.assumed, strips=_STRIPS):
        of_primary = Tally(primary.requests, bad * primary.effect, primary.effect)
        # The more bad requests the primary has, the more may the canary have.
        while position < len(canary_chances):
            count, canary_chance = canary_chances[position]
            of_canary = Tally(canary.requests, count * canary.effect, canary.effect)
            if statistics.upper_difference(of_primary, of_canary, alpha) > gate.margin:
                break
            below += canary_chance
            position += 1
        total += chance
        passing += chance * below
    return passing / total


def _chances(tally: Tally, share: float, strips: int | None) -> Iterator[tuple[int, float]]:
    """Yield how many of some independent requests may be bad, and how probable that is."""
    count = round(tally.requests / tally.effect)
    mean = count * share
    width = _DEVIATIONS * math.sqrt(mean * (1 - share)) + _DEVIATIONS
    first = max(0, math.floor(mean - width))
    last = min(count, math.ceil(mean + width))
    step = 1
    if strips is not None:
        step = max(1, (last - first) // strips)
    for bad in range(first, last + 1, step):
        yield bad, _binomial(count, bad, share)


def _binomial(count: int, bad: int, share: float) -> float:
    """Return the probability of so many bad requests among independent ones."""
    ways = math.lgamma(count + 1) - math.lgamma(bad + 1) - math.lgamma(count - bad + 1)
    return math.exp(ways + bad * math.log(share) + (count - bad) * math.log1p(-share))
