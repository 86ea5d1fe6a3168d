"""Keys of the configuration that decide on pods, as remedies name them."""

import pytest

from policy.rules import pods
from tests.support.policies import view
from tests.support.stacks import PIN, tree

RANGE = "llm-d.ai/context-length-range"


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({}, ""),
        ({"inference-stacks.io/service": "q"}, "replicas of service q"),
        ({"inference-stacks.io/service": "q", "inference-stacks.io/role": "decode"}, "replicas of service q"),
        ({"inference-stacks.io/service": "q", "inference-stacks.io/role": "encode"}, "encode.replicas of service q"),
        (
            {"inference-stacks.io/service": "q", "inference-stacks.io/role": "prefill-long"},
            "prefill.sets.long.replicas of service q",
        ),
        (
            {"inference-stacks.io/worker-of": "q", "inference-stacks.io/variant": "canary"},
            "canary.replicas of service q",
        ),
        ({"inference-stacks.io/endpoint-picker": "q"}, "replicas of service q"),
    ],
)
def test_a_key_names_variant_role_and_service(labels, key):
    assert pods.key_of(labels, "replicas") == key


def test_every_image_of_a_stack_is_named_by_the_key_that_decides_on_it():
    service = {
        "prefill": {},
        "canary": {"weight": 5, "engine": {"image": "x/vllm:v0.30.0"}},
        "model": {
            "name": "m",
            "source": f"kit://r.example/m@{PIN}",
            "lora": {"adapters": {"sql": {"source": "hf://a/b", "size": "1Gi"}}},
        },
    }
    judged = view(tree(qwen=service))
    keys = {container.image_key for item in judged.objects for container in pods.containers(item)}
    assert keys == {
        "images.kit",
        "images.downloader",
        "engine.image of service qwen",
        "prefill.engine.image of service qwen",
        "canary.engine.image of service qwen",
        "canary.prefill.engine.image of service qwen",
        "endpointPicker.image of service qwen",
        "canary.endpointPicker.image of service qwen",
        "sidecar.image of service qwen",
    }
