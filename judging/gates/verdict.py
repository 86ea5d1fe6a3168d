"""The verdict on a canary: pass, fail, undecided, or not measured.

It fails as soon as a bound that holds at every moment says worse than the margin. It passes once, at the end of a time
that was stated before: when `bake` is over and the canary has had `minRequests`. The number of requests does not depend
on how many are bad, so that waiting for it favours no verdict. After that time it may still fail, but never pass.
"""

import math
from collections.abc import Sequence

from judging.gates import comparability, statistics
from judging.gates.records import (
    ERRORS,
    CanaryVerdict,
    GateOutcome,
    GateTerms,
    GateVerdict,
    Obstacle,
    Shortfall,
    Tally,
    Terms,
)
from models.gates import LONGEST_BAKE_MINUTES
from planning.ground.cluster_facts import Unknown
from planning.ground.request_counts import Block, Measurement, VariantMinutes

LEAST_BLOCKS = 5
"""Minutes with requests of each variant before a gate fails: fewer tell nothing of bursts, and a burst in the first
minute would look like a canary that is worse."""
_FARTHEST = 64
"""Times of the requests so far up to which is computed how many are needed."""
_HALVINGS = 20


def judge(terms: Terms, measurement: Measurement, *, asks_each_picker: bool = True) -> CanaryVerdict:
    """Return the verdict on a canary.

    `asks_each_picker` tells whether the gateway asks the picker of each pool (`planning.ground.gateways`).
    """
    end = _end(terms, measurement)
    gates = tuple(_gate(terms, gate, measurement, end) for gate in terms.gates)
    outcomes = {gate.outcome for gate in gates}
    # A failure counts all minutes, a pass those of the time.
    compared = measurement
    if end is not None and GateOutcome.FAILS not in outcomes:
        compared = Measurement(
            measurement.changed_at,
            measurement.read_at,
            _until(measurement.primary, end),
            _until(measurement.canary, end),
        )
    obstacles = tuple(comparability.obstacles(terms, compared, asks_each_picker=asks_each_picker))
    is_over = end is not None or _minutes(measurement) >= terms.longest
    return CanaryVerdict(
        outcome=_outcome(gates, obstacles),
        gates=gates,
        obstacles=obstacles,
        minutes=_minutes(measurement),
        shortfall=None if is_over else _shortfall(terms, gates, measurement),
        is_over=is_over,
        enough_bake=None if end is None else _enough_bake(terms, gates, measurement, end),
    )


def _until(variant: VariantMinutes, end: int) -> VariantMinutes:
    """Return the first minutes of a variant."""
    counts = {name: blocks if isinstance(blocks, Unknown) else blocks[:end] for name, blocks in variant.counts.items()}
    return VariantMinutes(counts, variant.ready if isinstance(variant.ready, Unknown) else variant.ready[:end])


def _outcome(gates: Sequence[GateVerdict], obstacles: Sequence[Obstacle]) -> GateOutcome:
    """Return the outcome of all gates: a failure counts most, and all have to pass."""
    outcomes = {_visible(gate, obstacles) for gate in gates}
    if GateOutcome.FAILS in outcomes:
        return GateOutcome.FAILS
    if GateOutcome.NOT_MEASURED in outcomes:
        return GateOutcome.NOT_MEASURED
    if outcomes == {GateOutcome.PASSES}:
        return GateOutcome.PASSES
    return GateOutcome.UNDECIDED


def _visible(gate: GateVerdict, obstacles: Sequence[Obstacle]) -> GateOutcome:
    """Return what the outcome of a gate says in spite of obstacles."""
    if any(obstacle.hides(gate) for obstacle in obstacles):
        return GateOutcome.UNDECIDED
    return gate.outcome


