"""How requests come to a service: pool, Services, route and gateway, and who bills them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.contracts.invariants import metering
from tests.contracts.invariants.facts import BASE_MODEL, CONFIG_GROUPS, POOL_GROUP
from tests.contracts.invariants.variants import Variant
from tests.contracts.invariants.world import Place, World, same


def the_pool_reaches_engine_and_picker(world: World) -> Iterator[str]:
    spec = world.get("InferencePool", world.variant.pool)["spec"]
    yield from same("pool ports", spec["targetPorts"], [{"number": port} for port in world.variant.ports])
    port = world.variant.say("endpointPicker", "port", default=9002)
    expected = {
        "group": "",
        "kind": "Service",
        "name": world.variant.picker,
        "port": {"number": port},
        "failureMode": world.variant.say("endpointPicker", "failureMode", default="FailClose"),
    }
    typed = "vllmgrpc-parser" in str(world.variant.say("endpointPicker", "config"))
    yield from same("pool's protocol", spec.get("appProtocol"), "kubernetes.io/h2c" if typed else None)
    yield from same("pool's picker", spec["endpointPickerRef"], expected)
    service = world.get("Service", world.variant.picker)["spec"]
    ext_proc = {"name": "grpc-ext-proc", "port": port, "targetPort": port, "appProtocol": "kubernetes.io/h2c"}
    metrics = {"name": "http-metrics", "port": 9090, "targetPort": 9090}
    yield from same(
        "picker Service", service["ports"], [service_port | {"protocol": "TCP"} for service_port in (ext_proc, metrics)]
    )
    yield from same("picker Service type", service["type"], "ClusterIP")


def the_pools_ports_are_open_on_every_pod_that_it_finds(world: World) -> Iterator[str]:
    for pods in world.pods:
        if pods.serves:
            ports = [
                port["containerPort"] for container in [*pods.sidecars, pods.engine] for port in container["ports"]
            ]
            yield from same(f"{pods.name} ports", len(set(ports)), len(ports))
            statement = (
                pods.template["metadata"]
                .get("annotations", {})
                .get("llm-d.ai/active-ports", str(world.variant.ports)[1:-1])
            )
            for port in map(int, statement.split(",")):
                if port not in ports:
                    yield f"{pods.name} does not listen on the pool's port {port}"


def the_routed_service_has_the_port_that_the_interceptor_looks_for(world: World) -> Iterator[str]:
    """See phoebe 3.4, 7.1."""
    if world.variant.existing_pool is not None:
        return
    service = world.get("Service", world.variant.base)
    port = {
        "name": "8000",
        "port": 8000,
        "targetPort": world.variant.port,
        "protocol": "TCP",
        "appProtocol": "http",
    }
    yield from same("ports", service["spec"]["ports"], [port])
    yield from same("type", service["spec"]["type"], "ClusterIP")


def places(variant: Variant) -> Iterator[Place]:
    """Yield where the objects are that lead requests to a variant."""
    space = variant.namespace
    if variant.is_routed and not variant.is_canary:
        yield "HTTPRoute", variant.base, space
    if not variant.is_canary and _mirrors(variant):
        yield "ReferenceGrant", f"{variant.base}-mirror", space
    if not variant.is_canary and _bodies(variant):
        yield "ConfigMap", f"{variant.base}-models", space
    yield from (("InferenceObjective", name, space) for name in variant.objectives)
    if variant.whole.get("rewrites") and variant.existing_pool is not None:
        yield "InferenceModelRewrite", variant.base, space
    elif variant.picked and variant.whole.get("rewrites"):
        yield "InferenceModelRewrite", variant.pool, space


def _bodies(variant: Variant) -> list[str]:
    """Return the models by which the bodies of requests ask for a service."""
    return [
        match["model"]
        for match in variant.say("route", "matches", default=[])
        if "model" in match and variant.is_routed
    ]


def labels(variant: Variant, place: Place) -> dict[str, str]:
    """Return the labels by which payload processors find the names of models."""
    if place[:2] != ("ConfigMap", f"{variant.base}-models"):
        return {}
    return {"inference.networking.k8s.io/bbr-managed": "true", "inference.llm-d.ai/ipp-managed": "true"}


def a_payload_processor_knows_every_name_of_the_model(world: World) -> Iterator[str]:
    variant = world.variant
    if variant.is_canary or not _bodies(variant):
        return
    data = world.get("ConfigMap", f"{variant.base}-models")["data"]
    yield from same("base model", [data["baseModel"]] * len(_bodies(variant)), _bodies(variant))
    aliases = [rewrite["model"] for rewrite in variant.whole.get("rewrites", [])]
    names = {*aliases, *variant.say("model", "lora", "adapters", default={})}
    yield from same("other names", yaml.load(data.get("adapters", "[]"), yaml.CSafeLoader), sorted(names))


def _mirrors(variant: Variant) -> set[str]:
    """Return the other namespaces that copy requests to a service."""
    every = [Variant(variant.stack, key) for key in variant.stack["services"]]
    return {other.namespace for other in every if other.mirrored and other.mirrored.key == variant.key} - {
        variant.namespace
    }


def the_route_leads_to_the_pools(world: World) -> Iterator[str]:
    variant = world.variant
    if variant.is_canary or not variant.is_routed:
        return
    parent = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": variant.stack["namespace"]}
    parent |= {key: value for key, value in variant.gateway.items() if key not in {"provider", "version", "bodyRouter"}}
    hostnames = variant.say("route", "hostnames", default=[])
    expected = {"parentRefs": [parent], "rules": list(_rules(variant))}
    expected |= {"hostnames": hostnames} if hostnames else {}
    yield from same("route", world.get("HTTPRoute", variant.base)["spec"], expected)


def _rules(variant: Variant) -> Iterator[dict[str, Any]]:
    """Yield whom each path's requests go to, those that are not rewritten together and last."""
    prefix = variant.say("route", "replacePrefixMatch", default="/")
    named = [{"path": "/{.metadata.namespace}/{.metadata.name}"}]
    matches = [
        (_path(variant, match.get("path", "/")), _headers(match))
        for match in variant.say("route", "matches", default=named)
    ]
    for path, headers in matches:
        if path != prefix:
            yield from _shared(variant, [(path, headers)], prefix)
    if rest := [(path, headers) for path, headers in matches if path == prefix]:
        yield from _shared(variant, rest, None)


