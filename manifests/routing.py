"""How requests reach a service: the routed Service, the HTTPRoute, and the grant that lets the interceptor look."""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests import about, rbac
from manifests.objects import Rendered, compact, metadata
from planning import labels
from planning.names import LONGEST, shortened
from planning.order import Id, Part
from planning.picker.plan import POOL_GROUP
from planning.stack import GATEWAY_GROUP, ROUTED_PORT, InterceptorGrant, Route, ServicePlan, VariantPlan

SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
"""A Service's wait is for endpoints, which come with the pods that are waited for anyway."""


def routed_service(variant: VariantPlan) -> Rendered:
    """Render the Service of a variant; the service's own carries the routing contract.

    The *name* of its port is what the interceptor reads.
    """
    contract = {} if variant.resource_id is None else labels.routing_contract(variant.resource_id)
    port = {
        "name": str(ROUTED_PORT),
        "port": ROUTED_PORT,
        "targetPort": variant.port,
        "protocol": "TCP",
        "appProtocol": "http",
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": about.of(variant, about.MODEL_SERVER, variant.names.base, contract, SKIP_AWAIT),
        "spec": {"type": "ClusterIP", "selector": labels.routed_selector(variant.names), "ports": [port]},
    }
    return Rendered(Id(variant.owner, Part.SERVICE), manifest, "service")


def route(service: ServicePlan, wanted: Route) -> Rendered:
    """Render the HTTPRoute to the service's pools, its prefix rewritten to `/`."""
    parent, primary = wanted.parent, service.primary
    parent_ref = {
        "group": GATEWAY_GROUP,
        "kind": "Gateway",
        "name": parent.name,
        "namespace": wanted.parent_namespace,
        "sectionName": parent.section_name,
        "port": parent.port,
    }
    rules = [_rule(wanted.path, headers, backends) for headers, backends in _shares(service)]
    spec = {"parentRefs": [compact(parent_ref)], "hostnames": list(wanted.hostnames), "rules": rules}
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": about.of(primary, about.ROUTE, primary.names.base),
        "spec": compact(spec),
    }
    others = tuple(one.owner for one in service.variants[1:])
    return Rendered(Id(primary.owner, Part.ROUTE), manifest, f"{service.key}-route", with_parts_of=others)


def _shares(service: ServicePlan) -> Iterator[tuple[Mapping[str, str], Mapping[str, int]]]:
    """Yield which requests, by their headers, go to which pools, by weight; the more exact match comes first."""
    primary, canary = service.primary.names.pool, service.canary
    if canary is None:
        yield {}, {primary: 1}
        return
    if service.share.headers:
        yield service.share.headers, {canary.names.pool: 1}
    # A weight that is absent means 1, so that 0 is written out, too.
    yield {}, {primary: service.share.primary, canary.names.pool: service.share.canary}


def _rule(path: str, headers: Mapping[str, str], backends: Mapping[str, int]) -> dict[str, Any]:
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
    matched = [{"type": "Exact", "name": name, "value": value} for name, value in headers.items()]
    pool = {"group": POOL_GROUP, "kind": "InferencePool"}
    return {
        "matches": [compact({"path": {"type": "PathPrefix", "value": path}, "headers": matched})],
        "filters": [{"type": "URLRewrite", "urlRewrite": rewrite}],
        "backendRefs": [{**pool, "name": name, "weight": weight} for name, weight in backends.items()],
    }


def interceptor(grant: InterceptorGrant, own: Mapping[str, str]) -> tuple[Rendered, Rendered]:
    """Render what the interceptor may do: get and list Services, in the models' namespace alone."""
    name = f"{grant.service_account}-services"
    called = shortened(grant.service_account, LONGEST)
    named = metadata(name, grant.namespace, labels.standard(called, "interceptor", own))
    role = rbac.role(named, [{"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]}])
    binding = rbac.role_binding(named, name, [rbac.subject(grant.service_account, grant.subject_namespace)])
    return (
        Rendered(Id(grant.namespace, Part.INTERCEPTOR_ROLE), role, f"{grant.namespace}-interceptor-role"),
        Rendered(Id(grant.namespace, Part.INTERCEPTOR_ROLE_BINDING), binding, f"{grant.namespace}-interceptor-binding"),
    )
