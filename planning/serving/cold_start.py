"""The cold start of a role as arithmetic: a timeline in seconds, and the links between its times that have to hold.

KEDA counts `cooldownPeriod` from the last query in which a trigger was active. While a role starts, only the picker's
queue is active, and only as long as a request waits there: until its time limit ends or its client leaves. From then
on, the cooldown alone keeps the pod that is loading (KEDA v2.20.1, pkg/scaling/executor/scale_scaledobjects.go,
RequestScale and scaleToZeroOrIdle; pkg/scalers/prometheus_scaler.go, GetMetricsAndActivity).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from models.autoscaling import Autoscaling, KedaAutoscaling
from models.paths import Path
from models.problems import Problem, warning
from models.role import Health
from models.vocabulary import seconds
from planning.ground import gateways, lifecycle, loading
from planning.ground.loading import Loading
from planning.picker import config
from planning.picker.graph import FLOW_CONTROL
from planning.variant.context import RoleContext, VariantContext
from planning.weights.sources import Weights

_TTL = "defaultRequestTTL"
_EMPTY_POOL_TTL = "noEndpointRequestTTL"
"""Time that a request waits while the pool has no pod, if it differs from `_TTL`."""
_RATES = {
    Loading.FOLDER: "10m and the weights at 64Mi/s",
    Loading.FETCHED: "10m and the weights at 32Mi/s from the hub, then at 64Mi/s",
    Loading.STREAMED: "10m and the weights at 32Mi/s",
}
"""Texts of the rates from which the time to load follows (`planning.ground.lifecycle`)."""
_WINDOW = "stabilizationWindowSeconds"
_LONGEST_WINDOW = 3600
"""Longest window that Kubernetes takes (HorizontalPodAutoscaler, HPAScalingRules)."""


@dataclass(frozen=True, slots=True)
class Time:
    """A number of seconds, and where it comes from."""

    seconds: int
    source: str
    """The key that sets it, or what it is computed from."""
    at: Path
    """Place in the configuration that decides it."""

    def __str__(self) -> str:
        return f"{self.seconds}s ({self.source})"


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """Times of the requests to a variant, which all of its roles share."""

    wait: Time | None
    """Time that a request waits for a pod; 0 for no limit. None if no key sets it."""
    wait_at: Path
    """Place of the section that sets the time that requests wait."""
    busy_wait: Time | None
    """Time that a request waits while the pool has pods; 0 for no limit. None if no key sets it."""
    holds: bool
    """Whether the picker keeps requests that no pod can take yet."""
    limit: Time | None
    """Time limit of the route for a request; 0 for no limit. None if the route sets none."""
    limit_counts_wait: bool
    """Whether the limit includes the time that a request waits in the picker."""
    drain: Time
    """Time that requests have to finish on a pod that ends."""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Times of a role from the first waiting request to a ready pod, and to the end of the pod."""

    role: str
    at: Path
    """Place of the role in the configuration."""
    query: Time | None
    """Time until KEDA sees the waiting request. None if the role never sleeps."""
    fetch: Time
    """Time in which a new pod fetches its weights: 0 if a volume or the image holds them."""
    load: Time
    """Time within which the engine must have loaded the model; the startup probe ends the engine after it."""
    least_load: int
    """Seconds that the engine takes at least to load its share of the weights from a local disk; 0 if their size is
    unknown."""
    requests: RequestTimes
    cooldown: Time | None
    """Time without an active trigger after which the last pod is removed. None if the role never sleeps."""
    is_cooldown_written: bool
    """Whether the configuration sets the cooldown. If not, it is the default."""
    window: Time | None
    """Time that the autoscaler remembers its highest number of replicas. None if the role has no autoscaler, if its
    number never falls, or if the window is the default."""
    grace: int
    """Seconds from a pod's deletion to its kill."""

    @property
    def start(self) -> int:
        """Return the seconds from a pod's creation until it must be ready."""
        return self.fetch.seconds + self.load.seconds

    @property
    def wake(self) -> int | None:
        """Return the seconds from the first waiting request until a pod must be ready. None if the role never sleeps.

        The time until a node has room for the pod is unknown and left out.
        """
        if self.query is None:
            return None
        return self.query.seconds + self.start

    def __str__(self) -> str:
        """Return the timeline in the order of its times."""
        steps = [("query", self.query), ("fetch", self.fetch), ("load", self.load)]
        sums = " + ".join(f"{name} {time}" for name, time in steps if time is not None)
        end = f"ready within {self.start}s"
        if self.wake is not None:
            end = f"awake within {self.wake}s"
        parts = [f"{sums} = {end}"]
        limits = [
            ("requests wait", self.requests.wait),
            ("route ends them after", self.requests.limit),
            ("pods kept for", self.window),
            ("asleep after", self.cooldown),
            ("drain", self.requests.drain),
        ]
        parts += [f"{name} {time}" for name, time in limits if time is not None]
        return " · ".join([*parts, f"kill after {self.grace}s"])


