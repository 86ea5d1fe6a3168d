"""Rules on routes, pools and canaries: `canary-share`, `public-routes`, `fail-open-reason`."""

import re
from collections.abc import Iterator

from policy.rules import contracts, pods, trees
from policy.rules.records import OURS, DeployedObject, PolicyFinding, Settings, View, of_object
from policy.rules.trees import Tree

_CANARY = re.compile(r"-canary(-[0-9a-f]{5})?$")
"""End of the name of a canary's pool or Service; a generation may follow."""
_GATEWAY_NAME = "gateway.networking.k8s.io/gateway-name"
"""Label of the pods of a Gateway, by which an AuthorizationPolicy selects them."""
_PROTECTIONS = {"AuthorizationPolicy": "security.istio.io", "SecurityPolicy": "gateway.envoyproxy.io"}
"""Kinds of objects that protect what they target, with their API groups."""


def canary_share(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the canaries of inference stacks that get more requests than the highest share."""
    percent: float = settings["percent"]

    def of_service(at: str, service: Tree) -> Iterator[PolicyFinding]:
        weight = trees.number(service, "canary", "weight", default=0)
        if weight > percent:
            what = f"gets {weight} % of the requests, and {percent:g} % is the highest share"
            yield PolicyFinding(f"{at}.canary", what, f"lower {at}.canary.weight to {percent:g}")

    yield from contracts.of_services(view, of_service)


def canary_weights(item: DeployedObject, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the rules of routes of others whose canaries get more requests than the highest share."""
    percent: float = settings["percent"]
    if item.kind != "HTTPRoute" or item.is_ours:
        return
    for index, rule in enumerate(trees.mappings(item.manifest, "spec", "rules")):
        backends = trees.mappings(rule, "backendRefs")
        weights = [trees.number(backend, "weight", default=1) for backend in backends]
        names = [trees.text(backend, "name") for backend in backends]
        canaries = sum(weight for weight, name in zip(weights, names, strict=True) if _CANARY.search(name))
        if len(backends) > 1 and canaries * 100 > percent * sum(weights):
            share = canaries * 100 / sum(weights)
            at = f"spec.rules[{index}].backendRefs"
            what = f"gives a canary {share:.0f} % of the requests, and {percent:g} % is the highest share"
            yield of_object(item, at, what, "lower the weight of the canary")


def public_routes(view: View, settings: Settings) -> Iterator[PolicyFinding]:
    """Yield the routes that are attached to a public Gateway and protected by no policy."""
    public = set(settings["gateways"])
    if not public:
        return
    targets = set(_targets(view))
    for item in view.of_kinds("HTTPRoute", "GRPCRoute"):
        for parent in trees.mappings(item.manifest, "spec", "parentRefs"):
            gateway = f"{trees.text(parent, 'namespace') or item.namespace}/{trees.text(parent, 'name')}"
            if gateway not in public or _has_filter(item):
                continue
            if not targets & {(item.kind, f"{item.namespace}/{item.name}"), ("Gateway", gateway)}:
                remedy = "target the route with a SecurityPolicy or an AuthorizationPolicy, or attach it elsewhere"
                if item.is_ours:
                    remedy = f"{remedy} by route.gateway of service {_service(item)}"
                yield of_object(item, "spec.parentRefs", f"is open to everybody on {gateway}", remedy)


def _service(item: DeployedObject) -> str:
    return item.labels.get("app.kubernetes.io/name", item.name)


def _has_filter(item: DeployedObject) -> bool:
    """Tell whether every rule of a route has a filter of the gateway's own, such as one that asks for a key."""
    rules = trees.mappings(item.manifest, "spec", "rules")
    kinds = [{trees.text(entry, "type") for entry in trees.mappings(rule, "filters")} for rule in rules]
    return bool(rules) and all("ExtensionRef" in types for types in kinds)


def _targets(view: View) -> Iterator[tuple[str, str]]:
    """Yield kind, namespace and name of every object that a policy targets."""
    for item in view.of_kinds(*_PROTECTIONS):
        if item.group != _PROTECTIONS[item.kind]:
            continue
        spec = trees.mapping(item.manifest, "spec")
        pods_of = trees.text(trees.mapping(spec, "selector", "matchLabels"), _GATEWAY_NAME)
        if pods_of:
            yield "Gateway", f"{item.namespace}/{pods_of}"
        for target in (trees.mapping(spec, "targetRef"), *trees.mappings(spec, "targetRefs")):
            if target:
                yield trees.text(target, "kind"), f"{item.namespace}/{trees.text(target, 'name')}"


def fail_open_reason(item: DeployedObject, _: Settings) -> Iterator[PolicyFinding]:
    """Yield the pools that send requests to any pod while no picker answers, without a reason."""
    if item.kind != "InferencePool":
        return
    annotations = trees.mapping(item.manifest, "metadata", "annotations")
    modes = (("spec", "endpointPickerRef"), ("spec", "extensionRef"))
    is_open = any(trees.at(item.manifest, *keys, "failureMode") == "FailOpen" for keys in modes)
    if is_open and not trees.text(annotations, f"{OURS}/fail-open-reason"):
        remedy = f"write why as the annotation {OURS}/fail-open-reason, or write FailClose"
        if item.is_ours:
            selector = trees.labels(item.manifest, "spec", "selector", "matchLabels")
            key = pods.key_of(selector, "endpointPicker.failOpenReason")
            remedy = f"write why as {key}, or remove endpointPicker.failureMode"
        yield of_object(item, "spec.endpointPickerRef.failureMode", "is FailOpen without a reason", remedy)