def _gate(terms: Terms, gate: GateTerms, measurement: Measurement, end: int | None) -> GateVerdict:
    """Return the verdict of a gate. `end` is the number of minutes that a pass depends on; None before that time."""
    primary = measurement.primary.counts.get(gate.name, Unknown("nothing was asked"))
    canary = measurement.canary.counts.get(gate.name, Unknown("nothing was asked"))
    if isinstance(primary, Unknown):
        return _without_counts(gate, primary)
    if isinstance(canary, Unknown):
        return _without_counts(gate, canary)
    of_primary, of_canary = statistics.tallies(primary, canary)
    # The probability of a wrong failure is that of all gates together. A wrong pass needs all of them.
    alpha = terms.alpha / len(terms.gates)
    lower = statistics.lower_difference(of_primary, of_canary, alpha)
    upper = None
    if end is not None:
        upper = statistics.upper_difference(*statistics.tallies(primary[:end], canary[:end]), terms.alpha)
    outcome = GateOutcome.UNDECIDED
    knows_bursts = min(map(statistics.number_of_blocks, (primary, canary))) >= LEAST_BLOCKS
    if knows_bursts and statistics.is_worse(of_primary, of_canary, gate.margin, alpha):
        outcome = GateOutcome.FAILS
    elif upper is not None and upper <= gate.margin:
        outcome = GateOutcome.PASSES
    return GateVerdict(gate, outcome, of_primary, of_canary, lower, upper)


def _without_counts(gate: GateTerms, reason: Unknown) -> GateVerdict:
    nothing = Tally(0, 0)
    return GateVerdict(gate, GateOutcome.NOT_MEASURED, nothing, nothing, -1.0, None, reason.reason)


def _end(terms: Terms, measurement: Measurement) -> int | None:
    """Return the number of minutes after which the time is over; None if it is not over yet."""
    blocks = _blocks(measurement)
    requests = 0.0
    for number, block in enumerate(blocks, start=1):
        requests += 0.0 if block is None else block.requests
        if number >= terms.bake and requests >= terms.min_requests:
            return number
    return None


def _blocks(measurement: Measurement) -> Sequence[Block | None]:
    """Return the requests of the canary; none if nobody knows."""
    blocks = measurement.canary.counts.get(ERRORS, ())
    return () if isinstance(blocks, Unknown) else blocks


def _minutes(measurement: Measurement) -> int:
    """Return the minutes that were compared."""
    lengths = [len(blocks) for blocks in measurement.canary.counts.values() if not isinstance(blocks, Unknown)]
    return max(lengths, default=0)


def _shortfall(terms: Terms, gates: Sequence[GateVerdict], measurement: Measurement) -> Shortfall:
    """Return what lacks until the time is over, if requests go on as they have come."""
    minutes = _minutes(measurement)
    requests = next((gate.canary.requests for gate in gates if gate.terms.name == ERRORS), 0.0)
    lacking = max(0, math.ceil(terms.min_requests - requests))
    by_requests = 0.0
    if lacking:
        by_requests = lacking * minutes / requests if requests else math.inf
    if by_requests > terms.longest:
        return Shortfall(lacking, None)
    by_time = max(0, terms.bake - minutes) + comparability.warmup_left(terms, measurement)
    return Shortfall(lacking, max(math.ceil(by_requests), by_time))


def _enough_bake(terms: Terms, gates: Sequence[GateVerdict], measurement: Measurement, end: int) -> int | None:
    """Return the minutes with which gates would have passed after `end` minutes were too few."""
    factors = [_factor(terms, gate) for gate in gates if gate.outcome is GateOutcome.UNDECIDED]
    known = [factor for factor in factors if factor is not None]
    if not known or len(known) < len(factors):
        return None
    minutes = max(end, math.ceil(max(known) * _minutes(measurement)))
    return minutes if minutes <= LONGEST_BAKE_MINUTES else None


def _factor(terms: Terms, gate: GateVerdict) -> float | None:
    """Return how many times the requests so far would pass a gate, with the same shares; None if none would."""
    low = 0.0
    high = float(_FARTHEST)
    if not _would_pass(terms, gate, high):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _would_pass(terms, gate, middle):
            high = middle
        else:
            low = middle
    return high


def _would_pass(terms: Terms, gate: GateVerdict, factor: float) -> bool:
    primary, canary = (
        Tally(tally.requests * factor, tally.bad * factor, tally.effect) for tally in (gate.primary, gate.canary)
    )
    return statistics.upper_difference(primary, canary, terms.alpha) <= gate.terms.margin
