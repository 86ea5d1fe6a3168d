"""How requests come to a service: pool, Services, route and gateway, and who bills them."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.invariants.facts import POOL_GROUP
from tests.invariants.wishes import Wish
from tests.invariants.world import World, reference, same, subject


def the_pool_reaches_engine_and_picker(world: World) -> Iterator[str]:
    spec = world.get("InferencePool", world.wish.pool)["spec"]
    yield from same("pool ports", spec["targetPorts"], [{"number": world.wish.port}])
    port = world.wish.say("endpointPicker", "port", default=9002)
    expected = {
        "group": "",
        "kind": "Service",
        "name": world.wish.picker,
        "port": {"number": port},
        "failureMode": world.wish.say("endpointPicker", "failureMode", default="FailClose"),
    }
    typed = "vllmgrpc-parser" in str(world.wish.say("endpointPicker", "config"))
    yield from same("pool's protocol", spec.get("appProtocol"), "kubernetes.io/h2c" if typed else None)
    yield from same("pool's picker", spec["endpointPickerRef"], expected)
    service = world.get("Service", world.wish.picker)["spec"]
    ext_proc = {"name": "grpc-ext-proc", "port": port, "targetPort": port, "appProtocol": "kubernetes.io/h2c"}
    metrics = {"name": "http-metrics", "port": 9090, "targetPort": 9090}
    yield from same("picker Service", service["ports"], [one | {"protocol": "TCP"} for one in (ext_proc, metrics)])
    yield from same("picker Service type", service["type"], "ClusterIP")


def the_pools_port_is_open_on_every_pod_that_it_finds(world: World) -> Iterator[str]:
    for pods in world.pods:
        if pods.serves:
            ports = [port["containerPort"] for one in [*pods.sidecars, pods.engine] for port in one["ports"]]
            yield from same(f"{pods.name} ports", len(set(ports)), len(ports))
            if world.wish.port not in ports:
                yield f"{pods.name} does not listen on the pool's port"


def the_routed_service_has_the_port_that_the_interceptor_looks_for(world: World) -> Iterator[str]:
    service = world.get("Service", world.wish.base)
    port = {
        "name": "8000",
        "port": 8000,
        "targetPort": world.wish.port,
        "protocol": "TCP",
        "appProtocol": "http",
    }
    yield from same("ports", service["spec"]["ports"], [port])
    yield from same("type", service["spec"]["type"], "ClusterIP")


def the_interceptor_may_get_and_list_services_and_nothing_else(world: World) -> Iterator[str]:
    wanted = world.wish.stack.get("interceptor")
    wish = world.wish
    if wanted is None or wish.is_canary or not wish.say("interceptor", "enabled", default=True):
        return
    account = wanted.get("serviceAccountName", "phoebe-interceptor")
    role = world.get("Role", f"{account}-services")
    binding = world.get("RoleBinding", f"{account}-services")
    rule = {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list"]}
    yield from same("interceptor's rules", role["rules"], [rule])
    yield from same("interceptor's subjects", binding["subjects"], [subject(account, wanted["namespace"])])
    yield from same("interceptor's role", binding["roleRef"], reference("Role", f"{account}-services"))


def the_route_leads_to_the_pools(world: World) -> Iterator[str]:
    place = ("HTTPRoute", world.wish.base, world.wish.namespace)
    if world.wish.is_canary or place not in world.index:
        return
    gateway = world.wish.stack["gateway"]
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": world.wish.stack["namespace"]}
    parent |= {key: value for key, value in gateway.items() if key != "provider"}
    hostnames = world.wish.say("route", "hostnames", default=[])
    expected = {"parentRefs": [parent], "rules": list(_rules(world.wish))}
    expected |= {"hostnames": hostnames} if hostnames else {}
    yield from same("route", world.index[place]["spec"], expected)


def _rules(wish: Wish) -> Iterator[dict[str, Any]]:
    """Yield whom all requests go to; before it, where a canary wants some by their headers, whom those go to."""
    primary, *others = wish.variants
    if not others:
        yield _rule(wish, [], {primary.pool: 1})
        return
    (tried,) = others
    wanted = sorted(tried.say("headers", default={}).items())
    if wanted:
        headers = [{"type": "Exact", "name": name, "value": value} for name, value in wanted]
        yield _rule(wish, headers, {tried.pool: 1})
    percent = tried.say("weight")
    yield _rule(wish, [], {primary.pool: 100 - percent, tried.pool: percent})


def _rule(wish: Wish, headers: list[Any], weights: Mapping[str, int]) -> dict[str, Any]:
    match = {"path": {"type": "PathPrefix", "value": f"/{wish.namespace}/{wish.service}"}}
    rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}
    pool = {"group": POOL_GROUP, "kind": "InferencePool"}
    return {
        "matches": [match | ({"headers": headers} if headers else {})],
        "filters": [{"type": "URLRewrite", "urlRewrite": rewrite}],
        "backendRefs": [pool | {"name": name, "weight": weight} for name, weight in weights.items()],
    }


def istio_speaks_tls_to_the_ext_proc_port_alone(world: World) -> Iterator[str]:
    place = ("DestinationRule", world.wish.picker, world.wish.namespace)
    if place not in world.index:
        return
    domain = world.wish.stack.get("cluster", {}).get("domain", "cluster.local")
    host = f"{world.wish.picker}.{world.wish.namespace}.svc.{domain}"
    authority = world.wish.picker_tls.get("caSecret")
    trust = {"credentialName": authority, "subjectAltNames": [host]} if authority else {"insecureSkipVerify": True}
    tls = {"mode": "SIMPLE", **trust}
    settings = [{"port": {"number": world.wish.say("endpointPicker", "port", default=9002)}, "tls": tls}]
    expected = {"host": host, "trafficPolicy": {"portLevelSettings": settings}}
    yield from same("destination rule", world.index[place]["spec"], expected)