def of_requests(variant: VariantContext) -> RequestTimes:
    """Return the times of the requests to a variant. The rules have found no error."""
    section, wait_at = _flow_control(variant)
    return RequestTimes(
        wait=_wait(section, wait_at, (_EMPTY_POOL_TTL, _TTL)),
        wait_at=wait_at,
        busy_wait=_wait(section, wait_at, (_TTL,)),
        holds=config.holds_requests(variant.spec),
        limit=_limit(variant),
        limit_counts_wait=variant.gateway is not None and gateways.counts_wait(variant.gateway),
        drain=_duration(variant.spec.drain_timeout, variant.path, "drainTimeout"),
    )


def plan(context: RoleContext, weights: Weights, requests: RequestTimes) -> ColdStart:
    """Return the timeline of a role. `weights` are the weights of its pods. The rules have found no error."""
    variant = context.variant
    spec = context.role.autoscaling
    size = variant.spec.model.size
    health = context.role.health
    pods = context.layout.pods_per_replica
    way = loading.of(variant.spec)
    startup = lifecycle.loading_seconds(health, size, spans_pods=pods > 1, loading=way)
    at = context.path / "autoscaling"
    query = cooldown = None
    is_cooldown_written = False
    if isinstance(spec, KedaAutoscaling) and spec.min_replicas == 0:
        query = _duration(spec.polling_interval, at, "pollingInterval")
        cooldown = _duration(spec.cooldown_period, at, "cooldownPeriod")
        is_cooldown_written = "cooldown_period" in spec.explicit_fields
    return ColdStart(
        role=context.name,
        at=context.path,
        query=query,
        fetch=_fetch(variant, size, weights),
        load=Time(startup, _load_source(health, size, pods, way), context.path / "health" / "startupTimeout"),
        least_load=_least_load(size, way) // pods,
        requests=requests,
        cooldown=cooldown,
        is_cooldown_written=is_cooldown_written,
        window=_window(at, spec),
        grace=context.drain.grace,
    )


def _duration(text: str, at: Path, key: str) -> Time:
    return Time(seconds(text), key, at / key)


def _least_load(size: str | None, way: Loading) -> int:
    """Return the least seconds in which the engines of a replica together load the weights from local disks."""
    if way is Loading.STREAMED:
        return 0
    return lifecycle.fastest_load_seconds(size)


def _load_source(health: Health, size: str | None, pods: int, way: Loading) -> str:
    """Return what the time to load a model is computed from. A replica has the given number of pods."""
    if health.startup_timeout is not None:
        return "startupTimeout"
    source = _RATES[way]
    if size is None:
        source = "weights of unknown size"
    if pods > 1:
        source += ", after the replica's other pods have fetched them"
    return source


def _fetch(variant: VariantContext, size: str | None, weights: Weights) -> Time:
    source = "weights in a volume or image"
    if loading.of(variant.spec).is_by_engine:
        source = "the engine fetches the weights while it loads"
    if not weights.fetches:
        return Time(0, source, variant.path / "model")
    source = "weights at 32Mi/s"
    if size is None:
        source = "weights of unknown size"
    return Time(lifecycle.fetching_seconds(size), source, variant.path / "model" / "size")


def _flow_control(variant: VariantContext) -> tuple[Mapping[str, Any], Path]:
    """Return the section of flow control that counts, and its place. Empty if the picker has its defaults.

    The section in `endpointPicker.config` wins over `endpointPicker.flowControl`.
    """
    at = variant.path / "endpointPicker"
    written = config.custom(variant.spec).get(FLOW_CONTROL)
    if isinstance(written, Mapping):
        return cast("Mapping[str, Any]", written), at / "config" / FLOW_CONTROL
    flow_control = variant.spec.endpoint_picker.flow_control
    if flow_control is None:
        return {}, at / FLOW_CONTROL
    return flow_control.model_dump(by_alias=True), at / FLOW_CONTROL


def _wait(section: Mapping[str, Any], at: Path, keys: Iterable[str]) -> Time | None:
    """Return the time that requests wait, which the first of the keys sets that flow control has; None if none does.

    The times of priority bands count only while the pool has a pod (llm-d-router, pkg/epp/flowcontrol/controller,
    isExpired).
    """
    for key in keys:
        if isinstance(section.get(key), str):
            return _duration(section[key], at, key)
    return None


