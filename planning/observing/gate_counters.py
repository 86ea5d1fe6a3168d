"""Counters by which gates compare the variants of a service: the same as those of its objectives.

A gate counts what the recorded series of requests and failures count (`burn-rates.yaml`). It asks for the samples of
their counters, because a rate is no count.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from models.service import Service
from planning.observing import burn_rates, metrics
from planning.observing.burn_rates import Recording
from planning.observing.observed import FACT, ObservedVariant
from planning.serving import Workload

WINDOW = "5m"
"""Window of the recorded series whose counters are taken; those of all windows are the same."""
_RATE = re.compile(rf'rate\((?P<selector>(?:[^"\[\]]|"(?:[^"\\]|\\.)*")+)\[{WINDOW}\]\)')
"""Rate of a counter."""
_NAMES: Mapping[str, tuple[str, str]] = {
    "errors": ("requests", "failures"),
    "ttft": ("ttft", "slow_ttft"),
    "tpot": ("tpot", "slow_tpot"),
}
"""Names of the recorded series of all requests and of bad ones, by gate."""


@dataclass(frozen=True, slots=True)
class GateCounters:
    """Selectors of the counters of one gate. Several of one kind are added up."""

    requests: tuple[str, ...]
    """Counters of all requests."""
    bad: tuple[str, ...]
    """Counters of bad requests; empty if good ones are counted."""
    good: tuple[str, ...]
    """Counters of requests that are not bad; empty if bad ones are counted."""


@dataclass(frozen=True, slots=True)
class VariantCounters:
    """Counters of one variant."""

    targets: str
    """Selector of the series that tell of each scrape whether it succeeded."""
    serving_roles: tuple[str, ...]
    """Values of the label for the role of the targets that serve requests."""
    destinations: tuple[str, ...]
    """Roles whose pods serve requests, whether they are scraped or not."""
    gates: Mapping[str, GateCounters]
    """Counters by the name of the gate. A gate whose series the variant lacks is left out."""


def counters(variants: Iterable[ObservedVariant], service: Service) -> Mapping[str, VariantCounters]:
    """Return the counters of the variants that are scraped, by name; none if the canary has no gates."""
    if service.canary is None or service.canary.gates is None or service.slo is None:
        return {}
    # The gate for errors counts requests of a service without an objective for its availability, too.
    objectives = {
        f"{service.slo.source}_counts": FACT,
        "requests": FACT,
        **burn_rates.bound_values(service.slo),
    }
    return {variant.context.variant_name: _of_variant(variant, objectives) for variant in variants}


def _of_variant(variant: ObservedVariant, objectives: Mapping[str, str]) -> VariantCounters:
    scope = variant.scope
    targets = metrics.resolve("target:up", scope, {})
    if targets is None:
        raise ValueError("every target has a series for its scrapes")
    serving = filter(_is_scraped_destination(variant), variant.workloads)
    return VariantCounters(
        targets=targets,
        serving_roles=tuple(workload.role for workload in serving),
        destinations=tuple(workload.role for workload in variant.workloads if workload.stage.is_destination),
        gates=of(burn_rates.recordings(scope, {**variant.values, **objectives})),
    )


def _is_scraped_destination(variant: ObservedVariant) -> Callable[[Workload], bool]:
    return lambda workload: workload.stage.is_destination and workload.role in variant.monitoring.roles


def of(recordings: Iterable[Recording]) -> Mapping[str, GateCounters]:
    """Return the counters of each gate whose series are recorded."""
    expressions = {record.name: record.expression for record in recordings if record.name.endswith(f":rate{WINDOW}")}
    by_name = {name.split(":")[1]: expression for name, expression in expressions.items()}
    return {
        gate: _counters(by_name[requests], by_name[bad])
        for gate, (requests, bad) in _NAMES.items()
        if requests in by_name and bad in by_name
    }


def _counters(requests: str, bad: str) -> GateCounters:
    whole = tuple(selector for selector, _ in _rates(requests))
    parts = list(_rates(bad))
    good = tuple(selector for selector, is_subtracted in parts if is_subtracted)
    if good:
        return GateCounters(whole, (), good)
    return GateCounters(whole, tuple(selector for selector, _ in parts), ())


def _rates(expression: str) -> Iterator[tuple[str, bool]]:
    """Yield the selector of each rate in a query, and whether the rate is subtracted. Nothing is added after that."""
    is_subtracted = False
    end = 0
    for match in _RATE.finditer(expression):
        is_subtracted = is_subtracted or "-" in expression[end : match.start()]
        end = match.end()
        yield match["selector"].strip(), is_subtracted
