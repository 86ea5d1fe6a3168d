"""How requests reach a service: the routed Service, the HTTPRoute, and the grant that lets the interceptor look."""

from collections.abc import Mapping

from manifests import rbac
from manifests.objects import Rendered, compact, metadata
from planning import labels
from planning.names import LONGEST, shortened
from planning.order import Id, Part
from planning.picker import POOL_GROUP
from planning.stack import GATEWAY_GROUP, ROUTED_PORT, InterceptorGrant, Route, ServicePlan

SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
"""A Service's wait is for endpoints, which come with the pods that are waited for anyway."""


def routed_service(service: ServicePlan) -> Rendered:
    """Render the one Service that carries the routing contract; its port's *name* is what the interceptor reads."""
    contract = {} if service.resource_id is None else labels.routing_contract(service.resource_id)
    own = labels.standard(service.names.base, "model-server", service.own_labels)
    port = {
        "name": str(ROUTED_PORT),
        "port": ROUTED_PORT,
        "targetPort": service.port,
        "protocol": "TCP",
        "appProtocol": "http",
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(
            service.names.base,
            service.names.namespace,
            {**own, **contract},
            {**service.own_annotations, **SKIP_AWAIT},
        ),
        "spec": {
            "type": "ClusterIP",
            "selector": labels.role_selector(service.names.base, labels.DECODE),
            "ports": [port],
        },
    }
    return Rendered(Id(service.key, Part.SERVICE), manifest, "service")


def route(service: ServicePlan, wanted: Route) -> Rendered:
    """Render the HTTPRoute to the service's pool, its prefix rewritten to `/`."""
    parent, names = wanted.parent, service.names
    own = labels.standard(names.base, "route", service.own_labels)
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": wanted.path}}],
        "filters": [{"type": "URLRewrite", "urlRewrite": rewrite}],
        "backendRefs": [{"group": POOL_GROUP, "kind": "InferencePool", "name": names.base, "weight": 1}],
    }
    parent_ref = {
        "group": GATEWAY_GROUP,
        "kind": "Gateway",
        "name": parent.name,
        "namespace": wanted.parent_namespace,
        "sectionName": parent.section_name,
        "port": parent.port,
    }
    spec = {"parentRefs": [compact(parent_ref)], "hostnames": list(wanted.hostnames), "rules": [rule]}
    manifest = {
        "apiVersion": f"{GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": metadata(names.base, names.namespace, own, service.own_annotations),
        "spec": compact(spec),
    }
    return Rendered(Id(service.key, Part.ROUTE), manifest, f"{service.key}-route")


def interceptor(grant: InterceptorGrant, own: Mapping[str, str]) -> tuple[Rendered, Rendered]:
    """Render what the interceptor may do: get and list Services, in the models' namespace alone."""
    name = f"{grant.service_account}-services"
    called = shortened(grant.service_account, LONGEST)
    about = metadata(name, grant.namespace, labels.standard(called, "interceptor", own))
    role = rbac.role(about, [{"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]}])
    binding = rbac.role_binding(about, name, [rbac.subject(grant.service_account, grant.subject_namespace)])
    return (
        Rendered(Id(grant.namespace, Part.INTERCEPTOR_ROLE), role, f"{grant.namespace}-interceptor-role"),
        Rendered(Id(grant.namespace, Part.INTERCEPTOR_ROLE_BINDING), binding, f"{grant.namespace}-interceptor-binding"),
    )
