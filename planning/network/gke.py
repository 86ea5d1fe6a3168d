"""What the load balancer of a GKE Gateway is told about a pool, whose pods it reaches by itself."""

from dataclasses import dataclass

from models.service import Variant
from models.vocabulary import seconds
from planning.serving.workload import Workload

_CHECK_SECONDS = 2
_LEAST_TIMEOUT = 300


@dataclass(frozen=True, slots=True)
class LoadBalancing:
    """Health and patience of the load balancer; times in seconds."""

    port: int
    """That the pool reaches its pods on."""
    path: str
    """That answers while a pod lives; the load balancer's own default is another."""
    check_interval: int
    check_timeout: int
    timeout: int
    """Of a whole answer, streams included; its own default of 30 would cut most of them."""
    logging: bool
    """Whether it writes a log of requests."""


def plan(spec: Variant, decode: Workload) -> LoadBalancing:
    """Decide for one pool. Prefill's pods are in it, too, but the load balancer sends them nothing."""
    return LoadBalancing(
        port=spec.engine.port,
        path=decode.engine.probes.liveness_path,
        check_interval=_CHECK_SECONDS,
        check_timeout=_CHECK_SECONDS,
        timeout=max(_LEAST_TIMEOUT, seconds(spec.drain_timeout)),
        logging=True,
    )
