"""Autoscaling of roles: bounds, metrics and the settings of KEDA."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal

from models import trees
from models.autoscaling import (
    Autoscaling,
    CacheMetric,
    CpuMetric,
    CustomMetric,
    Fallback,
    KedaAutoscaling,
    Metric,
    PickerMetric,
    RequestMetric,
    SaturationMetric,
    ScalingModifiers,
    Schedule,
)
from models.paths import Path
from models.problems import Problem, warning
from models.stack import PrometheusAuthentication
from models.vocabulary import seconds
from planning.picker import config as picker_config
from planning.refusals import autoscaling as refusals
from planning.releases import EngineMetric, Release, departures
from planning.releases.picker_facts import PickerSeries
from planning.serving import formulas
from planning.variant.context import RoleContext, RoleSpecAt, VariantContext

_QUEUE = "picker-queue-size"
_SATURATION = "pool-saturation"
_SERIES = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
"""A word of a query that can be the name of a series (Prometheus documentation, data model)."""
_WHOLE_POOL = "effective"
"""Value of the stage label in the picker's saturation series for a pool whose pods all have the same role."""


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """A metric of the engine, averaged over the replicas."""

    at: int
    """Index of the metric in `autoscaling.metrics`."""
    type: str
    """Name of the metric in the configuration."""
    metric: EngineMetric
    target: Decimal


@dataclass(frozen=True, slots=True)
class PickerLoad:
    """A metric of the picker."""

    at: int | None
    """Index of the metric in `autoscaling.metrics`; None for the additional metric in `Keda.queue`."""
    type: str
    """Name of the metric in the configuration."""
    metric: PickerSeries
    labels: Mapping[str, str]
    """Labels by which values of the series are selected."""
    picker: str
    """Name of the picker's Deployment and of its Service."""
    target: Decimal

    @property
    def is_per_replica(self) -> bool:
        """Tell whether the target is a value for each replica. If not, the target is a value for the whole pool."""
        return self.type != _SATURATION


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU time, in percent of the requested CPU."""

    at: int
    """Index of the metric in `autoscaling.metrics`."""
    percent: int


@dataclass(frozen=True, slots=True)
class UserMetric:
    """A metric that the user wrote in the autoscaler's syntax. It is passed on unchanged."""

    at: int
    """Index of the metric in `autoscaling.metrics`."""
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Keda:
    """The settings of KEDA that a HorizontalPodAutoscaler does not have."""

    polling_seconds: int
    cooldown_seconds: int
    server: str | None
    """Address of the Prometheus to query; None if the stack names no Prometheus."""
    queue: PickerLoad | None
    """The picker's queue as an additional metric, which scales the role up from zero replicas.

    None if `metrics` already has this metric, or if the role always has replicas.
    """
    authentication: PrometheusAuthentication | None
    """Credentials for the Prometheus; None if the Prometheus requires no credentials."""
    fallback: Fallback | None
    """Number of replicas while metrics cannot be read; None to keep the current number."""
    modifiers: ScalingModifiers | None
    """Formula over all metrics; None if there is no formula."""
    schedules: tuple[Schedule, ...]
    """Time windows with a minimum number of replicas."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """The autoscaler of a role. It decides the number of the role's replicas."""

    path: Path
    """Place of the autoscaling spec in the configuration."""
    min_replicas: int
    max_replicas: int
    behavior: Mapping[str, Any]
    metrics: tuple[EngineLoad | PickerLoad | Cpu | UserMetric, ...]
    keda: Keda | None
    """Settings of KEDA; None for a HorizontalPodAutoscaler."""

    @property
    def type(self) -> Literal["hpa", "keda"]:
        """Return the type, as in the configuration."""
        if self.keda is None:
            return "hpa"
        return "keda"


def plan(context: RoleContext) -> Autoscaler | None:
    """Return the autoscaler of a role, or None if its number of replicas is fixed.

    `judge_role` must have found no error in the spec.
    """
    spec = context.role.autoscaling
    if spec is None:
        return None
    return Autoscaler(
        path=context.path / "autoscaling",
        min_replicas=spec.min_replicas,
        max_replicas=spec.max_replicas,
        behavior=spec.behavior,
        metrics=tuple(_autoscaler_metric(index, metric, context) for index, metric in enumerate(spec.metrics)),
        keda=_keda(spec, context),
    )


def _keda(spec: Autoscaling, context: RoleContext) -> Keda | None:
    if not isinstance(spec, KedaAutoscaling):
        return None
    keda = Keda(
        polling_seconds=seconds(spec.polling_interval),
        cooldown_seconds=seconds(spec.cooldown_period),
        server=None,
        queue=_queue(spec, context),
        authentication=None,
        fallback=spec.fallback,
        modifiers=spec.scaling_modifiers,
        schedules=spec.schedules,
    )
    prometheus = context.variant.stack.observability.prometheus
    if prometheus is None:
        return keda
    return replace(keda, server=prometheus.server_address, authentication=prometheus.authentication)