def _path(variant: Variant, template: str) -> str:
    """Return a path of names and labels, as one would read it aloud."""
    known = {".metadata.namespace": variant.namespace, ".metadata.name": variant.service}
    known |= {f".metadata.labels['{key}']": value for key, value in variant.variants[0].labels.items()}
    known[".spec.model.name"] = variant.variants[0].served
    for place, value in known.items():
        template = template.replace(f"{{{place}}}", re.sub("[^a-z0-9]", "-", value.lower()))
    return template


def _headers(match: Mapping[str, Any]) -> dict[str, str]:
    return match.get("headers", {}) | ({BASE_MODEL: match["model"]} if "model" in match else {})


def _shared(variant: Variant, matches: list[Any], prefix: str | None) -> Iterator[dict[str, Any]]:
    """Yield whom all requests go to; before it, where a canary wants some by their headers, whom those go to."""
    primary, *others = variant.variants
    if not others:
        yield _rule(variant, matches, [(primary, 1)], prefix)
        return
    (canary,) = others
    if canary_headers := canary.say("headers", default={}):
        yield _rule(variant, [(path, headers | canary_headers) for path, headers in matches], [(canary, 1)], prefix)
    percent = canary.say("weight")
    if metering.billed(variant) is None:
        yield _rule(variant, matches, [(canary, percent), (primary, 100 - percent)], prefix)
    else:
        yield _rule(variant, matches, [(canary if percent else primary, 1)], prefix)


def _rule(
    variant: Variant, matches: list[Any], weights: list[tuple[Variant, int]], prefix: str | None
) -> dict[str, Any]:
    timeouts, filters = variant.say("route", "timeouts", default={}), [*_filters(variant, prefix, weights[0][0])]
    rule = {
        "matches": [_match(path, headers) for path, headers in matches],
        "backendRefs": [_backend(target) | {"weight": weight} for target, weight in weights],
    }
    return rule | ({"filters": filters} if filters else {}) | ({"timeouts": timeouts} if timeouts else {})


def _backend(variant: Variant) -> dict[str, Any]:
    if metering.billed(variant) is not None:
        return metering.backend(variant)
    if variant.picked or variant.existing_pool is not None:
        return {"group": POOL_GROUP, "kind": "InferencePool", "name": variant.pool}
    return {"group": "", "kind": "Service", "name": variant.base, "port": 8000}


