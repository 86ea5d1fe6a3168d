"""Outputs of a stack, which other repositories read: plain JSON with sorted arrays.

Within a version of the contract, keys may be added, but not removed. The outputs are true at the end of a run, because
they are exported only after all awaited objects are ready. A service is `ready` only if all that a request needs is
awaited.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from models.pins import Pin
from planning import bill, money
from planning.ground import contract
from planning.ground.api_groups import POOL_GROUP
from planning.ground.ports import HTTP_PORT, HTTPS_PORT, ROUTED_PORT
from planning.interceptor import InterceptorPlan
from planning.plans import ServicePlan, StackPlan, VariantPlan
from planning.routes.records import PlannedRoute
from planning.serving.workload import Workload

_DIGEST = "sha256:"
_SCHEMES = {HTTP_PORT: "http", HTTPS_PORT: "https"}
"""URL scheme by the port of the gateway's listener. For other ports the scheme is unknown, and there are no URLs."""


def of_stack(plan: StackPlan, facts_digest: str | None, awaited: Collection[str] = ()) -> contract.Outputs:
    """Return the outputs of a stack.

    `facts_digest` is the digest of the cluster facts that the stack depends on; None if these facts are unknown.
    `awaited` holds the keys of the services whose routes the run waits for.
    """
    return {
        "contractVersion": contract.VERSION,
        "release": plan.release,
        "factsDigest": facts_digest,
        "services": {
            service.key: _service(service, plan, with_route=service.key in awaited) for service in plan.services
        },
    }


def _service(service: ServicePlan, plan: StackPlan, *, with_route: bool) -> contract.Service:
    route = service.route
    primary = service.primary
    unseen = list(_unseen(service, plan, with_route=with_route))
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
        "profile": next((_profiles(primary).get(workload.role) for workload in primary.destinations), None),
        "interceptor": _interceptor(primary, plan.interceptor),
        "bill": _bill(service, plan),
        "awaited": sorted(_awaited_kinds(service, with_route=with_route)),
        "ready": not unseen,
        "message": "; ".join(unseen),
        "warnings": sorted(
            str(replace(warning, path=warning.path.below(primary.path))) for warning in plan.warnings_of(service.key)
        ),
    }


def _awaited_kinds(service: ServicePlan, *, with_route: bool) -> Iterator[contract.Awaited]:
    """Yield the kinds of objects that a run waits for.

    The pool is awaited with the picker, because a picker is ready only after its pool exists. If a workload has an
    autoscaler, `replicas` is left out, because the autoscaler may change the number of replicas later.
    """
    if service.workloads:
        yield "workload"
    if any(variant.endpoint_picker is not None for variant in service.variants):
        yield from ("endpointPicker", "pool")
    if service.workloads and all(workload.autoscaler is None for workload in service.workloads):
        yield "replicas"
    if with_route:
        yield "route"


def _unseen(service: ServicePlan, plan: StackPlan, *, with_route: bool) -> Iterator[str]:
    """Yield what a request needs and a run that succeeds does not see."""
    shares = [(service.primary, service.share.primary), (service.canary, service.share.canary)]
    for variant, weight in shares:
        if variant is not None and weight:
            yield from _missing_pods(variant)
    route = service.route
    if route is None:
        return
    if not with_route:
        gateway = f"{route.parent.namespace}/{route.parent.name}"
        yield f"the route was not awaited, because no controller was known to have accepted {gateway}"
    is_foreign = plan.interceptor is not None and plan.interceptor.deployment is None
    if service.primary.metered_as is not None and is_foreign:
        yield "requests pass an interceptor that another program deploys"


def _missing_pods(variant: VariantPlan) -> Iterator[str]:
    """Yield why a variant may be without pods that answer after a run that succeeds.

    If some of several sets surely have pods, nothing is missing.
    """
    if variant.existing_pool is not None:
        yield f"somebody else made the pool {variant.existing_pool}, which was not awaited"
        return
    if variant.existing_pods is not None:
        text = ", ".join(f"{key}={value}" for key, value in sorted(variant.existing_pods.match_labels.items()))
        yield f"somebody else runs the pods, which were not awaited ({text})"
        return
    reasons = list[str]()
    for workload in variant.destinations:
        autoscaler = workload.autoscaler
        if autoscaler is None and not workload.max_replicas:
            reasons.append(f"{workload.name} has no replicas, as the configuration states")
        if autoscaler is not None and not autoscaler.min_replicas:
            reasons.append(f"{workload.name} may have been scaled to zero")
    if len(reasons) == len(variant.destinations):
        yield from reasons