def _queue(spec: KedaAutoscaling, context: RoleContext) -> PickerLoad | None:
    """Return the metric that scales a role up from zero: the picker's queue.

    None if the role always has replicas, or if the spec has this metric already. Metrics of engines cannot scale a role
    up from zero, because no engine runs at zero replicas.
    """
    if spec.min_replicas > 0 or any(metric.type == _QUEUE for metric in spec.metrics):
        return None
    targets = (
        metric.target for metric in spec.metrics if isinstance(metric, RequestMetric) and metric.type == "queue-size"
    )
    return _picker_load(None, PickerMetric(type=_QUEUE, target=next(targets, 1)), context)


def _autoscaler_metric(index: int, metric: Metric, context: RoleContext) -> EngineLoad | PickerLoad | Cpu | UserMetric:
    if isinstance(metric, RequestMetric | CacheMetric):
        engine_metric = context.variant.release.engine.metrics[metric.type]
        return EngineLoad(index, metric.type, engine_metric, _milli(metric.target))
    if isinstance(metric, PickerMetric | SaturationMetric):
        return _picker_load(index, metric, context)
    if isinstance(metric, CpuMetric):
        return Cpu(index, metric.target_percent)
    return UserMetric(index, metric.spec)


def _picker_load(at: int | None, metric: PickerMetric | SaturationMetric, context: RoleContext) -> PickerLoad:
    """Return a metric of the picker.

    If the series has a stage label, the metric has the values of one stage: that of the role, or that of the whole pool
    if the variant has no prefill, and for encode pods.
    """
    variant = context.variant
    series = variant.release.picker.metrics.series[metric.type]
    stage = context.stage.name
    if variant.spec.prefill is None or not context.stage.exchanges_kv_cache:
        stage = _WHOLE_POOL
    labels = dict[str, str]()
    if series.stage_label is not None:
        labels[series.stage_label] = stage
    return PickerLoad(at, metric.type, series, labels, variant.names.picker, _milli(metric.target))


def _milli(target: float) -> Decimal:
    """Return a target rounded up to thousandths, the precision of Kubernetes quantities."""
    return Decimal(str(target)).quantize(Decimal("0.001"), ROUND_CEILING)


def judge_role(role: RoleSpecAt, variant: VariantContext) -> Iterator[Problem]:
    """Check the autoscaling of a role."""
    spec = role.spec.autoscaling
    if spec is None:
        return
    at = role.path / "autoscaling"
    if "replicas" in role.spec.explicit_fields:
        what = f"has no effect, because autoscaling decides the number ({role.spec.replicas})"
        remedy = "delete it, or write replicas: null here to drop the inherited value"
        yield Problem(role.path / "replicas", what, remedy, (at,))
    if spec.min_replicas > spec.max_replicas:
        what = f"is above maxReplicas ({spec.min_replicas}, {spec.max_replicas})"
        remedy = f"swap them or raise maxReplicas to {spec.min_replicas}"
        yield Problem(at / "minReplicas", what, remedy, (at / "maxReplicas",))
    if spec.min_replicas == 0:
        yield from _check_wakeable(at / "minReplicas", spec.type, variant)
    yield from refusals.behavior(at / "behavior", spec.behavior)
    yield from _picker_problems(at, spec, variant)
    yield from _departing_series(at, spec, variant.release)
    if isinstance(spec, KedaAutoscaling):
        yield from _keda_problems(at, spec, variant)
        return
    for index, metric in enumerate(spec.metrics):
        if isinstance(metric, CustomMetric):
            yield from refusals.metric(at / "metrics" / index / "spec", metric.spec)


def _departing_series(at: Path, spec: Autoscaling, release: Release) -> Iterator[Problem]:
    """Yield a problem for each series of the picker in a custom metric that its router lacks, or a later router lacks.

    A query for a series that nobody reports has no result, so the number of replicas would stay as it is.
    """
    for index, metric in enumerate(spec.metrics):
        if not isinstance(metric, CustomMetric):
            continue
        for path, text in trees.leaves(metric.spec, at / "metrics" / index / "spec"):
            for word in dict.fromkeys(_SERIES.findall(str(text))):
                name = departures.base_of_series(word)
                yield from departures.problems(path, "metric", name, release)


def _keda_problems(at: Path, spec: KedaAutoscaling, variant: VariantContext) -> Iterator[Problem]:
    """Check that metrics have a Prometheus, that a fallback has an effect, and that names in a formula are known."""
    lacks_prometheus = variant.stack.observability.prometheus is None
    for index, metric in enumerate(spec.metrics):
        if lacks_prometheus and not isinstance(metric, CpuMetric | CustomMetric):
            yield _missing_prometheus(at / "metrics" / index / "type", metric.type)
    if spec.fallback is not None and all(isinstance(metric, CpuMetric) for metric in spec.metrics):
        what = "has no effect if cpu is the only metric, because Kubernetes reads cpu itself"
        yield Problem(at / "fallback", what, "remove it, or add another metric", explicit_only=True)
    yield from _schedule_problems(at, spec)
    if spec.scaling_modifiers is not None:
        yield from formulas.problems(at, spec, spec.scaling_modifiers)


