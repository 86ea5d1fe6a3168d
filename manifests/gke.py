"""The policies of GKE's load balancer for a pool: when a pod counts as healthy, and how long an answer may take."""

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
    """Render the policies, where the gateway is GKE's."""
    told = variant.gke
    if told is None:
        return
    health = _policy(variant, "HealthCheckPolicy", _health(told))
    yield about.rendered(variant, parts.HEALTH_CHECK_POLICY, health)
    backend = _policy(variant, "GCPBackendPolicy", {"timeoutSec": told.timeout, "logging": {"enabled": told.logging}})
    yield about.rendered(variant, parts.BACKEND_POLICY, backend)


def _health(told: LoadBalancing) -> dict[str, Any]:
    check = {"requestPath": told.path, "port": told.port}
    return {
        "checkIntervalSec": told.check_interval,
        "timeoutSec": told.check_timeout,
        "config": {"type": "HTTP", "httpHealthCheck": check},
    }


def _policy(variant: VariantPlan, kind: str, default: dict[str, Any]) -> dict[str, Any]:
    pool = variant.names.pool
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": about.of(variant, about.PICKER, pool),
        "spec": {"default": default, "targetRef": {"group": POOL_GROUP, "kind": "InferencePool", "name": pool}},
    }
