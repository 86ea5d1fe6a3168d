"""Policies of GKE's load balancer for pools."""

import pytest

from manifests.assembly import objects, render
from planning.ground import parts
from planning.ground.order import Id
from tests.support.stacks import find, plain, plan, rendered, tree

MARKS = {"app.kubernetes.io/part-of": "inference-stacks", "app.kubernetes.io/managed-by": "pulumi"}


def made(stack, *listed_kinds):
    """Return kind and name of every object of the kinds, without generations."""
    return {
        (manifest["kind"], plain(manifest["metadata"]["name"]))
        for manifest in rendered(stack)
        if manifest["kind"] in listed_kinds
    }


def marks(name, component):
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/component": component, **MARKS}


def behind_gke(**services):
    stack = tree(**services)
    stack["gateway"]["provider"] = "gke"
    return stack


def test_gke_is_told_when_a_pod_is_healthy_and_how_long_an_answer_may_take():
    everything = rendered(behind_gke())
    target = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}
    assert find(everything, "HealthCheckPolicy", "qwen") == {
        "apiVersion": "networking.gke.io/v1",
        "kind": "HealthCheckPolicy",
        "metadata": {"name": "qwen", "namespace": "models", "labels": marks("qwen", "endpoint-picker")},
        "spec": {
            "default": {
                "checkIntervalSec": 2,
                "timeoutSec": 2,
                "config": {"type": "HTTP", "httpHealthCheck": {"requestPath": "/health", "port": 8000}},
            },
            "targetRef": target,
        },
    }
    policy = find(everything, "GCPBackendPolicy", "qwen")
    assert policy["spec"] == {"default": {"timeoutSec": 300, "logging": {"enabled": True}}, "targetRef": target}
    assert made(behind_gke(), "DestinationRule") == set()


def test_gke_asks_where_the_pool_leads_and_where_a_pod_says_that_it_lives():
    service = {"engine": {"port": 9000}, "health": {"livenessPath": "/live"}, "drainTimeout": "10m"}
    everything = rendered(behind_gke(qwen=service))
    default = find(everything, "HealthCheckPolicy", "qwen")["spec"]["default"]
    assert default["config"]["httpHealthCheck"] == {"requestPath": "/live", "port": 9000}
    assert find(everything, "GCPBackendPolicy", "qwen")["spec"]["default"]["timeoutSec"] == 600


def test_every_pool_has_its_policies_and_requests_come_after_them():
    service = {"prefill": {}, "canary": {"weight": 10}}
    everything = list(objects(render(plan(behind_gke(qwen=service)))))
    pools = {resource.manifest["metadata"]["name"] for resource in everything if resource.id.part is parts.POOL}
    for part in (parts.HEALTH_CHECK_POLICY, parts.BACKEND_POLICY):
        policies = [resource for resource in everything if resource.id.part is part]
        assert {resource.manifest["spec"]["targetRef"]["name"] for resource in policies} == pools
        assert {resource.manifest["metadata"]["name"] for resource in policies} == pools
    (route,) = [resource for resource in everything if resource.id.part is parts.ROUTE]
    assert {Id(owner, parts.BACKEND_POLICY) for owner in ("qwen", "qwen.canary")} <= set(route.after)


@pytest.mark.parametrize("provider", ["istio", "agentgateway", "none", None])
def test_no_other_gateway_gets_gkes_policies(provider):
    stack = tree()
    if provider is None:
        del stack["gateway"]
    else:
        stack["gateway"]["provider"] = provider
    assert made(stack, "HealthCheckPolicy", "GCPBackendPolicy") == set()
