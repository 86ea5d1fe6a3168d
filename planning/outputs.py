"""What a stack gives back to other repositories: contract version 1, plain JSON, arrays sorted."""

from typing import Any

from planning.stack import ROUTED_PORT, Route, ServicePlan, StackPlan

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
    names, workload = service.names, service.workload
    return {
        "pool": {"group": "inference.networking.k8s.io", "name": names.base},
        "serviceHost": f"{service.host(names.base)}:{ROUTED_PORT}",
        "endpointPickerHost": f"{service.host(names.picker)}:{service.picker.port}",
        "roles": {
            "decode": {
                "workload": {"kind": "Deployment", "name": names.decode},
                "scaling": {"type": "fixed", "replicas": workload.replicas},
                "gpus": _gpus(service),
            }
        },
    }


def _gpus(service: ServicePlan) -> dict[str, Any] | None:
    workload = service.workload
    if workload.devices is None:
        return None
    count = workload.devices[1]
    return {
        "class": service.accelerator,
        "vendor": workload.vendor,
        "product": workload.product,
        "perReplica": count,
        "max": count * workload.replicas,
    }
