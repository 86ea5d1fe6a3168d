"""Startup, probes, drain and waits of serving pods; all times in whole seconds."""

from dataclasses import dataclass

from models.role import Health, Recreate, RollingUpdate
from models.vocabulary import amount, seconds

_MIN_STARTUP, _UNKNOWN_STARTUP = 600, 1800
"""Minimum startup time, and the startup time if the size of the weights is unknown."""
_LOAD_RATE = 64 * 2**20
"""Rate at which weights are loaded from a slow volume to the devices, in bytes per second."""
_MIN_FETCH = 1800
"""Minimum time for images and weights to arrive."""
_FETCH_RATE = 32 * 2**20
"""Rate at which weights arrive over a slow network, in bytes per second."""
_ENDPOINT_REMOVAL = 15
"""Time until gateway and picker send no more requests to a terminating pod."""
_KILL_MARGIN = 15
"""Time between the engine's own deadline and the kill."""
WAIT_MARGIN = 60
"""Time by which a wait outlasts an object's own deadline, so that the report holds the reason that Kubernetes gives."""


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
    """Time before the engine gets its signal to end."""
    engine: int | None
    """Time that the engine gives to running requests; None if it ends at once, which lengthens `pre_stop` instead."""
    worker_pre_stop: int
    """Time before the engine of a worker pod gets its signal: the leader needs it until its own drain is over."""
    grace: int
    """Time from the pod's deletion to the kill (`terminationGracePeriodSeconds`)."""


def startup(health: Health, size: str | None) -> int:
    """Return the time that a container has from its start until the model is loaded; `size` is that of the weights."""
    if health.startup_timeout is not None:
        return seconds(health.startup_timeout)
    if size is None:
        return _UNKNOWN_STARTUP
    return _MIN_STARTUP + int(amount(size)) // _LOAD_RATE


def fetch(size: str | None) -> int:
    """Return the time that images and weights may take to arrive, before the startup probe begins."""
    return max(_MIN_FETCH, 0 if size is None else int(amount(size)) // _FETCH_RATE)


def probes(health: Health, size: str | None) -> Probes:
    """Return the probes of an engine that loads weights of the given size."""
    interval = seconds(health.interval)
    return Probes(
        path=health.path,
        liveness_path=health.liveness_path,
        interval=interval,
        timeout=seconds(health.timeout),
        failure_threshold=health.failure_threshold,
        startup_failures=-(-startup(health, size) // interval),
    )


def drain(timeout: str, *, engine_drains: bool) -> Drain:
    """Return the drain of a pod whose longest request takes `timeout`.

    `engine_drains` tells whether the engine itself lets running requests finish.
    """
    longest = seconds(timeout)
    return Drain(
        pre_stop=_ENDPOINT_REMOVAL if engine_drains else _ENDPOINT_REMOVAL + longest,
        worker_pre_stop=_ENDPOINT_REMOVAL + longest,
        engine=longest if engine_drains else None,
        grace=_ENDPOINT_REMOVAL + longest + _KILL_MARGIN,
    )


def wait(rollout: RollingUpdate | Recreate, replicas: int, step_deadline: int, step_drain: Drain) -> int:
    """Return how long a deployment run waits: for all steps of the rollout, each of them with its drain."""
    per_step = replicas if isinstance(rollout, Recreate) else max(1, rollout.max_surge + rollout.max_unavailable)
    steps = max(1, -(-replicas // max(1, per_step)))
    return steps * (step_deadline + step_drain.grace) + WAIT_MARGIN
