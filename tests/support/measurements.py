"""Measurements of a canary and its primary, and the terms by which they are judged."""

from datetime import UTC, datetime, timedelta

from judging.gates.records import GateTerms, Terms
from planning.ground.request_counts import Block, Measurement, VariantMinutes

CHANGED = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


def terms(*gates, **values):
    """Return terms of a canary with a tenth of the requests."""
    defaults = {
        "bake": 60,
        "warmup": 5,
        "min_requests": 500,
        "alpha": 0.05,
        "steps": (5, 25, 50, 100),
        "weight": 10,
        "has_headers": False,
        "requests_per_minute": None,
    }
    return Terms(gates=gates or (GateTerms("errors", 0.01),), **{**defaults, **values})


def blocks(requests, bad, minutes):
    """Return equal blocks."""
    return [Block(requests, bad)] * minutes


def measurement(primary, canary, *, ready=(9, 1), warmup=5):
    """Return what was measured: blocks of both by gate, or those of the gate for errors alone."""
    of_both = [counts if isinstance(counts, dict) else {"errors": counts} for counts in (primary, canary)]
    minutes = max((len(counts) for counts in of_both[1].values() if isinstance(counts, list)), default=0)
    variants = [
        VariantMinutes(counts, [number] * minutes if isinstance(number, int) else number)
        for counts, number in zip(of_both, ready, strict=True)
    ]
    return Measurement(CHANGED, CHANGED + timedelta(minutes=warmup + minutes), *variants)
