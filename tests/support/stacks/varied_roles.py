"""Valid stacks whose encoders, or sets of prefill, have pods of their own."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.fragments import ENV, METRICS, POD

_GUARDED = {"observability": {"metrics": {"type": "prometheus-operator"}}, "networkPolicies": {}}


def _encoding() -> dict[str, Any]:
    """Return encoders apart from the pods that process prompts and answer."""
    encode = {"replicas": 2, "encoderCache": {"bytes": "6Gi"}, "engine": {"env": ENV}, "pod": POD}
    return tree(qwen={"encode": encode, "model": {"source": "hf://org/m"}}) | _GUARDED


def _encoding_apart() -> dict[str, Any]:
    """Return three stages, each in replicas or on devices of its own, and a canary of them."""
    service = {
        "accelerator": "nvidia-h100-80gb",
        "prefill": {"parallelism": {"tensor": 2}},
        "encode": {"autoscaling": {"type": "hpa", "maxReplicas": 3, "metrics": METRICS}},
        "canary": {"weight": 10, "model": {"maxModelLen": 4096}},
    }
    return tree(qwen=service) | _GUARDED


def _divided() -> dict[str, Any]:
    """Return sets of prefill pods, one of them with replicas of several pods."""
    sets = {
        "short": {"labels": {"example.com/range": "0-1000"}, "replicas": 2, "patch": {"spec": {"minReadySeconds": 3}}},
        "long": {
            "labels": {"example.com/range": "1001-9999"},
            "parallelism": {"tensor": 8, "pipeline": 2},
            "autoscaling": {"type": "hpa", "minReplicas": 1, "maxReplicas": 2, "metrics": METRICS},
        },
    }
    service = {
        "accelerator": "nvidia-h100-80gb",
        "parallelism": {"tensor": 4},
        "prefill": {"engine": {"maxNumSeqs": 8}, "sets": sets},
        "canary": {"weight": 10, "model": {"maxModelLen": 4096}},
    }
    return tree(qwen=service) | _GUARDED


ROLES = {"encoding": _encoding(), "encoding-apart": _encoding_apart(), "divided": _divided()}
"""Stacks by name."""
