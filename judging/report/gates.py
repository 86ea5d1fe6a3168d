"""The line of a report about the gates of a canary: how many requests and minutes they take."""

from collections.abc import Mapping

from judging.gates import comparability, promise, terms
from judging.gates.promise import POWER, Promise
from judging.gates.records import Terms
from models.service import Service, Variant
from models.stack import Stack
from planning.plans import StackPlan

_ALL = 100


def lines(stack: Stack, plan: StackPlan) -> Mapping[str, str]:
    """Return what is said of the gates of each service that has some, by the name of the service."""
    texts = dict[str, str]()
    for service in plan.services:
        spec = stack.services[service.key]
        demands = terms.of(spec)
        if demands is not None:
            texts[service.primary.names.base] = "; ".join([_duration(demands), *_load(spec, demands)])
    return texts


def _duration(demands: Terms) -> str:
    """Return how long gates take."""
    promised = promise.of(demands)
    times = f"{demands.bake} min after {demands.warmup} min of warm-up"
    if promised is None:
        return f"no verdict at weight {demands.weight}"
    needs = f"{promised.requests:,} requests of the canary ({_cause(demands, promised)})"
    if promised.minutes is None or promised.power is None:
        return f"{times}; a canary like the primary passes with {POWER:.0%} after {needs}"
    by_then = f"{times}, when a canary like the primary passes with {promised.power:.0%}"
    return f"{by_then}; {POWER:.0%} takes {needs}, which is {promised.minutes} min"


def _cause(demands: Terms, promised: Promise) -> str:
    """Return from what the number of requests follows."""
    if promised.requests == demands.min_requests:
        return "minRequests"
    gate = promised.gate
    return f"{gate.name}: {gate.assumed:.2%} bad, {gate.assumed + gate.margin:.2%} at the margin"


def _load(service: Service, demands: Terms) -> list[str]:
    """Return a sentence if the weight gives replicas of one variant much more to do than those of the other.

    Errors are compared all the same, so it is said of gates for times alone.
    """
    times = [gate.name for gate in demands.gates if gate.within]
    canary = service.canary
    if canary is None or not times or not 0 < demands.weight < _ALL:
        return []
    replicas = _replicas(service)
    of_canary = _replicas(canary)
    if not replicas or not of_canary:
        return []
    odds = demands.weight / (_ALL - demands.weight)
    ratio = odds * replicas / of_canary
    if 1 / comparability.MOST_LOAD <= ratio <= comparability.MOST_LOAD:
        return []
    verdict = "fails" if ratio > 1 else "passes"
    ratio_words = f"a replica of the canary gets {ratio:.2f} times the requests of one of the primary"
    remedy = f"{comparability.comparable_replicas(odds, replicas)} would have like loads"
    return [f"{ratio_words}, so nothing {verdict} by {' and '.join(times)}; {remedy}"]


def _replicas(variant: Variant) -> int:
    """Return the replicas that get requests of clients; 0 if an autoscaler decides."""
    roles = [*variant.decode.sets.values()] or [variant]
    if any(role.autoscaling is not None for role in roles):
        return 0
    return sum(role.replicas for role in roles)
