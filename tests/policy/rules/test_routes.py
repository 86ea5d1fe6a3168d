"""Shares of canaries, protection of public routes, and reasons of pools that fail open."""

import pytest

from policy.rules.records import DeployedObject, View
from tests.support.policies import lines, raw, view
from tests.support.stacks import rendered, tree


def route(weights=(("app", 80), ("app-canary", 20)), filters=(), gateway="public"):
    backends = [{"name": name, "port": 80, "weight": weight} for name, weight in weights]
    backends = [{key: value for key, value in backend.items() if value is not None} for backend in backends]
    spec = {
        "parentRefs": [{"name": gateway, "namespace": "gateways"}],
        "rules": [{"backendRefs": backends, "filters": list(filters)}],
    }
    metadata = {"name": "r", "namespace": "n"}
    return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("weight", "refused"), [(20, False), (21, True), (0, False)])
def test_a_canary_of_a_stack_gets_at_most_the_share(weight, refused):
    assert bool(lines(view(tree(qwen={"canary": {"weight": weight}})), "canary-share", percent=20)) is refused


@pytest.mark.parametrize(
    ("weights", "refused"),
    [
        ((("app", 80), ("app-canary", 20)), False),
        ((("app", 79), ("app-canary", 21)), True),
        ((("app", 4), ("app-canary", None)), False),
        ((("app", 3), ("app-canary", None)), True),
        ((("app", 1), ("app-canary-0f1e2", 1)), True),
        ((("app-canary", 1),), False),
        ((("app", 1), ("canary-app", 9)), False),
    ],
)
def test_a_canary_of_another_route_is_known_by_the_end_of_its_name(weights, refused):
    assert bool(lines(raw(route(weights)), "canary-share", percent=20)) is refused


def test_the_share_of_a_canary_is_named_and_a_service_without_a_canary_has_none():
    (line,) = lines(raw(route((("app", 3), ("app-canary", 1)))), "canary-share", percent=20)
    assert "gives a canary 25 % of the requests, and 20 % is the highest share" in line
    assert lines(view(tree()), "canary-share", percent=0) == []


def policy(kind, group, target, namespace="n"):
    metadata = {"name": "p", "namespace": namespace}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": {"targetRefs": [target]}}


def selecting(gateway):
    """Return a policy that selects the pods of a Gateway."""
    selector = {"matchLabels": {"gateway.networking.k8s.io/gateway-name": gateway}}
    metadata = {"name": "p", "namespace": "gateways"}
    kind = {"apiVersion": "security.istio.io/v1", "kind": "AuthorizationPolicy"}
    return {**kind, "metadata": metadata, "spec": {"selector": selector}}


PUBLIC = {"gateways": ["gateways/public"]}
ROUTE = {"kind": "HTTPRoute", "name": "r"}
GATEWAY = {"kind": "Gateway", "name": "public"}


@pytest.mark.parametrize(
    ("others", "refused"),
    [
        ([], True),
        ([policy("SecurityPolicy", "gateway.envoyproxy.io", ROUTE)], False),
        ([policy("SecurityPolicy", "gateway.envoyproxy.io", ROUTE, "other")], True),
        ([policy("SecurityPolicy", "example.org", ROUTE)], True),
        ([policy("SecurityPolicy", "gateway.envoyproxy.io", {**ROUTE, "name": "x"})], True),
        ([policy("AuthorizationPolicy", "security.istio.io", GATEWAY, "gateways")], False),
        ([policy("AuthorizationPolicy", "security.istio.io", GATEWAY, "n")], True),
        ([selecting("public")], False),
        ([selecting("internal")], True),
    ],
)
def test_a_public_route_needs_a_policy_that_targets_it_or_its_gateway(others, refused):
    assert bool(lines(raw(route(), *others), "public-routes", **PUBLIC)) is refused


def test_a_filter_of_the_gateway_protects_a_route_and_another_gateway_is_not_public():
    assert lines(raw(route(filters=[{"type": "ExtensionRef"}])), "public-routes", **PUBLIC) == []
    assert len(lines(raw(route(filters=[{"type": "URLRewrite"}])), "public-routes", **PUBLIC)) == 1
    assert lines(raw(route(gateway="internal")), "public-routes", **PUBLIC) == []
    assert lines(raw(route()), "public-routes") == []


def test_every_rule_of_a_route_needs_the_filter():
    manifest = route(filters=[{"type": "ExtensionRef"}])
    manifest["spec"]["rules"].append({"backendRefs": []})
    assert len(lines(raw(manifest), "public-routes", **PUBLIC)) == 1


def test_a_pool_that_fails_open_needs_a_reason():
    reason = {"failureMode": "FailOpen", "failOpenReason": "any pod is right"}
    manifests = rendered(tree(qwen={"endpointPicker": reason}))
    judged = View(tuple(DeployedObject(manifest) for manifest in manifests))
    assert lines(judged, "fail-open-reason") == []
    for manifest in manifests:
        if manifest["kind"] == "InferencePool":
            manifest["metadata"]["annotations"] = {}
    (line,) = lines(judged, "fail-open-reason")
    assert "is FailOpen without a reason; write why as endpointPicker.failOpenReason of service qwen" in line
    assert lines(view(tree()), "fail-open-reason") == []
