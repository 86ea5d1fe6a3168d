"""Statistics of two shares of requests: bounds that hold at every moment, bounds at one moment, and bursts.

All functions take counts. Requests that fail together tell less than as many that fail independently of each other: the
count of a `Tally` is divided by its design effect.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

from judging.gates.records import Tally
from planning.ground.request_counts import Block

_PRIORS = ((1.0, 1.0), (1.0, 20.0), (1.0, 200.0))
"""Beta distributions of shares, each as likely as the others before anything is counted. Any choice makes bounds that
hold; these make them narrow for shares around a half, some percent and some per mille."""
_FEWEST = 1e-9
_MOST = 1e15
"""Fewest and most requests of a block. Queries of users may have others as results, whose squares are no numbers."""
_HALVINGS = 100
"""Halvings of an interval, after which its ends are neighbours among the numbers."""


def is_worse(primary: Tally, canary: Tally, margin: float, alpha: float) -> bool:
    """Tell whether the canary's share of bad requests is above the primary's by more than a margin.

    The probability that this is ever said of a canary at the margin is at most `alpha`, however often one asks.
    """
    if canary.share - primary.share <= margin:
        return False
    # The primary's bound is above its share: where the canary may have that share and the margin, nothing is certain.
    if not _excludes(canary, primary.share + margin, alpha / 2):
        return False
    return lower_difference(primary, canary, alpha) > margin


def lower_difference(primary: Tally, canary: Tally, alpha: float) -> float:
    """Return the difference of the shares that the canary has at least, at every moment.

    It is wrong at any moment with at most the probability `alpha`, of which each share has a half. Without requests,
    nothing is known: the difference may be -1.
    """
    return lower_bound(canary, alpha / 2) - upper_bound(primary, alpha / 2)


def lower_bound(tally: Tally, alpha: float) -> float:
    """Return the smallest share that the counts allow, whenever one looks, but for the probability `alpha`.

    Robbins' bounds: the likelihood of the counts, averaged over prior shares and divided by that of the true share, is
    a martingale with the mean 1, so it ever reaches 1 / alpha with a probability of at most alpha (Ville). Source:
    H. Robbins, Statistical Methods Related to the Law of the Iterated Logarithm, 1970.
    """
    return _boundary(tally, alpha, 0.0)


def upper_bound(tally: Tally, alpha: float) -> float:
    """Return the largest share that the counts allow, as `lower_bound` does."""
    return _boundary(tally, alpha, 1.0)


def upper_difference(primary: Tally, canary: Tally, alpha: float) -> float:
    """Return the difference of the shares that the canary has at most, at one moment.

    It is wrong with about the probability `alpha`. Without requests of a variant, the difference may be 1. Source:
    R. Newcombe, Interval estimation for the difference between independent proportions, Statistics in Medicine 17
    (1998), method 10.
    """
    if not primary.requests or not canary.requests:
        return 1.0
    above = score_bounds(canary, alpha)[1] - canary.share
    below = primary.share - score_bounds(primary, alpha)[0]
    return canary.share - primary.share + math.hypot(above, below)


def score_bounds(tally: Tally, alpha: float) -> tuple[float, float]:
    """Return the bounds of a share at one moment, each of which is wrong with the probability `alpha`.

    Source: E. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    count = tally.requests / tally.effect
    quantile = NormalDist().inv_cdf(1 - alpha)
    share = tally.share
    square = quantile * quantile
    middle = share + square / (2 * count)
    half = quantile * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    scale = 1 + square / count
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def tallies(primary: Sequence[Block | None], canary: Sequence[Block | None]) -> tuple[Tally, Tally]:
    """Return the requests of both variants, with the design effects of bursts.

    The variant with more requests knows more of bursts: how far requests of one of its blocks fail together counts for
    the other one, too, which may have had no burst yet.
    """
    blocks = [[*_plausible(variant)] for variant in (primary, canary)]
    correlation = _correlation(max(blocks, key=_requests))
    first, second = (_tally(of_variant, correlation) for of_variant in blocks)
    return first, second


def number_of_blocks(blocks: Sequence[Block | None]) -> int:
    """Return the number of blocks with requests."""
    return sum(1 for _ in _plausible(blocks))


def _plausible(blocks: Sequence[Block | None]) -> Iterator[Block]:
    """Yield the blocks with requests. Extrapolated numbers may be negative, or more bad requests than all."""
    for block in blocks:
        if block is not None and math.isfinite(block.bad) and _FEWEST <= block.requests <= _MOST:
            yield Block(block.requests, min(max(block.bad, 0.0), block.requests))


def _tally(blocks: Sequence[Block], correlation: float) -> Tally:
    requests = _requests(blocks)
    bad = sum(block.bad for block in blocks)
    if not requests:
        return Tally(0, 0)
    by_correlation = 1 + (_mean_size(blocks) - 1) * correlation
    return Tally(requests, bad, max(1.0, _effect(blocks), by_correlation))


def _requests(blocks: Sequence[Block]) -> float:
    return sum(block.requests for block in blocks)


def _mean_size(blocks: Sequence[Block]) -> float:
    """Return the size of the block of a request, on average over the requests."""
    return sum(block.requests**2 for block in blocks) / _requests(blocks)


def _effect(blocks: Sequence[Block]) -> float:
    """Return the variance of the share between blocks, in multiples of that of independent requests; 1 if unknown.

    Source: L. Kish, Survey Sampling, 1965, variance of a ratio of clusters.
    """
    requests = _requests(blocks)
    share = sum(block.bad for block in blocks) / requests
    expected = share * (1 - share) * requests
    if len(blocks) < 2 or not expected:  # noqa: PLR2004, a variance needs two
        return 1.0
    squares = sum((block.bad - block.requests * share) ** 2 for block in blocks)
    return squares / expected * len(blocks) / (len(blocks) - 1)


def _correlation(blocks: Sequence[Block]) -> float:
    """Return how far requests of one block fail together: 0 if independently, 1 if all or none of a block fail."""
    if not blocks:
        return 0.0
    size = _mean_size(blocks)
    if size <= 1:
        return 0.0
    return min(1.0, max(0.0, (_effect(blocks) - 1) / (size - 1)))


def _boundary(tally: Tally, alpha: float, outside: float) -> float:
    """Return the share between `outside`, which is 0 or 1, and the observed one up to which counts exclude shares."""
    if not tally.requests:
        return outside
    inside = tally.share
    if inside == outside:
        return outside
    limit = _mixture(tally) + math.log(alpha)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if middle in {inside, outside}:
            break
        if _likelihood(tally, middle) <= limit:
            outside = middle
        else:
            inside = middle
    return outside


def _excludes(tally: Tally, share: float, alpha: float) -> bool:
    """Tell whether counts exclude a share at every moment."""
    return share <= 0 or share >= 1 or _likelihood(tally, share) <= _mixture(tally) + math.log(alpha)


def _likelihood(tally: Tally, share: float) -> float:
    """Return the logarithm of the likelihood of the counts for a share between 0 and 1."""
    bad = tally.bad / tally.effect
    good = tally.requests / tally.effect - bad
    return bad * math.log(share) + good * math.log1p(-share)


def _mixture(tally: Tally) -> float:
    """Return the logarithm of the likelihood of the counts, averaged over all shares by the priors."""
    bad = tally.bad / tally.effect
    good = tally.requests / tally.effect - bad
    logarithms = [_log_beta(bad + a, good + b) - _log_beta(a, b) for a, b in _PRIORS]
    largest = max(logarithms)
    return largest + math.log(sum(math.exp(logarithm - largest) for logarithm in logarithms) / len(_PRIORS))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
