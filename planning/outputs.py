"""What a stack gives back to other repositories: contract version 1, plain JSON, arrays sorted."""

from typing import Any

from planning.stack import ROUTED_PORT, Route, ServicePlan, StackPlan
from planning.workload import Workload

CONTRACT_VERSION = 1
_SCHEMES = {80: "http", 443: "https"}
"""What a listener's port says about its protocol; any other says nothing, and then no URL is claimed."""


def stack(plan: StackPlan, facts_digest: str | None) -> dict[str, Any]:
    """Return the stack's outputs, all but `ready`, which only a deployment run can tell."""
    return {
        "contractVersion": CONTRACT_VERSION,
        "release": plan.release,
        "factsDigest": facts_digest,
        "services": {service.key: _service(service) for service in plan.services},
    }


def _service(service: ServicePlan) -> dict[str, Any]:
    route = service.route
    return {
        "name": service.names.base,
        "namespace": service.names.namespace,
        "model": {"name": service.model, "source": service.source, "digest": _digest(service.source)},
        "urls": _urls(route),
        "paths": [] if route is None else [route.path],
        "hostnames": [] if route is None else sorted(route.hostnames),
        "gateway": _gateway(route),
        "weight": 100,
        "primary": _variant(service),
        "canary": None,
        "profile": None,
        "interceptor": _interceptor(service),
        "awaited": ["endpointPicker", "workload"],
        "message": "",
        "warnings": [],
    }


def _digest(source: str) -> str | None:
    return source.partition("@")[2] or None


def _urls(route: Route | None) -> list[str]:
    if route is None or route.parent.port not in _SCHEMES:
        return []
    scheme = _SCHEMES[route.parent.port]
    return sorted(f"{scheme}://{host}{route.path}" for host in route.hostnames if not host.startswith("*"))


def _gateway(route: Route | None) -> dict[str, Any] | None:
    if route is None:
        return None
    parent = route.parent
    return {"name": parent.name, "namespace": route.parent_namespace, "sectionName": parent.section_name}


def _interceptor(service: ServicePlan) -> dict[str, Any] | None:
    if service.resource_id is None:
        return None
    return {"mode": "label", "layout": "service", "resourceId": service.resource_id}


def _variant(service: ServicePlan) -> dict[str, Any]:
    names = service.names
    classes = {"decode": service.accelerator, "prefill": service.prefill_accelerator}
    return {
        "pool": {"group": "inference.networking.k8s.io", "name": names.base},
        "serviceHost": f"{service.host(names.base)}:{ROUTED_PORT}",
        "endpointPickerHost": f"{service.host(names.picker)}:{service.picker.port}",
        "roles": {one.role: _role(one, classes[one.role]) for one in service.roles},
    }


def _role(workload: Workload, accelerator: str | None) -> dict[str, Any]:
    return {
        "workload": {"kind": workload.kind, "name": workload.name},
        "scaling": _scaling(workload),
        "gpus": _gpus(workload, accelerator),
    }


def _scaling(workload: Workload) -> dict[str, Any]:
    autoscaler = workload.autoscaler
    if autoscaler is None:
        return {"type": "fixed", "replicas": workload.replicas}
    return {"type": autoscaler.type, "minReplicas": autoscaler.least, "maxReplicas": autoscaler.most}


def _gpus(workload: Workload, accelerator: str | None) -> dict[str, Any] | None:
    count = workload.layout.devices_per_pod * workload.layout.pods_per_replica
    if not count:
        return None
    return {
        "class": accelerator,
        "vendor": workload.accelerator.vendor,
        "product": workload.accelerator.product,
        "perReplica": count,
        "max": count * workload.most,
    }
