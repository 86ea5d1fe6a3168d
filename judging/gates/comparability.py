"""Reasons why the requests of a canary and of its primary cannot be compared.

An obstacle that makes the canary look better than it is hides no failure: a canary that looks worse in spite of it is
worse.
"""

import math
from collections.abc import Iterator

from judging.gates.records import ERRORS, Obstacle, Terms
from planning.ground.cluster_facts import Unknown
from planning.ground.request_counts import Measurement, VariantMinutes

_ALL = 100
_SECONDS = 60
"""Seconds of a minute."""
MOST_LOAD = 2
"""Largest ratio of the loads of a ready replica with which times are comparable."""


def obstacles(terms: Terms, measurement: Measurement, *, asks_each_picker: bool) -> Iterator[Obstacle]:
    """Yield why the variants cannot be compared.

    `asks_each_picker` tells whether the gateway asks the picker of each pool (`planning.ground.gateways`).
    """
    yield from _drawing(terms, asks_each_picker=asks_each_picker)
    left = warmup_left(terms, measurement)
    if left:
        yield Obstacle(f"the warm-up is over in {left} min")
    yield from _readiness("primary", measurement.primary, hides_failure=True)
    # A canary whose pods crash has nobody else to blame for its failures.
    yield from _readiness("canary", measurement.canary, hides_failure=False)
    yield from _loads(measurement)


def warmup_left(terms: Terms, measurement: Measurement) -> int:
    """Return the minutes until requests are counted."""
    passed = (measurement.read_at - measurement.changed_at).total_seconds() / _SECONDS
    return max(0, math.ceil(terms.warmup - passed))


def _drawing(terms: Terms, *, asks_each_picker: bool) -> Iterator[Obstacle]:
    """Yield why requests are not drawn by lot."""
    if terms.weight == 0:
        yield Obstacle("with weight 0, no requests are drawn for the canary")
    if terms.weight == _ALL:
        yield Obstacle("with weight 100, no requests are left for the primary")
    if terms.has_headers:
        yield Obstacle("headers bring the canary requests that are not drawn by lot")
    if not asks_each_picker:
        yield Obstacle("the gateway asks one picker for both variants, so it does not draw by weight")


def _readiness(name: str, minutes: VariantMinutes, *, hides_failure: bool) -> Iterator[Obstacle]:
    ready = minutes.ready
    if isinstance(ready, Unknown):
        yield Obstacle(f"nobody knows whether the {name} was ready: {ready.reason}")
        return
    if ready and all(number is None for number in ready):
        yield Obstacle(f"nobody knows whether the {name} was ready")
        return
    unready = sum(1 for number in ready if number == 0)
    if unready:
        yield Obstacle(f"the {name} had no ready replica in {unready} of {len(ready)} minutes", hides_failure)


def _loads(measurement: Measurement) -> Iterator[Obstacle]:
    """Yield whether the replicas of one variant have much more to do than those of the other."""
    primary = _load(measurement.primary)
    canary = _load(measurement.canary)
    if not primary or not canary:
        return
    numbers = f"{canary:.1f} requests a minute and replica, and the primary has {primary:.1f}"
    if canary > MOST_LOAD * primary:
        yield Obstacle(f"the canary has {numbers}")
    elif primary > MOST_LOAD * canary:
        yield Obstacle(f"the canary has only {numbers}", hides_failure=False)


def _load(minutes: VariantMinutes) -> float:
    """Return the requests of a ready replica in a minute; 0 if nobody knows."""
    blocks = minutes.counts.get(ERRORS, ())
    if isinstance(blocks, Unknown) or isinstance(minutes.ready, Unknown):
        return 0.0
    requests = 0.0
    replicas = 0
    for block, ready in zip(blocks, minutes.ready, strict=False):
        if block is not None and ready is not None:
            requests += block.requests
            replicas += ready
    return requests / replicas if replicas else 0.0