def _limit(variant: VariantContext) -> Time | None:
    """Return the route's time limit for a request. None if it has none, or if the gateway ignores it."""
    timeouts = variant.service.route.timeouts
    gateway = variant.gateway
    if timeouts is None or timeouts.request is None or gateway is None or not variant.service.route.enabled:
        return None
    facts = gateways.facts(gateway)
    if facts is not None and facts.timeouts is not None and not facts.timeouts.route:
        return None
    return Time(
        seconds(timeouts.request), "timeouts.request", Path("services", variant.key, "route", "timeouts", "request")
    )


def _window(at: Path, spec: Autoscaling | None) -> Time | None:
    """Return the window that a user wrote for scaling down. None for a default, or if replicas are never removed."""
    if spec is None or "behavior" not in spec.explicit_fields or spec.max_replicas <= max(1, spec.min_replicas):
        return None
    rules = spec.behavior.get("scaleDown")
    if not isinstance(rules, Mapping) or rules.get("selectPolicy") == "Disabled":
        return None
    window = rules.get(_WINDOW)
    if not isinstance(window, int):
        return None
    return Time(window, _WINDOW, at / "behavior" / "scaleDown" / _WINDOW)


def judge(cold: ColdStart) -> Iterator[Problem]:
    """Yield a warning for each link of a cold start that does not hold.

    The route's time limit and `drainTimeout` are compared where routes are checked.
    """
    yield from _short_startup(cold)
    yield from _short_wait(cold)
    yield from _short_limit(cold)
    yield from _short_cooldown(cold)
    yield from _short_window(cold)


def _short_startup(cold: ColdStart) -> Iterator[Problem]:
    """Yield a warning if the startup probe may end the engine before a local disk has given it the weights.

    A faster disk than `lifecycle.LOCAL_LOAD_RATE` may give them in time.
    """
    if cold.load.seconds < cold.least_load:
        what = f"may end the engine of {cold.role} while it loads ({cold.load.seconds}s)"
        why = f"the weights take {cold.least_load}s from a local disk"
        yield warning(cold.load.at, f"{what}: {why}", f"write {cold.least_load}s or more, or remove it")


def _short_wait(cold: ColdStart) -> Iterator[Problem]:
    """Yield a warning if requests that wake a role give up before a pod is ready."""
    if cold.wake is None:
        return
    need = f"{cold.role} is awake in up to {cold.wake}s"
    remedy = f"write {cold.wake}s or more, or 0s for no limit"
    if cold.requests.wait is None:
        what = f"has no {_TTL}, and some pickers end the wait of a request after 60s, but {need}"
        yield warning(cold.requests.wait_at, what, f"add {_TTL}: {cold.wake}s")
    elif 0 < cold.requests.wait.seconds < cold.wake:
        what = f"ends the wait of the requests that wake {cold.role} too early ({cold.requests.wait.seconds}s): {need}"
        yield warning(cold.requests.wait.at, what, remedy)


def _short_limit(cold: ColdStart) -> Iterator[Problem]:
    """Yield a warning if the gateway ends a request that still waits in the picker."""
    requests = cold.requests
    limit = requests.limit
    if limit is None or not limit.seconds or not requests.limit_counts_wait or not requests.holds:
        return
    if requests.wait is not None and requests.wait.seconds:
        if limit.seconds < requests.wait.seconds:
            what = f"ends requests that may still wait in the picker ({limit.seconds}s; they wait {requests.wait})"
            yield warning(limit.at, what, f"write {requests.wait.seconds}s or more, or lower {requests.wait.source}")
    elif cold.wake is not None and limit.seconds < cold.wake:
        what = f"ends requests before {cold.role} is awake ({limit.seconds}s; it is awake in up to {cold.wake}s)"
        yield warning(limit.at, what, f"write {cold.wake}s or more, or 0s for no limit")


def _short_cooldown(cold: ColdStart) -> Iterator[Problem]:
    """Yield a warning if a pod may be removed while it loads, because no request waits for it any longer.

    The default is not told: nobody wrote it, and it matters only once nobody waits for the pod.
    """
    if cold.cooldown is None or not cold.is_cooldown_written or cold.cooldown.seconds >= cold.start:
        return
    what = f"ends before {cold.role} has started ({cold.cooldown.seconds}s; a pod starts in up to {cold.start}s)"
    why = "once its requests have given up or their clients have left, KEDA removes the pod that is loading"
    yield warning(cold.cooldown.at, f"{what}: {why}", f"write {cold.start}s or more")


def _short_window(cold: ColdStart) -> Iterator[Problem]:
    """Yield a warning if replicas that were added may be removed before they are ready."""
    longest = min(cold.start, _LONGEST_WINDOW)
    if cold.window is None or cold.window.seconds >= longest:
        return
    what = f"removes replicas of {cold.role} that have not started ({cold.window.seconds}s"
    what += f"; a pod starts in up to {cold.start}s): after a short burst they have served nothing"
    yield warning(cold.window.at, what, f"write {longest} or more")
