"""Facts of a variant and of its roles that alerts depend on: times, largest numbers, names and switches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from models import flags
from models.objectives import Slo
from planning.ground import labels
from planning.network.monitoring import ROLE_LABEL, SERVICE_LABEL, VARIANT_LABEL, Monitoring
from planning.observing import burn_rates
from planning.observing.alerts import Subject
from planning.observing.metrics import NAMESPACE_LABEL, SeriesScope
from planning.picker import Picker, several_pickers
from planning.picker.config import asks_over_tls, holds_requests
from planning.releases import engine_versions
from planning.releases.engine_versions import EngineVersion
from planning.releases.picker_facts import PickerMetricFacts, PickerMetricName
from planning.serving import Workload
from planning.variant.context import VariantContext
from planning.weights.claims import StoragePlan

FACT = ""
"""Value of a fact that holds."""
_WAKE_MARGIN = 120
"""Seconds that a pod may need to get requests after it is ready."""
_WEIGHT_WAIT = 1800
"""Seconds, beside the start of a pod, for which the share of a canary may differ from its weight."""
_MOST_SEQUENCES = "--max-num-seqs"
_RESTARTS = 4
"""Times to load the model in which restarts are counted."""
_LEAST_RESTARTS = 3600
_HOUR, _MINUTE = 3600, 60


@dataclass(frozen=True)
class ObservedVariant:
    """A variant with what is scraped of it. Each value is computed when it is read first, and only once."""

    context: VariantContext
    workloads: tuple[Workload, ...]
    """Workloads of all roles."""
    versions: Mapping[str, EngineVersion | None]
    """Version of vLLM of each role; None for other engines."""
    picker: Picker | None
    storage: StoragePlan | None
    monitoring: Monitoring

    @cached_property
    def scope(self) -> SeriesScope:
        """Return the scope of the series of the variant. Of several versions of its engines, the oldest counts."""
        numbers = [number for number in map(self._version, self._destinations) if number is not None]
        return self._scope(min(numbers, key=engine_versions.order, default=None))

    @cached_property
    def values(self) -> dict[str, str]:
        """Return the values of placeholders and facts about the variant."""
        values = {
            "service": self.context.key,
            "variant": self.context.variant_name,
            "destinations": "|".join(workload.role for workload in self.workloads if workload.stage.is_destination),
            **burn_rates.request_values(),
            **self._wake(),
            **self._of_picker(),
            **self._of_claim(),
        }
        if any(workload.max_replicas for workload in self._destinations):
            values["engines"] = FACT
        return values

    @property
    def start(self) -> int:
        """Return the seconds until a new pod that gets requests of clients must be ready."""
        return max(workload.cold_start.start for workload in self.workloads if workload.stage.is_destination)

    def role_subjects(self) -> Iterator[Subject]:
        """Yield the roles."""
        for workload in self.workloads:
            values = {**self.values, **_of_role(workload)}
            version = None
            if workload.role in self.monitoring.roles:
                values["scraped"] = FACT
                version = self._version(workload)
            if any(other.stage.name == labels.PREFILL for other in self.workloads):
                values["prefill"] = FACT
            identity = {**self.labels, ROLE_LABEL: workload.role}
            yield Subject("role", self._scope(version), identity, values)

    def subject(self, objectives: Mapping[str, str]) -> Subject:
        """Return the variant. `objectives` are values about the objectives of its service."""
        return Subject("variant", self.scope, self.labels, {**self.values, **objectives})

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of alerts about the variant."""
        return {**service_labels(self.context), VARIANT_LABEL: self.context.variant_name}

    @property
    def counts_requests(self) -> bool:
        """Tell whether all requests of clients are counted: whether a vLLM that is scraped answers each of them.

        Other engines than vLLM have no counter of answers with the names of vLLM.
        """
        destinations = {workload.role for workload in self.workloads if workload.stage.is_destination}
        counted = {workload.role for workload in self._destinations if self._version(workload) is not None}
        return bool(destinations) and counted == destinations

    @cached_property
    def _destinations(self) -> tuple[Workload, ...]:
        """Return the workloads that get the requests of clients and are scraped."""
        scraped = self.monitoring.roles
        return tuple(work for work in self.workloads if work.stage.is_destination and work.role in scraped)

    def _version(self, workload: Workload) -> str | None:
        version = self.versions.get(workload.role)
        return None if version is None else version.number

    def _scope(self, engine: str | None) -> SeriesScope:
        names = self.context.names
        return SeriesScope(names.namespace, names.service, names.variant_name, engine, self._picker_metrics)

    @cached_property
    def _picker_metrics(self) -> dict[PickerMetricName, PickerMetricFacts]:
        """Return the metrics that the picker reports with its features; none if it is not scraped."""
        if self.picker is None or self.monitoring.picker is None:
            return {}
        spec = self.context.spec
        gates = {
            None: True,
            "flowControl": holds_requests(spec),
            "leaderElection": several_pickers.elects_leader(spec.endpoint_picker),
            "latencyPredictor": self.picker.predictor is not None,
        }
        catalogue = self.context.release.picker.metrics.catalogue
        return {name: metric for name, metric in catalogue.items() if gates[metric.gate]}

    def _wake(self) -> dict[str, str]:
        """Return the time in which the variant wakes, and whether it ever sleeps."""
        times = [workload.cold_start.wake for workload in self.workloads if workload.stage.is_destination]
        wakes = [time for time in times if time is not None]
        if not wakes or len(wakes) < len(times):
            return {"wake": duration(_WAKE_MARGIN), "awake": FACT}
        return {"wake": duration(max(wakes) + _WAKE_MARGIN), "sleeps": FACT}

    def _of_picker(self) -> dict[str, str]:
        if self.picker is None:
            return {"picker_unread": FACT}
        values = {"picker_name": self.context.names.picker, "picker_start": duration(self.picker.start)}
        values["fail_open" if self.picker.failure_mode == "FailOpen" else "fail_close"] = FACT
        values["picker_unread" if self.monitoring.picker is None else "picker"] = FACT
        if not asks_over_tls(self.context.spec, self.context.release.picker):
            values["plain_metrics"] = FACT
        waits = [workload.cold_start.requests.busy_wait for workload in self.workloads]
        limits = [wait.seconds for wait in waits if wait is not None and wait.seconds]
        if limits:
            values["half_ttl"] = f"{Decimal(min(limits)) / 2:f}"
        return values

    def _of_claim(self) -> dict[str, str]:
        """Return the claim for weights and the share of it that counts as full; empty if the stack makes no claim.

        Weights fill a claim but for its headroom. It counts as full if half of the headroom is used.
        """
        headroom = getattr(self.context.spec.storage, "headroom_percent", 0)
        if self.storage is None or self.storage.claim is None or not headroom:
            return {}
        filled = Decimal(100) / (100 + headroom)
        return {"claim": self.storage.claim.name, "claim_share": f"{(1 + filled) / 2:.3f}"}


