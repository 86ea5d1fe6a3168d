"""Verdicts on the canaries of a deployed stack, for the command `gate` and for programs: functions that return records.

The cluster tells from when on primary and canary can be compared, a Prometheus tells how many requests each of them had
and how many were bad, and `judging.gates` compares them. Nothing is stored anywhere.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from composition import status
from composition.results import Composition
from facts import prometheus, request_minutes
from facts import status as reader
from facts.kubeconfig import KubeAccess
from facts.prometheus import PrometheusServer
from facts.request_minutes import BEFORE_SECONDS, GateAnswers
from facts.status import ReadScope
from judging.gates import terms as gate_terms
from judging.gates import verdict
from judging.gates.records import CanaryVerdict, GateOutcome, GateTerms, Terms
from judging.status import last_change, shares, topology
from judging.status.last_change import LastChange
from judging.status.topology import ServiceView
from models.vocabulary import milliseconds
from planning.ground import gateways
from planning.ground.cluster_facts import Unknown
from planning.ground.names import CANARY, PRIMARY
from planning.ground.request_counts import Block, Measurement, VariantMinutes
from planning.ground.snapshot import KINDS_OF_VARIANTS
from planning.ground.time_series import CounterSeries, Span
from planning.network.monitoring import ROLE_LABEL
from planning.observing.gate_counters import VariantCounters
from planning.plans import ServicePlan

ALL = 100
"""Weight of a canary that gets every request."""
_MINUTE = 60
_LATE_SECONDS = 15
"""Time after which a scrape is stored: its timeout, 10 seconds by default, and some more."""
_SCRAPES_OF_STEP = 4
"""Scrapes that a query of the user needs in its window, because `increase` sees only what lies between two of them."""
_STEPS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60)
"""Minutes of a window that divide an hour."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_Answer = Sequence[CounterSeries] | Unknown