def _match(path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    exact = [{"type": "Exact", "name": name, "value": value} for name, value in sorted(headers.items())]
    return {"path": {"type": "PathPrefix", "value": path}} | ({"headers": exact} if exact else {})


def _filters(variant: Variant, prefix: str | None, target: Variant) -> Iterator[dict[str, Any]]:
    if prefix is not None:
        rewrite = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": prefix}}
        yield {"type": "URLRewrite", "urlRewrite": rewrite}
    set_headers, removed = metering.changes(target)
    set_headers |= variant.say("route", "setHeaders", default={})
    added = [{"name": name, "value": value} for name, value in sorted(set_headers.items())]
    taken = [*variant.say("route", "removeHeaders", default=[]), *removed]
    if added or taken:
        change = ({"set": added} if added else {}) | ({"remove": taken} if taken else {})
        yield {"type": "RequestHeaderModifier", "requestHeaderModifier": change}
    if (other := variant.mirrored) is not None:
        service = {"group": "", "kind": "Service", "name": other.base, "port": 8000}
        service |= {} if other.namespace == variant.namespace else {"namespace": other.namespace}
        percent = variant.say("route", "mirror", "percent", default=100)
        yield {
            "type": "RequestMirror",
            "requestMirror": {"backendRef": service} | ({} if percent == 100 else {"percent": percent}),
        }


def who_copies_requests_from_another_namespace_is_let(world: World) -> Iterator[str]:
    spaces = _mirrors(world.variant)
    if world.variant.is_canary or not spaces:
        return
    gateway_group = "gateway.networking.k8s.io"
    expected = {
        "from": [{"group": gateway_group, "kind": "HTTPRoute", "namespace": space} for space in sorted(spaces)],
        "to": [{"group": "", "kind": "Service", "name": world.variant.base}],
    }
    yield from same("mirror grant", world.get("ReferenceGrant", f"{world.variant.base}-mirror")["spec"], expected)


def the_picker_is_told_of_priorities_and_names(world: World) -> Iterator[str]:
    variant = world.variant
    api = f"{CONFIG_GROUPS[variant.release][1]}/v1alpha2"
    pool = {"group": POOL_GROUP, "kind": "InferencePool", "name": variant.pool}
    for name, priority in variant.objectives.items():
        objective = world.get("InferenceObjective", name)
        yield from same(f"{name} API", objective["apiVersion"], api)
        yield from same(name, objective["spec"], {"priority": priority, "poolRef": pool})
    if variant.whole.get("rewrites") and (variant.picked or variant.existing_pool is not None):
        name = variant.base if variant.existing_pool is not None else variant.pool
        rewrite = world.get("InferenceModelRewrite", name)
        yield from same("rewrite API", rewrite["apiVersion"], api)
        yield from same(
            "rewrite", rewrite["spec"], {"poolRef": pool, "rules": [*map(_alias, variant.whole["rewrites"])]}
        )


def _alias(rewrite: Mapping[str, Any]) -> dict[str, Any]:
    named = [
        ({"modelRewrite": to["model"]} | {key: to[key] for key in to if key == "weight"}) for to in rewrite["targets"]
    ]
    return {"matches": [{"model": {"type": "Exact", "value": rewrite["model"]}}], "targets": named}


def istio_speaks_tls_to_the_ext_proc_port_alone(world: World) -> Iterator[str]:
    place = ("DestinationRule", world.variant.picker, world.variant.namespace)
    if place not in world.index:
        return
    domain = world.variant.stack.get("cluster", {}).get("domain", "cluster.local")
    host = f"{world.variant.picker}.{world.variant.namespace}.svc.{domain}"
    authority = world.variant.picker_tls.get("caSecret")
    trust = {"credentialName": authority, "subjectAltNames": [host]} if authority else {"insecureSkipVerify": True}
    tls = {"mode": "SIMPLE", **trust}
    settings = [{"port": {"number": world.variant.say("endpointPicker", "port", default=9002)}, "tls": tls}]
    expected = {"host": host, "trafficPolicy": {"portLevelSettings": settings}}
    yield from same("destination rule", world.index[place]["spec"], expected)
