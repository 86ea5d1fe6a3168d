"""GKE's load balancer checks the pool, or the Service where there is no pool."""

from tests.support.stacks import rendered, tree

KINDS = ("HealthCheckPolicy", "GCPBackendPolicy")


def policies(**service):
    stack = tree(qwen=service)
    stack["gateway"] = {"name": "gateway", "namespace": "gateways", "provider": "gke"}
    return {manifest["kind"]: manifest["spec"] for manifest in rendered(stack) if manifest["kind"] in KINDS}


def test_the_pool_is_the_target_of_both_policies():
    target = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "qwen"}
    specs = policies()
    assert specs["HealthCheckPolicy"] == {
        "default": {
            "checkIntervalSec": 2,
            "timeoutSec": 2,
            "config": {"type": "HTTP", "httpHealthCheck": {"requestPath": "/health", "port": 8000}},
        },
        "targetRef": target,
    }
    assert specs["GCPBackendPolicy"] == {
        "default": {"timeoutSec": 300, "logging": {"enabled": True}},
        "targetRef": target,
    }


def test_without_a_picker_the_service_is_the_target():
    specs = policies(endpointPicker={"enabled": False})
    assert {spec["targetRef"]["kind"] for spec in specs.values()} == {"Service"}
    assert {spec["targetRef"]["name"] for spec in specs.values()} == {"qwen"}


def test_other_gateways_get_none():
    assert not [manifest for manifest in rendered(tree()) if manifest["kind"] in KINDS]
