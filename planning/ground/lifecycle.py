"""When a serving pod counts as started, as ready and as gone; times in whole seconds."""

from dataclasses import dataclass

from models.role import Health, Recreate, RollingUpdate
from models.vocabulary import amount, seconds

_LEAST_STARTUP, _UNKNOWN_STARTUP = 600, 1800
_LOAD_RATE = 64 * 2**20
"""Bytes a second at which weights reach the devices from a slow volume."""
_FETCH_SECONDS = 1800
_FETCH_RATE = 32 * 2**20
"""Bytes a second at which weights arrive over a slow network."""
_ENDPOINT_REMOVAL = 15
"""Until gateway and picker no longer send requests to a pod that ends."""
_MARGIN = 15
"""From the engine's own deadline to the kill."""
WAIT_MARGIN = 60
"""The wait outlives an object's own deadline, so that Kubernetes' reason is the one that is reported."""


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
    """How a pod ends: requests stop arriving, those that run may finish, then it is killed."""

    pre_stop: int
    """Before the engine is told to end."""
    engine: int | None
    """That the engine itself lets requests run; absent: it cannot, and the time before it is told is longer."""
    worker_pre_stop: int
    """Before the engine of a further pod is told to end: its leader still needs it while it drains."""
    grace: int
    """From the pod's deletion to the kill (`terminationGracePeriodSeconds`)."""


def startup(health: Health, size: str | None) -> int:
    """Return the time from container start until the model must be loaded."""
    if health.startup_timeout is not None:
        return seconds(health.startup_timeout)
    if size is None:
        return _UNKNOWN_STARTUP
    return _LEAST_STARTUP + int(amount(size)) // _LOAD_RATE


def fetch(size: str | None) -> int:
    """Return the time that images and weights may take to arrive, before the startup probe begins to count."""
    return max(_FETCH_SECONDS, 0 if size is None else int(amount(size)) // _FETCH_RATE)


def probes(health: Health, size: str | None) -> Probes:
    """Return the probes of an engine that loads weights of a size."""
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
    """Return how a pod ends whose longest request takes `timeout`."""
    longest = seconds(timeout)
    return Drain(
        pre_stop=_ENDPOINT_REMOVAL if engine_drains else _ENDPOINT_REMOVAL + longest,
        worker_pre_stop=_ENDPOINT_REMOVAL + longest,
        engine=longest if engine_drains else None,
        grace=_ENDPOINT_REMOVAL + longest + _MARGIN,
    )


def wait(rollout: RollingUpdate | Recreate, replicas: int, deadline: int, drained: Drain) -> int:
    """Return how long a deployment run waits: for as many steps as the rollout takes, each with its drain."""
    at_once = replicas if isinstance(rollout, Recreate) else max(1, rollout.max_surge + rollout.max_unavailable)
    steps = max(1, -(-replicas // max(1, at_once)))
    return steps * (deadline + drained.grace) + WAIT_MARGIN
