"""The terms of a service's gates, from its words."""

from collections.abc import Iterator

from judging.gates.records import ERRORS, TPOT, TTFT, GateTerms, Terms
from models.gates import Gates
from models.service import Service
from models.vocabulary import milliseconds

_MINUTE = 60_000
_PERCENT = 100


def of(service: Service) -> Terms | None:
    """Return the terms of the gates of a service; None for a service without gates."""
    canary = service.canary
    if canary is None or canary.gates is None:
        return None
    gates = canary.gates
    return Terms(
        gates=tuple(_gates(service, gates)),
        bake=_minutes(gates.bake),
        warmup=_minutes(gates.warmup),
        min_requests=gates.min_requests,
        alpha=1 - gates.confidence / _PERCENT,
        steps=gates.steps,
        weight=canary.weight,
        has_headers=bool(canary.headers),
        requests_per_minute=gates.requests_per_minute,
        assumed_share=gates.error_percent / _PERCENT,
    )


def _gates(service: Service, gates: Gates) -> Iterator[GateTerms]:
    """Yield the gates: the built-in ones first, then the queries by name."""
    yield GateTerms(ERRORS, gates.worse.errors / _PERCENT)
    slo = service.slo
    if slo is not None and slo.ttft is not None and gates.worse.ttft is not None:
        yield GateTerms(TTFT, gates.worse.ttft / _PERCENT, within=slo.ttft.within)
    if slo is not None and slo.tpot is not None and gates.worse.tpot is not None:
        yield GateTerms(TPOT, gates.worse.tpot / _PERCENT, within=slo.tpot.within)
    for name, query in sorted(gates.queries.items()):
        yield GateTerms(name, query.worse / _PERCENT, bad=query.bad, all=query.all)


def _minutes(duration: str) -> int:
    """Return a duration in whole minutes, rounded up, because counts are those of whole minutes."""
    return -(-milliseconds(duration) // _MINUTE)
