"""Reasons why the requests of a canary and of its primary cannot be compared.

An obstacle that makes the canary look better than it is hides no failure: a canary that looks worse in spite of it is
worse. One that makes it look worse than it is hides no pass.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from judging.gates.records import ERRORS, Obstacle, Terms
from planning.ground.cluster_facts import Unknown
from planning.ground.request_counts import Measurement, VariantMinutes

_ALL = 100
_SECONDS = 60
"""Seconds of a minute."""
MOST_LOAD = 2
"""Largest ratio of the loads of a ready replica with which times are comparable."""
_MOST_UNREADY = 0.05
"""Share of the minutes without a ready replica up to which variants are comparable: a scrape may fail by itself."""
_LIKELY_LOAD = 1.8
"""Ratio of loads that stays below the largest one, although requests come as they like."""


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
    yield from _loads(terms, measurement)


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
    if unready > _MOST_UNREADY * len(ready):
        yield Obstacle(f"the {name} had no ready replica in {unready} of {len(ready)} minutes", hides_failure)


def _loads(terms: Terms, measurement: Measurement) -> Iterator[Obstacle]:
    """Yield whether the replicas of one variant have much more to do than those of the other.

    Only times follow from the load as long as requests are answered, so only their gates are concerned.
    """
    times = tuple(gate.name for gate in terms.gates if gate.within)
    primary = _work(measurement.primary)
    canary = _work(measurement.canary)
    if not times or not primary.load or not canary.load:
        return
    replicas = comparable_replicas(canary.requests / primary.requests, max(1, round(primary.replicas)))
    text = (
        f"{' and '.join(times)} cannot be compared: a replica of the canary has {canary.load:.1f} requests a minute, "
        f"and one of the primary {primary.load:.1f}; {replicas} would have like loads"
    )
    if canary.load > MOST_LOAD * primary.load:
        yield Obstacle(text, hides_pass=False, gates=times)
    elif primary.load > MOST_LOAD * canary.load:
        yield Obstacle(text, hides_failure=False, gates=times)


def comparable_replicas(odds: float, primary: int) -> str:
    """Return numbers of replicas with which times are comparable, in words.

    `odds` are the requests of the canary divided by those of the primary, and `primary` the replicas that the primary
    has; it gets more only where a single replica of the canary would have too little to do.
    """
    canary = max(1, round(odds * primary))
    primary = max(primary, math.ceil(canary / (odds * _LIKELY_LOAD)))
    return f"{primary} replicas of the primary and {canary} of the canary"


@dataclass(frozen=True, slots=True)
class _Work:
    """Work of a variant, in the minutes for which requests and replicas are known."""

    requests: float
    replicas: float
    """Ready replicas on average."""
    load: float
    """Requests of a ready replica in a minute; 0 if nobody knows."""


def _work(minutes: VariantMinutes) -> _Work:
    blocks = minutes.counts.get(ERRORS, ())
    if isinstance(blocks, Unknown) or isinstance(minutes.ready, Unknown):
        return _Work(0, 0, 0)
    requests = 0.0
    replicas = 0
    known = 0
    for block, ready in zip(blocks, minutes.ready, strict=False):
        if block is not None and ready is not None:
            requests += block.requests
            replicas += ready
            known += 1
    if not replicas:
        return _Work(requests, 0, 0)
    return _Work(requests, replicas / known, requests / replicas)
