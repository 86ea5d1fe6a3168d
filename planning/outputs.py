"""Outputs of a stack, which other repositories read: plain JSON with sorted arrays, contract version 1."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from planning.ground.api_groups import POOL_GROUP
from planning.ground.ports import HTTP_PORT, HTTPS_PORT, ROUTED_PORT
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.routes.records import Route
from planning.serving.workload import Workload

CONTRACT_VERSION = 1
_SCHEMES = {HTTP_PORT: "http", HTTPS_PORT: "https"}
"""URL scheme by the port of the gateway's listener. For other ports the scheme is unknown, and there are no URLs."""


def of_stack(plan: StackPlan, facts_digest: str | None, awaited: Collection[str] = ()) -> dict[str, Any]:
    """Return the outputs of a stack, except `ready`, which only a run knows.

    `facts_digest` is the digest of the cluster facts that the stack depends on; None if these facts are unknown.
    `awaited` holds the keys of the services whose routes the run waits for.
    """
    return {
        "contractVersion": CONTRACT_VERSION,
        "release": plan.release,
        "factsDigest": facts_digest,
        "services": {service.key: _service(service, with_route=service.key in awaited) for service in plan.services},
    }


def _service(service: ServicePlan, *, with_route: bool) -> dict[str, Any]:
    route, primary = service.route, service.primary
    return {
        "name": primary.names.base,
        "namespace": primary.names.namespace,
        "model": _model(primary),
        "urls": _urls(route),
        "paths": [] if route is None else list(route.paths),
        "hostnames": [] if route is None else sorted(route.hostnames),
        "gateway": _gateway(route),
        "weight": service.share.primary,
        "primary": _variant(primary),
        "canary": None if service.canary is None else _canary(service.canary, service.share.canary),
        "profile": None,
        "interceptor": _interceptor(primary),
        "awaited": ["endpointPicker", *(["route"] if with_route else []), "workload"],
        "message": "",
        "warnings": sorted(
            str(replace(warning, path=warning.path.below(primary.path))) for warning in service.warnings
        ),
    }


def _canary(variant: VariantPlan, weight: int) -> dict[str, Any]:
    return {**_variant(variant), "weight": weight, "model": _model(variant)}


def _model(variant: VariantPlan) -> dict[str, Any]:
    return {"name": variant.model, "source": variant.source, "digest": _digest(variant.source)}


def _digest(source: str) -> str | None:
    return source.partition("@")[2] or None


def _urls(route: Route | None) -> list[str]:
    if route is None or route.parent.port not in _SCHEMES:
        return []
    scheme = _SCHEMES[route.parent.port]
    hosts = [host for host in route.hostnames if not host.startswith("*")]
    return sorted(f"{scheme}://{host}{path}" for host in hosts for path in route.paths)


def _gateway(route: Route | None) -> dict[str, Any] | None:
    if route is None:
        return None
    parent = route.parent
    return {"name": parent.name, "namespace": parent.namespace, "sectionName": parent.section_name}


def _interceptor(variant: VariantPlan) -> dict[str, Any] | None:
    if variant.resource_id is None:
        return None
    return {"mode": "label", "layout": "service", "resourceId": variant.resource_id}


def _variant(variant: VariantPlan) -> dict[str, Any]:
    names = variant.names
    return {
        "pool": {"group": POOL_GROUP, "name": names.pool},
        "objectives": sorted(objective.name for objective in variant.requests.objectives),
        "serviceHost": f"{variant.host(names.base)}:{ROUTED_PORT}",
        "endpointPickerHost": f"{variant.host(names.picker)}:{variant.picker.port}",
        "roles": {
            workload.role: _role(workload, variant.accelerators[workload.role]) for workload in variant.workloads
        },
    }


def _role(workload: Workload, accelerator: str) -> dict[str, Any]:
    return {
        "workload": {"kind": workload.kind, "name": workload.name},
        "scaling": _scaling(workload),
        "gpus": _gpus(workload, accelerator),
    }


def _scaling(workload: Workload) -> dict[str, Any]:
    autoscaler = workload.autoscaler
    if autoscaler is None:
        return {"type": "fixed", "replicas": workload.replicas}
    return {"type": autoscaler.type, "minReplicas": autoscaler.min_replicas, "maxReplicas": autoscaler.max_replicas}


def _gpus(workload: Workload, accelerator: str) -> dict[str, Any] | None:
    count = workload.layout.devices_per_pod * workload.layout.pods_per_replica
    if not count:
        return None
    return {
        "class": accelerator,
        "vendor": workload.accelerator.vendor,
        "product": workload.accelerator.product,
        "perReplica": count,
        "max": count * workload.max_replicas,
    }
