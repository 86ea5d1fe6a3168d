"""Policies of GKE's load balancer for a pool or a Service: health check, timeout of responses, and logging."""

from collections.abc import Iterator
from typing import Any

from manifests import about
from manifests.objects import Manifest, Rendered
from planning.ground import parts
from planning.ground.api_groups import POOL_GROUP
from planning.network.gke import LoadBalancing
from planning.plans import VariantPlan

_GROUP = "networking.gke.io"


def of_pool(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policies of the pool if the gateway is GKE's."""
    if variant.gke is None:
        return
    pool = variant.names.pool
    metadata = about.metadata(variant, about.PICKER, pool)
    health, backend = policies(variant.gke, metadata, {"group": POOL_GROUP, "kind": "InferencePool", "name": pool})
    yield about.part_object(variant, parts.HEALTH_CHECK_POLICY, health)
    yield about.part_object(variant, parts.BACKEND_POLICY, backend)


def of_service(variant: VariantPlan) -> Iterator[Rendered]:
    """Render the policies of the Service if the gateway is GKE's and the variant has no pool."""
    if variant.gke is None or variant.endpoint_picker is not None:
        return
    names = variant.names
    metadata = about.metadata(variant, about.MODEL_SERVER, names.decode)
    health, backend = policies(variant.gke, metadata, {"group": "", "kind": "Service", "name": names.base})
    yield about.part_object(variant, parts.SERVICE_HEALTH_CHECK_POLICY, health)
    yield about.part_object(variant, parts.SERVICE_BACKEND_POLICY, backend)


def policies(settings: LoadBalancing, metadata: dict[str, Any], target: dict[str, str]) -> tuple[Manifest, Manifest]:
    """Return the HealthCheckPolicy and the GCPBackendPolicy of a backend."""
    check = {"requestPath": settings.path, "port": settings.port}
    health = {
        "checkIntervalSec": settings.check_interval,
        "timeoutSec": settings.check_timeout,
        "config": {"type": "HTTP", "httpHealthCheck": check},
    }
    backend = {"timeoutSec": settings.timeout, "logging": {"enabled": settings.logging}}
    return (
        _policy("HealthCheckPolicy", metadata, health, target),
        _policy("GCPBackendPolicy", metadata, backend, target),
    )


def _policy(kind: str, metadata: dict[str, Any], default: dict[str, Any], target: dict[str, str]) -> Manifest:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {"default": default, "targetRef": target},
    }
