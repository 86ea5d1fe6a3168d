"""Autoscaling of roles: bounds, metrics and the settings of KEDA."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal

from models.autoscaling import CacheMetric, CpuMetric, KedaAutoscaling, Metric, RequestMetric
from models.paths import Path
from models.problems import Problem, warning
from models.role import Role
from models.vocabulary import seconds
from planning.ground import lifecycle
from planning.picker import config as picker_config
from planning.releases import EngineMetric, Release
from planning.variant.context import VariantContext


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """A metric of the engine, averaged over the replicas."""

    at: int
    """Index of the metric in the spec's list."""
    metric: EngineMetric
    target: Decimal


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU time, in percent of the requested CPU."""

    at: int
    """Index of the metric in the spec's list."""
    percent: int


@dataclass(frozen=True, slots=True)
class Passed:
    """A metric that the user wrote in the autoscaler's syntax. It is passed on unchanged."""

    at: int
    """Index of the metric in the spec's list."""
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Queue:
    """The number of requests that wait in the picker: the metric that scales a role up from zero replicas."""

    series: str
    picker: str
    """Name of the picker's Deployment."""
    target: Decimal
    """Number of waiting requests per replica."""


@dataclass(frozen=True, slots=True)
class Keda:
    """The settings of KEDA that a HorizontalPodAutoscaler does not have."""

    polling_seconds: int
    cooldown_seconds: int
    server: str | None
    """Address of the Prometheus to query; None if the stack has none."""
    queue: Queue | None
    """Metric that scales the role up from zero; None if the role always has replicas."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """The autoscaler of a role. It decides the number of the role's replicas."""

    path: Path
    """Place of the autoscaling spec in the configuration."""
    min_replicas: int
    max_replicas: int
    behavior: Mapping[str, Any]
    metrics: tuple[EngineLoad | Cpu | Passed, ...]
    keda: Keda | None
    """Settings of KEDA; None for a HorizontalPodAutoscaler."""

    @property
    def type(self) -> Literal["hpa", "keda"]:
        """Return the type, as in the configuration."""
        return "hpa" if self.keda is None else "keda"


def plan(path: Path, role: Role, variant: VariantContext) -> Autoscaler | None:
    """Return the autoscaler of the role at a path, or None if its number of replicas is fixed.

    `problems` has found nothing in the spec.
    """
    spec = role.autoscaling
    if spec is None:
        return None
    return Autoscaler(
        path=path / "autoscaling",
        min_replicas=spec.min_replicas,
        max_replicas=spec.max_replicas,
        behavior=spec.behavior,
        metrics=tuple(_autoscaler_metric(index, metric, variant.release) for index, metric in enumerate(spec.metrics)),
        keda=_keda(spec, variant) if isinstance(spec, KedaAutoscaling) else None,
    )


def _keda(spec: KedaAutoscaling, variant: VariantContext) -> Keda:
    prometheus = variant.stack.observability.prometheus
    return Keda(
        polling_seconds=seconds(spec.polling_interval),
        cooldown_seconds=seconds(spec.cooldown_period),
        server=None if prometheus is None else prometheus.server_address,
        queue=_queue(spec, variant) if spec.min_replicas == 0 else None,
    )


def _queue(spec: KedaAutoscaling, variant: VariantContext) -> Queue:
    """Return the metric that scales a role up from zero: the picker's queue.

    Metrics of engines cannot do this, because no engine runs then.
    """
    targets = [
        metric.target for metric in spec.metrics if isinstance(metric, RequestMetric) and metric.type == "queue-size"
    ]
    series = variant.release.picker.metrics.flow_control_queue_size
    return Queue(series, variant.names.picker, _milli(targets[0]) if targets else Decimal(1))