def are_compared(variants: tuple[ObservedVariant, ...]) -> bool:
    """Tell whether the requests to a canary are compared with those to its primary, as engines of both count them."""
    return len(variants) > 1 and all("engines" in variant.values and variant.counts_requests for variant in variants)


def service_labels(primary: VariantContext) -> dict[str, str]:
    """Return the labels of alerts about a service."""
    return {NAMESPACE_LABEL: primary.namespace, SERVICE_LABEL: primary.names.service}


def service_subject(variants: tuple[ObservedVariant, ...], slo: Slo | None) -> Subject:
    """Return a service. `variants` are its primary and its canary, as far as they are scraped."""
    primary = next(variant.context for variant in variants)
    roles = dict.fromkeys(role for variant in variants for role in variant.values["destinations"].split("|") if role)
    values = {"service": primary.key, "destinations": "|".join(roles), **burn_rates.request_values()}
    if slo is not None:
        values |= burn_rates.thresholds(slo)
    if slo is None or slo.source == "engine":
        values["engine_counts"] = FACT
    if are_compared(variants):
        values["canary"] = FACT
        canary = primary.service.canary
        if canary is not None and not canary.headers:
            values["weight"] = f"{Decimal(canary.weight) / 100:f}"
            values["weight_wait"] = duration(_WEIGHT_WAIT + max(variant.start for variant in variants))
    scope = SeriesScope(primary.namespace, primary.names.service)
    return Subject("service", scope, service_labels(primary), values)


def _of_role(workload: Workload) -> dict[str, str]:
    cold = workload.cold_start
    values = {
        "role": workload.role,
        "pods": pod_names(workload),
        "container": workload.engine.name,
        "start": duration(cold.start + cold.grace),
        "restarts": duration(max(_LEAST_RESTARTS, _RESTARTS * cold.load.seconds)),
    }
    if workload.autoscaler is None:
        values["fixed"] = FACT
    else:
        values["maximum_pods"] = str(workload.max_replicas * scraped_pods(workload))
    arguments = {flag.switch: flag.value for flag in flags.parse(workload.engine.arguments)}
    sequences = arguments.get(_MOST_SEQUENCES)
    if sequences is not None and sequences.isdecimal():
        values["sequences"] = sequences
    return values


def scraped_pods(workload: Workload) -> int:
    """Return the number of pods of a replica that are scraped: those that get requests."""
    return workload.layout.pods_per_replica if workload.layout.every_pod_serves else 1


def pod_names(workload: Workload) -> str:
    """Return a regular expression for the names of a workload's pods."""
    if workload.kind == "Deployment":
        return pods_of_deployment(workload.name)
    return f"{workload.name}-[0-9]+(-[0-9]+)?"


def pods_of_deployment(name: str) -> str:
    """Return a regular expression for the names of a Deployment's pods.

    Kubernetes cuts the names of ReplicaSets before it adds five characters to them (kubernetes v1.34,
    staging/src/k8s.io/apiserver/pkg/storage/names/generate.go), so that the hyphen between them may lack.
    """
    return f"{name}-[a-z0-9]+(-[a-z0-9]{{5}})?"


def duration(seconds: int) -> str:
    """Return a number of seconds as a duration of Prometheus in the largest unit that it is a multiple of."""
    for unit, length in (("h", _HOUR), ("m", _MINUTE)):
        if seconds and not seconds % length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
