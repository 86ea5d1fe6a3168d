"""What scales a role: the bounds, what is measured, and by which names."""

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
    """A metric of the engine, on average over the replicas."""

    at: int
    """Where it stands in the list of metrics."""
    metric: EngineMetric
    target: Decimal


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU time, in percent of what is requested."""

    at: int
    percent: int


@dataclass(frozen=True, slots=True)
class Passed:
    """A metric in the autoscaler's own words."""

    at: int
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests that wait in the picker, which wake a role without replicas."""

    series: str
    picker: str
    """Name of the picker's Deployment."""
    target: Decimal
    """Waiting requests for each replica."""


@dataclass(frozen=True, slots=True)
class Keda:
    """What KEDA is told besides."""

    polling_seconds: int
    cooldown_seconds: int
    server: str | None
    """The Prometheus that is asked; absent: no metric needs one."""
    queue: Queue | None
    """What wakes the role; absent: it never sleeps."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """Who owns the number of a role's replicas."""

    path: Path
    """Where it stands in the configuration."""
    min_replicas: int
    max_replicas: int
    behavior: Mapping[str, Any]
    metrics: tuple[EngineLoad | Cpu | Passed, ...]
    keda: Keda | None
    """Absent: a HorizontalPodAutoscaler does it."""

    @property
    def type(self) -> Literal["hpa", "keda"]:
        """Return the type, as users write it."""
        return "hpa" if self.keda is None else "keda"


def plan(path: Path, role: Role, of: VariantContext) -> Autoscaler | None:
    """Decide who scales the role at a path; nobody where its number is fixed. It is known to be sound (`problems`)."""
    wish = role.autoscaling
    if wish is None:
        return None
    return Autoscaler(
        path=path / "autoscaling",
        min_replicas=wish.min_replicas,
        max_replicas=wish.max_replicas,
        behavior=wish.behavior,
        metrics=tuple(_measured(index, metric, of.release) for index, metric in enumerate(wish.metrics)),
        keda=_keda(wish, of) if isinstance(wish, KedaAutoscaling) else None,
    )


def _keda(wish: KedaAutoscaling, of: VariantContext) -> Keda:
    prometheus = of.stack.observability.prometheus
    return Keda(
        polling_seconds=seconds(wish.polling_interval),
        cooldown_seconds=seconds(wish.cooldown_period),
        server=None if prometheus is None else prometheus.server_address,
        queue=_queue(wish, of) if wish.min_replicas == 0 else None,
    )


def _queue(wish: KedaAutoscaling, of: VariantContext) -> Queue:
    """Return what wakes the role: the engine's own queue tells nothing while there is no engine."""
    targets = [one.target for one in wish.metrics if isinstance(one, RequestMetric) and one.type == "queue-size"]
    series = of.release.picker.metrics.flow_control_queue_size
    return Queue(series, of.names.picker, _milli(targets[0]) if targets else Decimal(1))


def _measured(index: int, metric: Metric, release: Release) -> EngineLoad | Cpu | Passed:
    if isinstance(metric, RequestMetric | CacheMetric):
        return EngineLoad(index, release.engine.metrics[metric.type], _milli(metric.target))
    return Cpu(index, metric.target_percent) if isinstance(metric, CpuMetric) else Passed(index, metric.spec)


def _milli(target: float) -> Decimal:
    return Decimal(str(target)).quantize(Decimal("0.001"), ROUND_CEILING)


def problems(path: Path, role: Role, of: VariantContext) -> Iterator[Problem]:
    """Check the autoscaling of the role at a path."""
    wish = role.autoscaling
    if wish is None:
        return
    at = path / "autoscaling"
    if "replicas" in role.model_fields_set:
        what = f"is set while autoscaling owns the number ({role.replicas})"
        remedy = "delete it, or write replicas: null here to drop the inherited one"
        yield Problem(path / "replicas", what, remedy, (at,))
    if wish.min_replicas > wish.max_replicas:
        what = f"is above maxReplicas ({wish.min_replicas}, {wish.max_replicas})"
        remedy = f"swap them or raise maxReplicas to {wish.min_replicas}"
        yield Problem(at / "minReplicas", what, remedy, (at / "maxReplicas",))
    if wish.min_replicas == 0:
        yield from _asleep(at / "minReplicas", wish.type, of)
    if wish.type == "keda" and of.stack.observability.prometheus is None:
        for index, metric in enumerate(wish.metrics):
            if isinstance(metric, RequestMetric | CacheMetric):
                yield _unasked(at / "metrics" / index / "type", metric.type)


def _asleep(at: Path, kind: str, of: VariantContext) -> Iterator[Problem]:
    """Refuse a role without replicas that nothing wakes: requests have to wait somewhere, and a metric has to tell."""
    if kind == "hpa":
        what = "zero replicas cannot be woken by type hpa (0)"
        yield Problem(at, what, "use 1, or type: keda with endpointPicker.flowControl")
    elif not picker_config.holds_requests(of.spec):
        what = "zero replicas cannot be woken without a queue in front of them (0)"
        yield Problem(at, what, "use 1, or set endpointPicker.flowControl", (of.path / "endpointPicker",))
    elif of.stack.observability.prometheus is None:
        yield _unasked(at, "0")


def _unasked(at: Path, what: str) -> Problem:
    remedy = "set observability.prometheus.serverAddress"
    return Problem(at, f"needs a Prometheus that keda can ask ({what})", remedy, (Path("observability", "prometheus"),))


def warnings(of: VariantContext) -> Iterator[Problem]:
    """Say where requests that wake a role may not wait as long as it takes, or where nobody tells that they wait."""
    flow, at = of.spec.endpoint_picker.flow_control, of.path / "autoscaling"
    waits = None if flow is None else flow.default_request_ttl
    for name, _, role in of.roles:
        if role.autoscaling is None or role.autoscaling.min_replicas > 0:
            continue
        start = lifecycle.startup(role.health, of.spec.model.size)
        if waits is None:
            yield warning(at, f"{name} wakes in up to {start}s, and no defaultRequestTTL lets requests wait as long")
        elif 0 < seconds(waits) < start:
            yield warning(at, f"{name} wakes in up to {start}s, and requests wait {waits} (defaultRequestTTL)")
        if of.stack.observability.metrics.type != "none" and not of.spec.metrics.picker:
            yield warning(at, f"{name} is woken by the picker's queue, which nobody scrapes (metrics.picker: false)")
