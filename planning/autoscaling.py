"""What scales a role: the bounds, what is measured, and by which names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal, cast

from models.autoscaling import CacheMetric, CpuMetric, KedaAutoscaling, Metric, RequestMetric
from models.problems import Problem
from models.role import Role
from models.stack import Stack
from models.vocabulary import seconds
from planning.releases import EngineMetric, Release


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
class Keda:
    """What KEDA is told besides."""

    polling_seconds: int
    cooldown_seconds: int
    server: str | None
    """The Prometheus that is asked; absent: no metric needs one."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """Who owns the number of a role's replicas."""

    path: str
    """Where it stands in the configuration."""
    least: int
    most: int
    behavior: Mapping[str, Any]
    metrics: tuple[EngineLoad | Cpu | Passed, ...]
    keda: Keda | None
    """Absent: a HorizontalPodAutoscaler does it."""

    @property
    def type(self) -> Literal["hpa", "keda"]:
        """Return the type, as users write it."""
        return "hpa" if self.keda is None else "keda"


def plan(path: str, role: Role, stack: Stack, release: Release) -> Autoscaler | None:
    """Decide who scales the role at a path; nobody where its number is fixed. It is known to be sound (`problems`)."""
    wish = role.autoscaling
    if wish is None:
        return None
    prometheus = stack.observability.prometheus
    keda = None
    if isinstance(wish, KedaAutoscaling):
        server = None if prometheus is None else prometheus.server_address
        keda = Keda(seconds(wish.polling_interval), seconds(wish.cooldown_period), server)
    return Autoscaler(
        path=f"{path}.autoscaling",
        least=wish.min_replicas,
        most=wish.max_replicas,
        behavior=wish.behavior,
        metrics=tuple(_measured(index, metric, release) for index, metric in enumerate(wish.metrics)),
        keda=keda,
    )


def _measured(index: int, metric: Metric, release: Release) -> EngineLoad | Cpu | Passed:
    if isinstance(metric, RequestMetric | CacheMetric):
        target = Decimal(str(metric.target)).quantize(Decimal("0.001"), ROUND_CEILING)
        return EngineLoad(index, release.engine.metrics[metric.type], target)
    return Cpu(index, metric.target_percent) if isinstance(metric, CpuMetric) else Passed(index, metric.spec)


def problems(path: str, role: Role, stack: Stack) -> Iterator[Problem]:
    """Check the autoscaling of the role at a path."""
    wish = role.autoscaling
    if wish is None:
        return
    at = f"{path}.autoscaling"
    if _says_replicas(path, role, stack):
        what = f"is set while autoscaling owns the number ({role.replicas})"
        remedy = "delete it, or write replicas: null here to drop the inherited one"
        yield Problem(f"{path}.replicas", what, remedy, (at,))
    if wish.min_replicas > wish.max_replicas:
        what = f"is above maxReplicas ({wish.min_replicas}, {wish.max_replicas})"
        remedy = f"swap them or raise maxReplicas to {wish.min_replicas}"
        yield Problem(f"{at}.minReplicas", what, remedy, (f"{at}.maxReplicas",))
    if wish.min_replicas == 0:
        yield _asleep(f"{at}.minReplicas", wish.type)
    if wish.type == "keda" and stack.observability.prometheus is None:
        for index, metric in enumerate(wish.metrics):
            if isinstance(metric, RequestMetric | CacheMetric):
                what = f"needs a Prometheus that keda can ask ({metric.type})"
                remedy = "set observability.prometheus.serverAddress"
                yield Problem(f"{at}.metrics[{index}].type", what, remedy, ("observability.prometheus",))


def _says_replicas(path: str, role: Role, stack: Stack) -> bool:
    """Say whether the role itself, and not only `defaults`, writes a number that would have no effect."""
    inherited: Any = stack.defaults
    for part in (*path.split(".")[2:], "replicas"):
        inherited = cast("dict[str, Any]", inherited).get(part) if isinstance(inherited, dict) else None
    return "replicas" in role.model_fields_set and role.replicas != inherited


def _asleep(at: str, kind: str) -> Problem:
    """Refuse a role without replicas: requests would have to wait somewhere, for a metric to tell of them."""
    if kind == "hpa":
        what = "zero replicas cannot be woken by type hpa (0)"
        return Problem(at, what, "use 1, or type: keda with endpointPicker.flowControl")
    what = "zero replicas cannot be woken without a queue in front of them (0)"
    return Problem(at, what, "use 1, as only endpointPicker.flowControl could hold requests meanwhile")
