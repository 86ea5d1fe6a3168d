"""Routing to a service: the routed Service, the HTTPRoute, the ConfigMap of model names, and the grant for mirrors."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from manifests import about, awaiting
from manifests.objects import Rendered, compact, sort_keys
from planning.ground import gateways, labels, parts
from planning.ground.api_groups import GATEWAY_GROUP, POOL_GROUP
from planning.ground.awaiting import SERVICE
from planning.ground.order import Id
from planning.ground.ports import ROUTED_PORT
from planning.plans import ServicePlan, VariantPlan
from planning.routes.records import Match, Mirror, ModelNames, PlannedRoute, RouteBackend, RouteRule, TimeLimits
from planning.variant.canary import ALL


def routed_service(variant: VariantPlan) -> Rendered:
    """Render the routed Service of a variant.

    The Service of a metered primary has the labels by which the interceptor finds the Service. The interceptor finds
    the port of the Service by the port's name.
    """
    contract: dict[str, str] = {}
    annotations: dict[str, str] = {}
    if variant.search_id is not None:
        contract = labels.routing_contract(variant.search_id)
        annotations = {labels.SERVICE_KEY: variant.key}
    port = {
        "name": str(ROUTED_PORT),
        "port": ROUTED_PORT,
        "targetPort": variant.port,
        "protocol": "TCP",
        "appProtocol": "http",
    }
    selector = labels.routed_selector(variant.names, is_divided=variant.is_divided)
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": about.metadata(variant, about.MODEL_SERVER, variant.names.base, contract, annotations),
        "spec": {"type": "ClusterIP", "selector": selector, "ports": [port]},
    }
    rendered = about.part_object(variant, parts.SERVICE, manifest)
    rendered = replace(rendered, delete_first=variant.search_id is not None)
    return awaiting.with_wait(rendered, SERVICE)


def route(service: ServicePlan, plan: PlannedRoute) -> Rendered:
    """Render the HTTPRoute of a service. The backends of the route are pools or Services."""
    parent = plan.parent
    parent_ref = {
        "group": parent.group,
        "kind": parent.kind,
        "name": parent.name,
        "namespace": parent.namespace,
        "sectionName": parent.section_name,
        "port": parent.port,
    }
    spec = {
        "parentRefs": [compact(parent_ref)],
        "hostnames": list(plan.hostnames),
        "rules": [_rule(plan, rule) for rule in plan.rules],
    }
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": about.metadata(service.primary, about.ROUTE, plan.name, annotations=plan.annotations),
        "spec": compact(spec),
    }
    return Rendered(service.route_id, manifest, f"{service.key}-{parts.ROUTE.suffix}")


def _rule(plan: PlannedRoute, rule: RouteRule) -> dict[str, Any]:
    fields = {
        "matches": [_match(match) for match in rule.matches],
        "filters": list(_filters(plan, rule)),
        "backendRefs": [_backend(backend) for backend in rule.backends],
        "timeouts": _timeouts(plan.timeouts),
    }
    return compact(fields)


def _backend(backend: RouteBackend) -> dict[str, Any]:
    # The weight is always written, even a weight of 0, because an absent weight means 1.
    if backend.port is None:
        return {"group": POOL_GROUP, "kind": "InferencePool", "name": backend.name, "weight": backend.weight}
    service = {"group": "", "kind": "Service", "name": backend.name, "namespace": backend.namespace}
    return compact({**service, "port": backend.port, "weight": backend.weight})


def _match(match: Match) -> dict[str, Any]:
    headers = [{"type": "Exact", "name": name, "value": value} for name, value in match.headers.items()]
    return compact({"path": {"type": "PathPrefix", "value": match.path}, "headers": headers})


def _filters(plan: PlannedRoute, rule: RouteRule) -> Iterator[dict[str, Any]]:
    if rule.prefix is not None:
        rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": rule.prefix}}
        yield {"type": "URLRewrite", "urlRewrite": rewrite}
    set_headers = sort_keys({**plan.set_headers, **rule.set_headers})
    if set_headers or plan.remove_headers:
        added = [{"name": name, "value": value} for name, value in set_headers.items()]
        modifier = compact({"set": added, "remove": list(plan.remove_headers)})
        yield {"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}
    if plan.mirror is not None:
        yield {"type": "RequestMirror", "requestMirror": _mirror(plan.mirror, plan.namespace)}


def _mirror(mirror: Mirror, namespace: str) -> dict[str, Any]:
    """Render a mirror to a Service. A mirror to an InferencePool would bypass the pool's picker, or fail."""
    backend: dict[str, Any] = {"group": "", "kind": "Service", "name": mirror.name}
    if mirror.namespace != namespace:
        backend["namespace"] = mirror.namespace
    rendered: dict[str, Any] = {"backendRef": {**backend, "port": ROUTED_PORT}}
    # `percent: 100` is left out: it is the default, and older releases of the Gateway API do not have the field.
    if mirror.percent != ALL:
        rendered["percent"] = mirror.percent
    return rendered


def _timeouts(timeouts: TimeLimits | None) -> dict[str, str]:
    if timeouts is None:
        return {}
    return compact({"request": timeouts.request, "backendRequest": timeouts.backend_request})


def model_names(service: ServicePlan, names: ModelNames) -> Rendered:
    """Render the ConfigMap from which payload processors learn the names of the service's models."""
    primary = service.primary
    managed = dict.fromkeys(gateways.payload_processors().labels, "true")
    data = {"baseModel": names.base}
    if names.others:
        # Processors read the value of `adapters` as YAML, which includes JSON.
        data["adapters"] = json.dumps(names.others)
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": about.metadata(primary, about.ROUTE, primary.names.model_names, managed),
        "data": compact(data),
    }
    return Rendered(Id(primary.owner, parts.MODEL_NAMES), manifest, f"{service.key}-{parts.MODEL_NAMES.suffix}")


def mirror_grant(service: ServicePlan) -> Rendered:
    """Render the grant that permits routes of other namespaces to mirror requests to a service."""
    primary = service.primary
    sources = [
        {"group": GATEWAY_GROUP, "kind": "HTTPRoute", "namespace": namespace} for namespace in service.mirrored_from
    ]
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": about.metadata(primary, about.ROUTE, primary.names.mirror_grant),
        "spec": {"from": sources, "to": [{"group": "", "kind": "Service", "name": primary.names.base}]},
    }
    return Rendered(Id(primary.owner, parts.MIRROR_GRANT), manifest, f"{service.key}-{parts.MIRROR_GRANT.suffix}")
