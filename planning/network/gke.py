"""Settings of GKE's load balancer for a pool. The load balancer connects to the pool's pods directly."""

from dataclasses import dataclass

from models.service import Variant
from models.vocabulary import seconds
from planning.serving.workload import Workload

_CHECK_SECONDS = 2
"""Interval and timeout of health checks."""
_MIN_TIMEOUT_SECONDS = 300
"""Minimum timeout of a response, in seconds. The load balancer's default of 30 seconds would cut most streams."""


@dataclass(frozen=True, slots=True)
class LoadBalancing:
    """Health checks, timeout and logging of the load balancer; times in seconds."""

    port: int
    """Port of the pods."""
    path: str
    """Path of the health check."""
    check_interval: int
    check_timeout: int
    timeout: int
    """Timeout of a whole response, including streams."""
    logging: bool
    """Whether the load balancer logs requests."""


def plan(spec: Variant, decode: Workload) -> LoadBalancing:
    """Return the settings for a pool.

    They follow from the decode workload, because the load balancer sends no requests to prefill pods.
    """
    path = decode.engine.probes.liveness.path or spec.health.liveness_path
    return load_balancing(spec.engine.port, path, seconds(spec.drain_timeout))


def load_balancing(port: int, path: str, longest: int) -> LoadBalancing:
    """Return the settings for a backend whose longest request takes `longest` seconds."""
    return LoadBalancing(
        port=port,
        path=path,
        check_interval=_CHECK_SECONDS,
        check_timeout=_CHECK_SECONDS,
        timeout=max(_MIN_TIMEOUT_SECONDS, longest),
        logging=True,
    )
