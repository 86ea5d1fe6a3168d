"""Times of serving pods: startup, probes, drain, and how long a run waits for pods. All times are in whole seconds."""

from dataclasses import dataclass

from models.health import EngineProbe, Health, RepeatedProbe
from models.role import Recreate, RollingUpdate
from models.vocabulary import amount, seconds
from planning.ground.loading import Loading

_MIN_STARTUP, _UNKNOWN_STARTUP = 600, 1800
"""Minimum startup time, and the startup time if the size of the weights is unknown."""
_LOAD_RATE = 64 * 2**20
"""Rate at which weights are loaded from a slow volume to the devices, in bytes per second."""
LOCAL_LOAD_RATE = 512 * 2**20
"""Rate at which weights are loaded from a local disk to the devices, in bytes per second."""
_MIN_FETCH = 1800
"""Minimum of the time allowed for fetching images and weights."""
_FETCH_RATE = 32 * 2**20
"""Rate at which weights are fetched over a slow network, in bytes per second."""
_ENDPOINT_REMOVAL = 15
"""Time until gateway and picker send no more requests to a terminating pod."""
_KILL_MARGIN = 15
"""Time between the engine's deadline for running requests and the kill."""
WAIT_MARGIN = 60
"""Time by which a wait exceeds an object's deadline in Kubernetes, so that Kubernetes reports a failure first."""
PICKER_START = 540
"""Time within which an endpoint picker becomes ready, including the pull of its image on a node that lacks it."""


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """A probe of the engine container."""

    path: str | None
    """Path of the requests; None for a probe that only connects."""
    interval: int
    timeout: int
    failures: int
    """Number of failures in a row after which the probe has failed."""
    initial_delay: int | None


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of the engine container."""

    startup: ProbePlan
    readiness: ProbePlan
    liveness: ProbePlan


@dataclass(frozen=True, slots=True)
class Drain:
    """The times of a pod's termination. New requests cease, then running requests finish, then the pod is killed."""

    pre_stop: int
    """Time from the pod's deletion until the engine gets its signal to end."""
    engine: int | None
    """Time that the engine gives to running requests. None if the engine ends immediately; then `pre_stop` includes the
    time for running requests."""
    worker_pre_stop: int
    """`pre_stop` of a worker pod. The pod has to work for its leader until the leader has drained."""
    grace: int
    """Time from the pod's deletion to the kill (`terminationGracePeriodSeconds`)."""


def startup_seconds(health: Health, size: str | None, loading: Loading = Loading.FOLDER) -> int:
    """Return the time from a container's start until the model must be loaded; `size` is the size of the weights.

    `loading` says whether the engine fetches the weights in this time, too. Streamed weights are loaded as they arrive.
    """
    if health.startup_timeout is not None:
        return seconds(health.startup_timeout)
    if size is None:
        return _UNKNOWN_STARTUP
    startup = _MIN_STARTUP
    if loading.is_by_engine:
        startup += int(amount(size)) // _FETCH_RATE
    if loading is not Loading.STREAMED:
        startup += int(amount(size)) // _LOAD_RATE
    return startup


def loading_seconds(health: Health, size: str | None, *, spans_pods: bool, loading: Loading = Loading.FOLDER) -> int:
    """Return the time from an engine's start until its model must be loaded.

    If a replica spans pods, its first engine waits until the other pods have fetched the weights and have started, too.
    An explicit startup timeout includes this wait.
    """
    startup = startup_seconds(health, size, loading)
    if spans_pods and health.startup_timeout is None:
        return startup + fetch_seconds(size)
    return startup


def joining_seconds(health: Health, size: str | None, loading: Loading = Loading.FOLDER) -> int:
    """Return the time that an engine waits for the engines of the replica's other pods."""
    return fetch_seconds(size) + startup_seconds(health, size, loading)


def fetch_seconds(size: str | None) -> int:
    """Return the time allowed for fetching images and weights. The startup probe begins only after fetching."""
    return max(_MIN_FETCH, 0 if size is None else int(amount(size)) // _FETCH_RATE)


def fetching_seconds(size: str | None) -> int:
    """Return the time in which one pod fetches its weights over a slow network; without a size, the time allowed."""
    if size is None:
        return _MIN_FETCH
    return -(-int(amount(size)) // _FETCH_RATE)


def fastest_load_seconds(size: str | None) -> int:
    """Return the time that an engine takes at least to load its weights, from a local disk; 0 without a size."""
    if size is None:
        return 0
    return int(amount(size)) // LOCAL_LOAD_RATE


def probes(
    health: Health,
    size: str | None,
    ready_path: str,
    *,
    spans_pods: bool = False,
    loading: Loading = Loading.FOLDER,
) -> Probes:
    """Return the probes of an engine that loads weights of the given size. The engine is ready if `ready_path` answers.

    `spans_pods` says whether a replica spans several pods. Startup probes end with the time to load the model, which
    begins with the container: the later the first probe, the fewer failures.
    """
    startup = loading_seconds(health, size, spans_pods=spans_pods, loading=loading)
    if health.startup.initial_delay is not None:
        startup -= seconds(health.startup.initial_delay)
    interval = seconds(health.startup.interval or health.interval)
    return Probes(
        startup=_probe(health, health.startup, ready_path, -(-startup // interval)),
        readiness=_probe(health, health.readiness, ready_path, _failures(health, health.readiness)),
        liveness=_probe(health, health.liveness, health.liveness_path, _failures(health, health.liveness)),
    )


def _failures(health: Health, probe: RepeatedProbe) -> int:
    return probe.failure_threshold or health.failure_threshold


def _probe(health: Health, probe: EngineProbe, path: str, failures: int) -> ProbePlan:
    """Return a probe. `path` is that of a probe that names none."""
    delay = None
    if probe.initial_delay is not None:
        delay = seconds(probe.initial_delay)
    return ProbePlan(
        path=None if probe.type == "tcp" else probe.path or path,
        interval=seconds(probe.interval or health.interval),
        timeout=seconds(probe.timeout or health.timeout),
        failures=failures,
        initial_delay=delay,
    )


def drain(timeout: str, *, engine_drains: bool) -> Drain:
    """Return the times of the termination of a pod whose longest request takes `timeout`.

    `engine_drains` says whether the engine itself lets running requests finish.
    """
    longest = seconds(timeout)
    return Drain(
        pre_stop=_ENDPOINT_REMOVAL if engine_drains else _ENDPOINT_REMOVAL + longest,
        worker_pre_stop=_ENDPOINT_REMOVAL + longest,
        engine=longest if engine_drains and longest else None,
        grace=_ENDPOINT_REMOVAL + longest + _KILL_MARGIN,
    )


def wait_seconds(rollout: RollingUpdate | Recreate, replicas: int, step_deadline: int, step_drain: Drain) -> int:
    """Return how long a run waits for a workload: the time of all steps of its rollout.

    A step replaces as many pods at once as the rollout allows. It takes `step_deadline` and the time in which the old
    pods drain.
    """
    per_step = replicas if isinstance(rollout, Recreate) else max(1, rollout.max_surge + rollout.max_unavailable)
    steps = max(1, -(-replicas // max(1, per_step)))
    return steps * (step_deadline + step_drain.grace) + WAIT_MARGIN
