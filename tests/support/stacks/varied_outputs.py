"""Outputs with everything that a service can have."""

import json
from typing import Any

from planning import outputs
from tests.support.stacks import plan, tree


def varied() -> dict[str, Any]:
    """Return outputs with everything that a service can have."""
    scaled = {"type": "hpa", "maxReplicas": 3, "metrics": [{"type": "queue-size", "target": 5}]}
    qwen = {
        "model": {"name": "org/model", "source": "hf://org/model@c1899de289a04d12100db370d81485cdf75e47ca"},
        "canary": {"weight": 10, "replicas": 2},
        "objectives": {"batch": {"priority": -1}},
        "route": {"hostnames": ["llm.example.com"]},
        "interceptor": {"enabled": False},
    }
    stack = tree(qwen=qwen, bert={"autoscaling": scaled}, cpu={"accelerator": "cpu", "route": {"enabled": False}})
    stack["gateway"] |= {"port": 443, "sectionName": "https"}
    stack |= {"interceptor": {"mode": "label", "namespace": "metering"}}
    return json.loads(json.dumps(outputs.of_stack(plan(stack), "0123456789abcdef", {"qwen"})))
