"""The terms of a service's gates, from its words."""

from collections.abc import Iterator

from judging.gates.records import ERRORS, TPOT, TTFT, GateTerms, Terms
from models.gates import Gates
from models.objectives import Latency
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
    )


def _gates(service: Service, gates: Gates) -> Iterator[GateTerms]:
    """Yield the gates: the built-in ones first, then the queries by name."""
    assumed = gates.error_percent / _PERCENT
    yield GateTerms(ERRORS, gates.worse.errors / _PERCENT, assumed)
    slo = service.slo
    if slo is not None:
        yield from _latency(TTFT, gates.worse.ttft, slo.ttft)
        yield from _latency(TPOT, gates.worse.tpot, slo.tpot)
    for name, query in sorted(gates.queries.items()):
        yield GateTerms(name, query.worse / _PERCENT, assumed, bad=query.bad, all=query.all)


def _latency(name: str, worse: float | None, objective: Latency | None) -> Iterator[GateTerms]:
    """Yield the gate for a time. As many requests are assumed to be slow as the objective allows."""
    if worse is not None and objective is not None:
        yield GateTerms(name, worse / _PERCENT, 1 - objective.percent / _PERCENT, within=objective.within)


def _minutes(duration: str) -> int:
    """Return a duration in whole minutes, rounded up, because counts are those of whole minutes."""
    return -(-milliseconds(duration) // _MINUTE)
