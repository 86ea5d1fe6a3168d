"""Hours of devices that a Prometheus saw, beside those that a stack is expected to have, and the cost of both.

A workload counts by what its pods requested, if the Prometheus read kube-state-metrics whenever it read the service,
and otherwise by the pods that were scraped. Pods count from when a node has them, whether they are ready or not,
because they hold their devices. Steps in which nothing of the service was scraped do not count, because nothing is
expected of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from models.accelerators import ExtendedResource
from planning import bill
from planning.observing import metrics, observed
from planning.observing.metrics import SeriesScope
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.serving import Workload

STEP_MINUTES = 5
"""Minutes between two counts."""
_HOUR = 60
_READ = "sum_over_time(clamp_max(count(target:up), 1)[$since:$step])"
_COVERED = """
sum_over_time((clamp_max(count(target:up), 1) and on () cluster:pod_requests and on () cluster:pod_phase)[$since:$step])
"""
_SCRAPED = 'sum_over_time(count(count by (pod) (target:up{role="$role"}))[$since:$step])'
_REQUESTED = """
sum_over_time((sum(cluster:pod_requests{pod=~"$pods",resource="$resource",node!=""}
* on (namespace, pod) group_left () max by (namespace, pod) (cluster:pod_phase{phase=~"Pending|Running"} == 1))
and on () target:up)[$since:$step])
"""
_ENOUGH = 0.95
"""Share of the steps in which a service was read that must have requests of pods."""
_NOT_IN_RESOURCE_NAMES = str.maketrans("./-", "___")
"""Characters that kube-state-metrics replaces in the names of resources (kube-state-metrics v2.17.0,
internal/store/utils.go, SanitizeLabelName)."""


@dataclass(frozen=True, slots=True)
class WorkloadCount:
    """Queries that count the devices of a workload: numbers of devices or pods, added up over all steps."""

    service: str
    """Key of the service."""
    accelerator: str
    scraped: str
    """Query for the pods that are scraped."""
    devices: int
    """Number of devices that each scraped pod stands for."""
    requested: str | None
    """Query for the chips that pods requested; None if the chips are no extended resource."""
    devices_per_chip: int


@dataclass(frozen=True, slots=True)
class SpendingQueries:
    """All queries about a stack."""

    read: Mapping[str, str]
    """Queries for the steps in which anything of a service was scraped, by key of the service."""
    covered: Mapping[str, str]
    """Queries for those of these steps that have requests of pods of the namespace, by key of the service."""
    workloads: tuple[WorkloadCount, ...]

    @property
    def expressions(self) -> frozenset[str]:
        """Return the queries."""
        requested = (count.requested for count in self.workloads if count.requested is not None)
        return frozenset(
            (*self.read.values(), *self.covered.values(), *(count.scraped for count in self.workloads), *requested)
        )


@dataclass(frozen=True, slots=True)
class Spending:
    """Hours of the devices of a service, by one accelerator class, and their cost."""

    service: str
    accelerator: str
    hours: Decimal
    """Hours in which anything of the service was scraped."""
    low: Decimal
    """Hours of devices in that time with the smallest number of replicas."""
    high: Decimal
    seen: Decimal
    """Hours of devices that were seen."""
    price: Decimal | None
    """Price of an hour; None if the class has no price."""
    by_requests: bool
    """Whether the hours are those of pods' requests. If not, they are those of scraped pods."""


def queries(plan: StackPlan, since: str) -> SpendingQueries:
    """Return the queries about the devices of a stack. `since` is a time before now, as a duration of Prometheus."""
    values = {"since": since, "step": f"{STEP_MINUTES}m"}
    services = [service for service in plan.services if bill.devices(service)]
    read = {service.key: _query(_READ, _scope(service), values) for service in services}
    covered = {service.key: _query(_COVERED, _scope(service), values) for service in services}
    return SpendingQueries(read, covered, tuple(count for service in services for count in _counts(service, values)))


def compare(plan: StackPlan, asked: SpendingQueries, results: Mapping[str, float]) -> Iterator[Spending]:
    """Yield the hours of each service and class. `results` are those of the queries; one without a result is absent."""
    prices = plan.prices.per_device_hour
    for service in plan.services:
        if service.key not in asked.read:
            continue
        read = results.get(asked.read[service.key], 0)
        is_covered = results.get(asked.covered[service.key], 0) >= _ENOUGH * read
        hours = _hours(read)
        for name, expected in bill.by_class(service).items():
            counts = [count for count in asked.workloads if (count.service, count.accelerator) == (service.key, name)]
            by_requests = is_covered and any(count.requested in results for count in counts)
            price = prices.get(name)
            yield Spending(
                service=service.key,
                accelerator=name,
                hours=hours,
                low=expected.low * hours,
                high=expected.high * hours,
                seen=_seen(counts, results, by_requests=by_requests),
                price=None if price is None else Decimal(str(price)),
                by_requests=by_requests,
            )


def _counts(service: ServicePlan, values: Mapping[str, str]) -> Iterator[WorkloadCount]:
    for variant in service.variants:
        for workload in variant.workloads:
            if workload.layout.devices_per_pod:
                yield _count(variant, workload, values)


def _count(variant: VariantPlan, workload: Workload, values: Mapping[str, str]) -> WorkloadCount:
    scope = SeriesScope(variant.names.namespace, variant.names.service, variant.names.variant_name)
    allocation = workload.accelerator.allocation
    layout = workload.layout
    requested = None
    if isinstance(allocation, ExtendedResource):
        resource = allocation.resource_name.translate(_NOT_IN_RESOURCE_NAMES)
        of_pods = {**values, "pods": observed.pod_names(workload), "resource": resource}
        requested = _query(_REQUESTED, scope, of_pods)
    return WorkloadCount(
        service=variant.key,
        accelerator=variant.accelerators[workload.role],
        scraped=_query(_SCRAPED, scope, {**values, "role": workload.role}),
        devices=layout.devices_per_pod * layout.pods_per_replica // observed.scraped_pods(workload),
        requested=requested,
        devices_per_chip=workload.accelerator.devices_per_chip,
    )


def _scope(service: ServicePlan) -> SeriesScope:
    names = service.primary.names
    return SeriesScope(names.namespace, names.service)


def _query(template: str, scope: SeriesScope, values: Mapping[str, str]) -> str:
    query = metrics.resolve(template, scope, values)
    if query is None:
        raise ValueError("a Prometheus makes these series of every scrape")
    return query


def _seen(counts: Iterable[WorkloadCount], results: Mapping[str, float], *, by_requests: bool) -> Decimal:
    """Return the hours of devices of some workloads."""
    if by_requests:
        chips = [(_hours(results.get(count.requested or "", 0)), count.devices_per_chip) for count in counts]
        return sum((hours * devices for hours, devices in chips), Decimal(0))
    return sum((_hours(results.get(count.scraped, 0)) * count.devices for count in counts), Decimal(0))


def _hours(steps: float) -> Decimal:
    return Decimal(str(steps)) * STEP_MINUTES / _HOUR