@dataclass(frozen=True, slots=True)
class GatedService:
    """A service whose canary has gates."""

    key: str
    place: tuple[str, str]
    """Namespace and name."""
    terms: Terms
    counters: Mapping[str, VariantCounters]
    """Counters by variant."""
    step_minutes: int
    """Minutes of the window of the user's queries."""
    asks_each_picker: bool
    """Whether the gateway asks the picker of each pool."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """The verdict on a canary, with what it is about."""

    service: GatedService
    outcome: GateOutcome
    change: LastChange
    """Last change of shares or pods, from which on is counted."""
    reason: str = ""
    """Why there is no verdict, or why none is needed; empty if there is one."""
    verdict: CanaryVerdict | None = None
    """None if the variants were not compared."""


@dataclass(frozen=True, slots=True)
class GatedStack:
    """A stack with gates."""

    stack: status.ExpectedStack
    services: tuple[GatedService, ...]
    """Services whose canary has gates, by key."""


def of(composition: Composition) -> GatedStack:
    """Return the services of a stack whose canary has gates."""
    services = (_service(service, composition) for service in composition.plan.services)
    return GatedStack(status.expectations(composition), tuple(service for service in services if service is not None))


def _service(service: ServicePlan, composition: Composition) -> GatedService | None:
    spec = composition.stack.services[service.key]
    terms = gate_terms.of(spec)
    if terms is None or service.canary is None:
        return None
    gateway = spec.route.gateway or composition.stack.gateway
    intervals = [spec.metrics.interval]
    if spec.canary is not None:
        intervals.append(spec.canary.metrics.interval)
    return GatedService(
        key=service.key,
        place=(service.primary.names.namespace, service.primary.names.service),
        terms=terms,
        counters=service.gate_counters,
        step_minutes=_step_minutes(max(map(milliseconds, intervals))),
        asks_each_picker=gateway is None or gateways.asks_each_picker(gateway),
    )


def _step_minutes(interval: int) -> int:
    """Return the minutes of the window of queries for an interval between two scrapes, in milliseconds."""
    minutes = math.ceil(_SCRAPES_OF_STEP * interval / 1000 / _MINUTE)
    return next((step for step in _STEPS if step >= minutes), _STEPS[-1])


def judge(
    access: KubeAccess, gated: GatedStack, asked: PrometheusServer, keys: Collection[str] = ()
) -> Sequence[GateReport]:
    """Read cluster and Prometheus, and return the verdicts on the services with the keys in `keys`, or on all.

    Neither a cluster nor a Prometheus that cannot be read raises.
    """
    services = [service for service in gated.services if not keys or service.key in keys]
    snapshot = reader.read(access, ReadScope(gated.stack.namespaces, kinds=KINDS_OF_VARIANTS))
    now = datetime.now(UTC)
    unread = snapshot.unread()
    if unread:
        reason = _unread(unread)
        nothing = LastChange(None, reason)
        return [GateReport(service, GateOutcome.NOT_MEASURED, nothing, reason) for service in services]
    views = {
        view.place: view
        for view in topology.of(snapshot, gated.stack.owner.stack_of).services
        if view.stack == gated.stack.owner.identity.name.label
    }
    return [_report(service, views.get(service.place), asked, now) for service in services]


def _unread(unread: Mapping[str, str]) -> str:
    """Return what the cluster does not tell, and why. `unread` has reasons by kind."""
    kinds = ", ".join(sorted(kind.rpartition("/")[2] for kind in unread))
    reason = next(iter(unread.values()))
    remedy = ""
    if "403" in reason:
        remedy = "; bind the Roles that `python -m cli rights STACK --for gate` prints"
    return f"the cluster tells nothing of {kinds}: {reason}{remedy}"


def _report(service: GatedService, view: ServiceView | None, asked: PrometheusServer, now: datetime) -> GateReport:
    change = last_change.of(view)
    if view is None or change.at is None:
        return GateReport(service, GateOutcome.UNDECIDED, change, change.words)
    weight = _live_weight(view)
    if weight is not None and weight != service.terms.weight:
        reason = f"the route gives the canary {weight} % of the requests, and the stack file {service.terms.weight} %"
        return GateReport(service, GateOutcome.UNDECIDED, change, reason)
    if service.terms.weight == ALL and weight is None:
        reason = "the route does not tell which share of the requests the canary gets; fold it in by hand"
        return GateReport(service, GateOutcome.UNDECIDED, change, reason)
    if service.terms.weight == ALL:
        return GateReport(service, GateOutcome.PASSES, change, "the canary gets every request, so none are compared")
    ready = {
        variant.name: last_change.ready_pods(variant, service.counters[variant.name].destinations)
        for variant in view.variants
        if variant.name in service.counters
    }
    measurement = _measure(service, change.at, asked, now, ready)
    result = verdict.judge(service.terms, measurement, asks_each_picker=service.asks_each_picker)
    return GateReport(service, result.outcome, change, verdict=result)


def _live_weight(view: ServiceView) -> int | None:
    """Return the percentage of the requests that the route gives to the canary; None if the route does not tell."""
    percents = [share.percent for share in shares.shares(view) if share.variant == CANARY]
    return max(percents, default=None)


def _measure(
    service: GatedService, changed_at: datetime, asked: PrometheusServer, now: datetime, ready: Mapping[str, int]
) -> Measurement:
    """Ask a Prometheus for the requests of both variants in each complete minute that is compared.

    `ready` has the numbers of ready pods by variant.
    """
    start = math.ceil(changed_at.timestamp()) + service.terms.warmup * _MINUTE
    read_at = math.floor(now.timestamp()) - _LATE_SECONDS
    minutes = min(max(0, (read_at - start) // _MINUTE), service.terms.longest)
    span = Span(start, start + minutes * _MINUTE)
    # Before the warm-up is over, only whether the Prometheus answers is of interest.
    asked_span = Span(min(start, read_at) - BEFORE_SECONDS, max(span.end, min(start, read_at)))
    samples = prometheus.samples(asked, [*_selectors(service)], asked_span)
    values = prometheus.values(asked, [*_queries(service)], span, service.step_minutes * _MINUTE)
    answers = _Answers(service, span, {**samples, **values}, ready)
    return Measurement(changed_at, now, answers.minutes(PRIMARY), answers.minutes(CANARY))


def _selectors(service: GatedService) -> Iterator[str]:
    for counters in service.counters.values():
        yield counters.targets
        for gate in counters.gates.values():
            yield from (*gate.requests, *gate.bad, *gate.good)


def _queries(service: GatedService) -> Iterator[str]:
    for gate in service.terms.gates:
        if gate.all:
            for variant in (PRIMARY, CANARY):
                yield _query(gate.all, service, variant)
                yield _query(gate.bad, service, variant)


def _query(text: str, service: GatedService, variant: str) -> str:
    """Return a query of the user with the values of its variables."""
    namespace, name = service.place
    window = f"{service.step_minutes}m"
    values = {"variant": variant, "window": window, "service": name, "namespace": namespace}
    return _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)


@dataclass(frozen=True, slots=True)
class _Answers:
    """Answers of a Prometheus to all questions about a service."""

    service: GatedService
    span: Span
    """Complete minutes that are compared."""
    by_question: Mapping[str, _Answer]
    """Series by the text of the selector or of the query."""
    ready: Mapping[str, int]
    """Ready pods by variant, as the cluster tells."""

    def minutes(self, variant: str) -> VariantMinutes:
        """Return the requests of a variant."""
        counters = self.service.counters.get(variant)
        gates = self.service.terms.gates
        if counters is None:
            unscraped = Unknown(f"the {variant} is not scraped")
            return VariantMinutes({gate.name: unscraped for gate in gates}, unscraped)
        blocks = {gate.name: self._blocks(gate, variant, counters) for gate in gates}
        return VariantMinutes(blocks, self._ready(variant, counters))

    def _blocks(self, gate: GateTerms, variant: str, counters: VariantCounters) -> Sequence[Block | None] | Unknown:
        if gate.all:
            requests, bad = (self.by_question[_query(text, self.service, variant)] for text in (gate.all, gate.bad))
            return request_minutes.blocks_of_values(requests, bad, self.span, self.service.step_minutes)
        selectors = counters.gates.get(gate.name)
        if selectors is None:
            return Unknown(f"the {variant} reports no series for it")
        kinds = (selectors.requests, selectors.bad, selectors.good)
        answers = GateAnswers(*([self.by_question[text] for text in texts] for texts in kinds))
        return request_minutes.blocks(answers, self.by_question[counters.targets], self.span)

    def _ready(self, variant: str, counters: VariantCounters) -> Sequence[int | None] | Unknown:
        """Return the ready replicas in each minute.

        Where only the picker is scraped, they are the pods that the cluster says are ready since the last change.
        """
        if not counters.serving_roles:
            return [self.ready[variant]] * (self.span.seconds // _MINUTE)
        scrapes = self.by_question[counters.targets]
        if isinstance(scrapes, Unknown):
            return scrapes
        serving = [series for series in scrapes if series.labels.get(ROLE_LABEL) in counters.serving_roles]
        return request_minutes.ready_replicas(serving, self.span)