def _canary(variant: VariantPlan, weight: int) -> contract.Canary:
    return {**_variant(variant), "weight": weight, "model": _model(variant)}


def _model(variant: VariantPlan) -> contract.Model:
    _, _, version = variant.source.partition("@")
    is_digest = version.startswith(_DIGEST)
    return {
        "name": variant.model,
        "source": variant.source,
        "digest": version if is_digest else None,
        "revision": None if is_digest else version or None,
        "locked": _lock_output(variant.pins[variant.model]) if variant.model in variant.pins else None,
        "lockedAdapters": {name: _lock_output(pin) for name, pin in variant.pins.items() if name != variant.model},
    }


def _lock_output(pin: Pin) -> contract.Locked:
    return {"source": pin.source, "digest": pin.digest}


def _urls(route: PlannedRoute | None) -> list[str]:
    if route is None or route.parent.port not in _SCHEMES:
        return []
    scheme = _SCHEMES[route.parent.port]
    hosts = [host for host in route.hostnames if not host.startswith("*")]
    return sorted(f"{scheme}://{host}{path}" for host in hosts for path in route.paths)


def _gateway(route: PlannedRoute | None) -> contract.Gateway | None:
    if route is None:
        return None
    parent = route.parent
    return {"name": parent.name, "namespace": parent.namespace, "sectionName": parent.section_name}


def _interceptor(variant: VariantPlan, interceptor: InterceptorPlan | None) -> contract.Interceptor | None:
    if variant.metered_as is None or interceptor is None:
        return None
    return {"mode": interceptor.mode, "layout": "service", "resourceId": variant.metered_as}


def _bill(service: ServicePlan, plan: StackPlan) -> contract.Bill:
    cost = bill.of_service(service, plan)
    amounts: contract.Amounts | None = None
    if not cost.unpriced:
        amounts = {"low": money.cents(cost.low), "high": money.cents(cost.high)}
    return {
        "hours": money.HOURS,
        "deviceHours": {
            name: {"low": part.low * money.HOURS, "high": part.high * money.HOURS}
            for name, part in bill.by_class(service).items()
        },
        "currency": plan.prices.currency,
        "cost": amounts,
        "unpriced": list(cost.unpriced),
    }


def _variant(variant: VariantPlan) -> contract.Variant:
    names = variant.names
    picker = variant.endpoint_picker
    return {
        "release": variant.release,
        "pool": {"group": POOL_GROUP, "name": names.pool} if picker or variant.existing_pool else None,
        "objectives": sorted(objective.name for objective in variant.requests.objectives),
        "serviceHost": f"{variant.host(names.base)}:{ROUTED_PORT}" if variant.existing_pool is None else "",
        "endpointPickerHost": None if picker is None else f"{variant.host(names.picker)}:{picker.port}",
        "proxyHost": _proxy_host(variant),
        "roles": {
            workload.role: _role(workload, variant.accelerators[workload.role]) for workload in variant.workloads
        },
        "profiles": _profiles(variant),
        "patched": sorted(_patched_parts(variant)),
    }


def _patched_parts(variant: VariantPlan) -> Iterator[str]:
    """Yield the parts of a variant whose objects a patch of the user changes."""
    yield from (workload.role for workload in variant.workloads if workload.patch)
    if variant.endpoint_picker is not None and variant.endpoint_picker.patch:
        yield "endpointPicker"


def _proxy_host(variant: VariantPlan) -> str | None:
    if variant.endpoint_picker is None or variant.endpoint_picker.proxy is None:
        return None
    return f"{variant.host(variant.names.proxy)}:{variant.endpoint_picker.proxy.service_port}"


def _profiles(variant: VariantPlan) -> dict[str, contract.Profile]:
    return {
        role: {
            "id": profile.id,
            "reasons": list(profile.reasons),
            "source": profile.source,
            "locked": profile.is_locked,
        }
        for role, profile in variant.profiles.items()
    }


def _role(workload: Workload, accelerator: str) -> contract.Role:
    return {
        "workload": {"kind": workload.kind, "name": workload.name},
        "scaling": _scaling(workload),
        "gpus": _gpus(workload, accelerator),
    }


def _scaling(workload: Workload) -> contract.Fixed | contract.Autoscaled:
    autoscaler = workload.autoscaler
    if autoscaler is None:
        return {"type": "fixed", "replicas": workload.max_replicas}
    return {"type": autoscaler.type, "minReplicas": autoscaler.min_replicas, "maxReplicas": autoscaler.max_replicas}


def _gpus(workload: Workload, accelerator: str) -> contract.Gpus | None:
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
