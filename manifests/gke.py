"""Policies of GKE's load balancer for a pool: its health check and the timeout of responses."""

from collections.abc import Iterator
from typing import Any

from manifests import about
from manifests.objects import Rendered
from planning.ground import parts
from planning.ground.api_groups import POOL_GROUP
from planning.network.gke import LoadBalancing
from planning.plans import VariantPlan

_GROUP = "networking.gke.io"


def objects(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policies if the gateway is GKE's."""
    settings = variant.gke
    if settings is None:
        return
    health = _policy(variant, "HealthCheckPolicy", _health(settings))
    yield about.part_object(variant, parts.HEALTH_CHECK_POLICY, health)
    backend = _policy(
        variant, "GCPBackendPolicy", {"timeoutSec": settings.timeout, "logging": {"enabled": settings.logging}}
    )
    yield about.part_object(variant, parts.BACKEND_POLICY, backend)


def _health(settings: LoadBalancing) -> dict[str, Any]:
    check = {"requestPath": settings.path, "port": settings.port}
    return {
        "checkIntervalSec": settings.check_interval,
        "timeoutSec": settings.check_timeout,
        "config": {"type": "HTTP", "httpHealthCheck": check},
    }


def _policy(variant: VariantPlan, kind: str, default: dict[str, Any]) -> dict[str, Any]:
    pool = variant.names.pool
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": about.metadata(variant, about.PICKER, pool),
        "spec": {"default": default, "targetRef": {"group": POOL_GROUP, "kind": "InferencePool", "name": pool}},
    }
