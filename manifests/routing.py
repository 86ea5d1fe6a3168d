"""How requests reach a service: the routed Service, the HTTPRoute, and the grants that both rest on."""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests import about, awaiting, rbac
from manifests.objects import Rendered, compact, metadata
from planning.ground import labels, parts
from planning.ground.api_groups import GATEWAY_GROUP, POOL_GROUP
from planning.ground.awaiting import SERVICE
from planning.ground.order import Id
from planning.ground.ports import ROUTED_PORT
from planning.plans import InterceptorGrant, ServicePlan, VariantPlan
from planning.routes.records import Match, Mirror, Route, Rule, Timeouts
from planning.variant.canary import ALL


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
        "metadata": about.of(variant, about.MODEL_SERVER, variant.names.base, contract),
        "spec": {"type": "ClusterIP", "selector": labels.routed_selector(variant.names), "ports": [port]},
    }
    return awaiting.awaited(about.rendered(variant, parts.SERVICE, manifest), SERVICE)


def route(service: ServicePlan, wanted: Route) -> Rendered:
    """Render the HTTPRoute to the service's pools."""
    parent, primary = wanted.parent, service.primary
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
        "hostnames": list(wanted.hostnames),
        "rules": [_rule(wanted, rule) for rule in wanted.rules],
    }
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": about.of(primary, about.ROUTE, wanted.name, annotations=wanted.annotations),
        "spec": compact(spec),
    }
    return Rendered(service.route_id, manifest, f"{service.key}-{parts.ROUTE.suffix}")


def _rule(wanted: Route, rule: Rule) -> dict[str, Any]:
    # A weight that is absent means 1, so that 0 is written out, too.
    pool = {"group": POOL_GROUP, "kind": "InferencePool"}
    fields = {
        "matches": [_match(match) for match in rule.matches],
        "filters": list(_filters(wanted, rule)),
        "backendRefs": [{**pool, "name": one.pool, "weight": one.weight} for one in rule.backends],
        "timeouts": _timeouts(wanted.timeouts),
    }
    return compact(fields)


def _match(match: Match) -> dict[str, Any]:
    headers = [{"type": "Exact", "name": name, "value": value} for name, value in match.headers.items()]
    return compact({"path": {"type": "PathPrefix", "value": match.path}, "headers": headers})


def _filters(wanted: Route, rule: Rule) -> Iterator[dict[str, Any]]:
    if rule.prefix is not None:
        rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": rule.prefix}}
        yield {"type": "URLRewrite", "urlRewrite": rewrite}
    if wanted.set_headers or wanted.remove_headers:
        added = [{"name": name, "value": value} for name, value in wanted.set_headers.items()]
        modifier = compact({"set": added, "remove": list(wanted.remove_headers)})
        yield {"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}
    if wanted.mirror is not None:
        yield {"type": "RequestMirror", "requestMirror": _mirror(wanted.mirror, wanted.namespace)}


def _mirror(mirror: Mirror, namespace: str) -> dict[str, Any]:
    """Render who gets copies: a Service, because gateways that mirror to an InferencePool ask no picker, or refuse."""
    backend = {
        "group": "",
        "kind": "Service",
        "name": mirror.name,
        "namespace": None if mirror.namespace == namespace else mirror.namespace,
        "port": ROUTED_PORT,
    }
    referred = {key: value for key, value in backend.items() if value is not None}
    # A percentage that is absent means all of them, in releases of Gateway API that know none, too.
    return {"backendRef": referred, **({} if mirror.percent == ALL else {"percent": mirror.percent})}


def _timeouts(timeouts: Timeouts | None) -> dict[str, str]:
    if timeouts is None:
        return {}
    return compact({"request": timeouts.request, "backendRequest": timeouts.backend_request})


def mirror_grant(service: ServicePlan) -> Rendered:
    """Render what lets routes of other namespaces copy requests to a service."""
    primary = service.primary
    origins = [
        {"group": GATEWAY_GROUP, "kind": "HTTPRoute", "namespace": namespace} for namespace in service.mirrored_from
    ]
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": about.of(primary, about.ROUTE, primary.names.mirror_grant),
        "spec": {"from": origins, "to": [{"group": "", "kind": "Service", "name": primary.names.base}]},
    }
    return Rendered(Id(primary.owner, parts.MIRROR_GRANT), manifest, f"{service.key}-{parts.MIRROR_GRANT.suffix}")


def interceptor(grant: InterceptorGrant, own: Mapping[str, str]) -> tuple[Rendered, ...]:
    """Render what the interceptor may do in the models' namespace."""
    named = metadata(grant.role, grant.namespace, labels.standard(grant.name, "interceptor", own))
    role = rbac.role(named, grant.rules)
    binding = rbac.role_binding(named, grant.role, [rbac.subject(grant.service_account, grant.subject_namespace)])
    return tuple(
        Rendered(Id(grant.owner, part), manifest, f"{grant.namespace}-{part.suffix}")
        for part, manifest in ((parts.INTERCEPTOR_ROLE, role), (parts.INTERCEPTOR_ROLE_BINDING, binding))
    )