def _schedule_problems(at: Path, spec: KedaAutoscaling) -> Iterator[Problem]:
    """Reject time windows above maxReplicas, and windows beside a formula, which KEDA would evaluate without them."""
    for index, schedule in enumerate(spec.schedules):
        if schedule.replicas > spec.max_replicas:
            what = f"is above maxReplicas ({schedule.replicas}, {spec.max_replicas})"
            remedy = f"lower it, or raise maxReplicas to {schedule.replicas}"
            yield Problem(at / "schedules" / index / "replicas", what, remedy, (at / "maxReplicas",))
    if spec.schedules and spec.scaling_modifiers is not None:
        what = "has no effect beside scalingModifiers, whose formula replaces all other numbers"
        yield Problem(at / "schedules", what, "remove one of them", (at / "scalingModifiers",))


def _picker_problems(at: Path, spec: Autoscaling, variant: VariantContext) -> Iterator[Problem]:
    """Reject picker metrics that nothing reports for the variant, and saturation for a role that may scale to zero."""
    for index, metric in enumerate(spec.metrics):
        if not isinstance(metric, PickerMetric | SaturationMetric):
            continue
        path = at / "metrics" / index / "type"
        series = variant.release.picker.metrics.series
        if not variant.has_picker:
            what = f"is reported only by an endpoint picker, and the service has none ({metric.type})"
            depends_on = (variant.path / "endpointPicker",)
            yield Problem(path, what, "use queue-size, or set endpointPicker.enabled: true", depends_on)
        elif metric.type not in series:
            what = f"is not reported by the picker of {variant.release.name} ({metric.type})"
            yield Problem(path, what, f"use {' or '.join(sorted(series))}")
        elif series[metric.type].flow_control and not picker_config.holds_requests(variant.spec):
            what = f"is reported with flow control only ({metric.type})"
            depends_on = (variant.path / "endpointPicker",)
            yield Problem(path, what, "set endpointPicker.flowControl, or use picker-running-requests", depends_on)
        elif metric.type == _SATURATION and spec.min_replicas == 0:
            what = "counts a pool without pods as full, so that the role never scales to zero (minReplicas 0)"
            yield Problem(path, what, "use picker-queue-size, or minReplicas: 1", (at / "minReplicas",))


def _check_wakeable(at: Path, kind: str, variant: VariantContext) -> Iterator[Problem]:
    """Reject zero replicas if nothing can scale the role up.

    Only KEDA can do that, and it needs a picker with flow control, and a Prometheus that has the length of the picker's
    queue.
    """
    if kind == "hpa":
        what = "zero replicas cannot be woken by type hpa (0)"
        yield Problem(at, what, "use 1, or type: keda with endpointPicker.flowControl")
    elif not variant.has_picker:
        what = "zero replicas cannot be woken without an endpoint picker, which holds requests (0)"
        depends_on = (variant.path / "endpointPicker",)
        yield Problem(at, what, "use 1, or set endpointPicker.enabled: true with flowControl", depends_on)
    elif not picker_config.holds_requests(variant.spec):
        what = "zero replicas cannot be woken without a queue in front of them (0)"
        yield Problem(at, what, "use 1, or set endpointPicker.flowControl", (variant.path / "endpointPicker",))
    elif variant.stack.observability.prometheus is None:
        yield _missing_prometheus(at, "0")


def _missing_prometheus(at: Path, what: str) -> Problem:
    depends_on = (Path("observability", "prometheus"),)
    remedy = "set observability.prometheus.serverAddress"
    return Problem(at, f"needs a Prometheus that keda can query ({what})", remedy, depends_on)


def judge(variant: VariantContext) -> Iterator[Problem]:
    """Warn of roles that are woken or scaled by metrics of the picker that nobody scrapes."""
    reason = _unscraped_queue(variant)
    if reason is None:
        return
    for role in variant.roles:
        if role.spec.autoscaling is not None and role.spec.autoscaling.min_replicas == 0:
            what = f"{role.name} is woken by the picker's queue, which nobody scrapes ({reason})"
            yield warning(variant.path / "autoscaling", what)
    for role in variant.roles:
        if role.spec.autoscaling is None:
            continue
        for index, metric in enumerate(role.spec.autoscaling.metrics):
            if isinstance(metric, PickerMetric | SaturationMetric):
                at = role.path / "autoscaling" / "metrics" / index
                yield warning(at, f"follows the picker's {metric.type}, which nobody scrapes ({reason})")


def _unscraped_queue(variant: VariantContext) -> str | None:
    """Return the setting that turns off the scraping of the variant's picker; None if the picker is scraped."""
    if variant.stack.observability.metrics.type == "none":
        return "observability.metrics.type: none; use a scraper of your own"
    if not variant.spec.metrics.picker:
        return "metrics.picker: false"
    return None
