"""Refusals of pods, as admission writes them."""

import pytest

from judging.status.records import ObjectRef
from judging.status.rejections import rejection

AT = ObjectRef("Deployment", "models", "qwen-decode")


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        (
            (
                'pods "qwen-x" is forbidden: exceeded quota: gpus, requested: limits.memory=8Gi,'
                "requests.nvidia.com/gpu=1, used: limits.memory=64Gi,requests.nvidia.com/gpu=8, "
                "limited: limits.memory=64Gi,requests.nvidia.com/gpu=8"
            ),
            "quota",
            (
                "a pod asks for 8Gi limits.memory, 64Gi of 64Gi are in use; "
                "a pod asks for 1 requests.nvidia.com/gpu, 8 of 8 are in use"
            ),
        ),
        (
            'Error creating: pods "fill-x" is forbidden: violates PodSecurity "baseline:latest": hostPort',
            "admission",
            'refuses them: violates PodSecurity "baseline:latest": hostPort',
        ),
        (
            (
                'create Pod big-0-1 in StatefulSet big-0 failed error: pods "big-0-1" is forbidden: no PriorityClass '
                "with name high was found"
            ),
            "admission",
            "refuses them: no PriorityClass with name high was found",
        ),
        (
            'admission webhook "policy.example" denied the request: api key hf_abcdefghijklmnopqrstuvwxyzABCDEFGH',
            "admission",
            'refuses them: admission webhook "policy.example" denied the request: api key …',
        ),
        (None, "admission", "refuses them: "),
    ],
)
def test_a_refusal_is_told_without_the_names_of_pods(text, state, words):
    finding = rejection(text, AT, None)
    assert finding.state.id == state
    assert finding.words.endswith(words)
