"""Times of serving pods: startup, probes, drain, and how long a run waits for them. All are in whole seconds."""

from dataclasses import dataclass

from models.role import Health, Recreate, RollingUpdate
from models.vocabulary import amount, seconds

_MIN_STARTUP, _UNKNOWN_STARTUP = 600, 1800
"""Minimum startup time, and the startup time if the size of the weights is unknown."""
_LOAD_RATE = 64 * 2**20
"""Rate at which weights are loaded from a slow volume to the devices, in bytes per second."""
_MIN_FETCH = 1800
"""Minimum of the time allowed for fetching images and weights."""
_FETCH_RATE = 32 * 2**20
"""Rate at which weights are fetched over a slow network, in bytes per second."""
_ENDPOINT_REMOVAL = 15
"""Time until gateway and picker send no more requests to a terminating pod."""
_KILL_MARGIN = 15
"""Time between the engine's own deadline and the kill."""
WAIT_MARGIN = 60
"""Time that a wait adds to the object's own deadline. Kubernetes then gives its reason for a failure first."""


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of the engine container."""

    path: str
    liveness_path: str
    interval: int
    timeout: int
    failure_threshold: int
    startup_failures: int


@dataclass(frozen=True, slots=True)
class Drain:
    """The times of a pod's termination: no new requests arrive, running requests finish, then the pod is killed."""

    pre_stop: int
    """Time from the pod's deletion until the engine gets its signal to end."""
    engine: int | None
    """Time that the engine gives to running requests. None if it ends at once; `pre_stop` is longer then, unless there
    is no time to give."""
    worker_pre_stop: int
    """The same as `pre_stop` for a worker pod, which serves its leader until the leader has drained."""
    grace: int
    """Time from the pod's deletion to the kill (`terminationGracePeriodSeconds`)."""


def startup_seconds(health: Health, size: str | None) -> int:
    """Return the time from a container's start until the model must be loaded; `size` is that of the weights."""
    if health.startup_timeout is not None:
        return seconds(health.startup_timeout)
    if size is None:
        return _UNKNOWN_STARTUP
    return _MIN_STARTUP + int(amount(size)) // _LOAD_RATE


def fetch_seconds(size: str | None) -> int:
    """Return the time allowed for fetching images and weights, which ends before the startup probe begins."""
    return max(_MIN_FETCH, 0 if size is None else int(amount(size)) // _FETCH_RATE)


def probes(health: Health, size: str | None, ready_path: str) -> Probes:
    """Return the probes of an engine that loads weights of the given size; it is ready if `ready_path` answers."""
    interval = seconds(health.interval)
    return Probes(
        path=ready_path,
        liveness_path=health.liveness_path,
        interval=interval,
        timeout=seconds(health.timeout),
        failure_threshold=health.failure_threshold,
        startup_failures=-(-startup_seconds(health, size) // interval),
    )


def drain(timeout: str, *, engine_drains: bool) -> Drain:
    """Return the times of a pod's termination if its longest request takes `timeout`.

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

    A step replaces as many pods at once as the rollout allows. It takes `step_deadline` and the drain of the old pods.
    """
    per_step = replicas if isinstance(rollout, Recreate) else max(1, rollout.max_surge + rollout.max_unavailable)
    steps = max(1, -(-replicas // max(1, per_step)))
    return steps * (step_deadline + step_drain.grace) + WAIT_MARGIN
