"""The outputs of a stack, key by key: other programs read them."""

from planning import outputs
from tests.support.stacks import PIN, plan, tree

PRIMARY = {
    "release": "llm-d-0.10",
    "pool": {"group": "inference.networking.k8s.io", "name": "qwen"},
    "objectives": [],
    "serviceHost": "qwen.models.svc.cluster.local:8000",
    "endpointPickerHost": "qwen-epp.models.svc.cluster.local:9002",
    "roles": {
        "decode": {
            "workload": {"kind": "Deployment", "name": "qwen-decode"},
            "scaling": {"type": "fixed", "replicas": 1},
            "gpus": {
                "class": "nvidia",
                "vendor": "nvidia",
                "product": None,
                "perReplica": 1,
                "max": 1,
            },
        }
    },
    "profiles": {},
}


def test_the_outputs_are_the_contract():
    """See defects C14."""
    stack = tree(qwen={"route": {"hostnames": ["b.example.com", "a.example.com"]}})
    stack["gateway"] |= {"port": 443, "sectionName": "https"}
    assert outputs.of_stack(plan(stack), None) == {
        "contractVersion": 2,
        "release": "llm-d-0.10",
        "factsDigest": None,
        "services": {
            "qwen": {
                "name": "qwen",
                "namespace": "models",
                "model": {
                    "name": "org/model",
                    "source": f"kit://registry.example/org/model@{PIN}",
                    "digest": PIN,
                    "revision": None,
                    "locked": None,
                    "lockedAdapters": {},
                },
                "urls": ["https://a.example.com/models/qwen", "https://b.example.com/models/qwen"],
                "paths": ["/models/qwen"],
                "hostnames": ["a.example.com", "b.example.com"],
                "gateway": {"name": "gateway", "namespace": "gateways", "sectionName": "https"},
                "weight": 100,
                "primary": PRIMARY,
                "canary": None,
                "profile": None,
                "interceptor": None,
                "awaited": ["endpointPicker", "pool", "replicas", "workload"],
                "warnings": [],
            }
        },
    }
