"""Routes, gateways and objectives: limits of headers, numbers and lists, and the defaults."""

import pytest

from models.routing import Gateway, Objective, RewriteTarget, Route, RouteMatch
from tests.support.stacks import GATEWAY, mistakes, tree


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (
            {"setHeaders": {f"x-{number}": "a" for number in range(17)}},
            "setHeaders: has 17 entries; write at most 16",
        ),
        (
            {"matches": [{"headers": {"X-Team": "a", "x-team": "b"}}]},
            "matches[0].headers: names one header twice (capitals make no difference); keep one of them",
        ),
        ({"matches": []}, "matches: has 0 entries; write 1 to 64; a request has to meet only one of them"),
        (
            {"mirror": {"service": "next", "percent": 101}},
            (
                "mirror.percent: is not a whole number from 0 to 100 (101); write the percentage of requests that are "
                "copied"
            ),
        ),
        (
            {"removeHeaders": ["a b"]},
            "removeHeaders[0]: is not a header name (a b); use letters, digits and '-', such as x-canary",
        ),
        (
            {"replacePrefixMatch": "v1"},
            "replacePrefixMatch: is not an absolute path (v1); start with '/', such as /health",
        ),
    ],
)
def test_a_mistaken_route_is_refused(route, message):
    assert mistakes(tree(qwen={"route": route})) == [f"services.qwen.route.{message}"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "a b", "is not a kind (a b); write a kind such as Gateway"),
        ("version", "latest", "is not a version (latest); write a version such as 1.31.2"),
        ("port", 0, "is not a whole number from 1 to 65535 (0); write a port number, such as 8000"),
        (
            "provider",
            "nginx",
            "is not one of istio, gke, agentgateway or none (nginx); choose one of them",
        ),
    ],
)
def test_a_mistaken_gateway_is_refused(key, value, message):
    assert mistakes(tree() | {"gateway": {**GATEWAY, key: value}}) == [f"gateway.{key}: {message}"]


def test_a_route_leads_every_host_below_namespace_and_name_to_the_service():
    route = Route.model_validate({})
    assert route.matches == (RouteMatch.model_validate({"path": "/{.metadata.namespace}/{.metadata.name}"}),)
    assert (route.enabled, route.hostnames, route.replace_prefix_match, route.mirror) == (True, (), "/", None)


def test_a_gateway_is_of_the_gateway_api_and_routes_no_bodies():
    gateway = Gateway.model_validate({"name": "a", "provider": "none"})
    assert (gateway.group, gateway.kind, gateway.body_router) == ("gateway.networking.k8s.io", "Gateway", False)


@pytest.mark.parametrize(("priority", "is_taken"), [(-(2**31), True), (2**31 - 1, True), (2**31, False)])
def test_a_priority_has_32_bits(priority, is_taken):
    message = (
        f"services.qwen.objectives.batch.priority: is not a whole number from {-(2**31)} to {2**31 - 1} ({priority}); "
        "write a priority such as -1"
    )
    assert mistakes(tree(qwen={"objectives": {"batch": {"priority": priority}}})) == ([] if is_taken else [message])
    assert not is_taken or Objective.model_validate({"priority": priority}).priority == priority


def test_a_rewrite_has_a_target_whose_weight_is_above_zero():
    rewrites = [{"model": "a", "targets": []}, {"model": "b", "targets": [{"model": "c", "weight": 0}]}]
    assert mistakes(tree(qwen={"rewrites": rewrites})) == [
        "services.qwen.rewrites[0].targets: has 0 entries; write at least one",
        "services.qwen.rewrites[1].targets[0].weight: is not a whole number from 1 to 1000000 (0); write 1 to 1000000",
    ]
    assert RewriteTarget.model_validate({"model": "c"}).weight is None