def _autoscaler_metric(index: int, metric: Metric, release: Release) -> EngineLoad | Cpu | Passed:
    if isinstance(metric, RequestMetric | CacheMetric):
        return EngineLoad(index, release.engine.metrics[metric.type], _milli(metric.target))
    return Cpu(index, metric.target_percent) if isinstance(metric, CpuMetric) else Passed(index, metric.spec)


def _milli(target: float) -> Decimal:
    """Return a target rounded up to thousandths, the precision of Kubernetes quantities."""
    return Decimal(str(target)).quantize(Decimal("0.001"), ROUND_CEILING)


def problems(path: Path, role: Role, variant: VariantContext) -> Iterator[Problem]:
    """Check the autoscaling of the role at a path."""
    spec = role.autoscaling
    if spec is None:
        return
    at = path / "autoscaling"
    if "replicas" in role.model_fields_set:
        what = f"is set while autoscaling owns the number ({role.replicas})"
        remedy = "delete it, or write replicas: null here to drop the inherited one"
        yield Problem(path / "replicas", what, remedy, (at,))
    if spec.min_replicas > spec.max_replicas:
        what = f"is above maxReplicas ({spec.min_replicas}, {spec.max_replicas})"
        remedy = f"swap them or raise maxReplicas to {spec.min_replicas}"
        yield Problem(at / "minReplicas", what, remedy, (at / "maxReplicas",))
    if spec.min_replicas == 0:
        yield from _check_wakeable(at / "minReplicas", spec.type, variant)
    if spec.type == "keda" and variant.stack.observability.prometheus is None:
        for index, metric in enumerate(spec.metrics):
            if isinstance(metric, RequestMetric | CacheMetric):
                yield _missing_prometheus(at / "metrics" / index / "type", metric.type)


def _check_wakeable(at: Path, kind: str, variant: VariantContext) -> Iterator[Problem]:
    """Reject zero replicas if nothing can scale the role up. KEDA needs the picker's queue and a Prometheus for it."""
    if kind == "hpa":
        what = "zero replicas cannot be woken by type hpa (0)"
        yield Problem(at, what, "use 1, or type: keda with endpointPicker.flowControl")
    elif not picker_config.holds_requests(variant.spec):
        what = "zero replicas cannot be woken without a queue in front of them (0)"
        yield Problem(at, what, "use 1, or set endpointPicker.flowControl", (variant.path / "endpointPicker",))
    elif variant.stack.observability.prometheus is None:
        yield _missing_prometheus(at, "0")


def _missing_prometheus(at: Path, what: str) -> Problem:
    remedy = "set observability.prometheus.serverAddress"
    return Problem(at, f"needs a Prometheus that keda can ask ({what})", remedy, (Path("observability", "prometheus"),))


def warnings(variant: VariantContext) -> Iterator[Problem]:
    """Yield warnings about scaling up from zero, if requests do not wait long enough or the queue is not scraped."""
    flow_control, at = variant.spec.endpoint_picker.flow_control, variant.path / "autoscaling"
    ttl = None if flow_control is None else flow_control.default_request_ttl
    for name, _, role in variant.roles:
        if role.autoscaling is None or role.autoscaling.min_replicas > 0:
            continue
        start = lifecycle.startup_seconds(role.health, variant.spec.model.size)
        if ttl is None:
            yield warning(at, f"{name} wakes in up to {start}s, and no defaultRequestTTL lets requests wait as long")
        elif 0 < seconds(ttl) < start:
            yield warning(at, f"{name} wakes in up to {start}s, and requests wait {ttl} (defaultRequestTTL)")
        reason = _unscraped_queue(variant)
        if reason is not None:
            yield warning(at, f"{name} is woken by the picker's queue, which nobody scrapes ({reason})")


def _unscraped_queue(variant: VariantContext) -> str | None:
    """Return the setting by which the stack scrapes no picker of the variant. None if it scrapes them."""
    if variant.stack.observability.metrics.type == "none":
        return "observability.metrics.type: none; a scraper of your own has to"
    return None if variant.spec.metrics.picker else "metrics.picker: false"
