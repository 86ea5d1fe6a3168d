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
    scaling = {"type": "hpa", "minReplicas": 1, "maxReplicas": 3, "metrics": METRICS}
    service = {
        "accelerator": "nvidia-h100-80gb",
        "prefill": {"parallelism": {"tensor": 2}},
        "encode": {"autoscaling": scaling},
        "canary": {"weight": 10, "model": {"maxModelLen": 4096}, "encode": {"autoscaling": scaling}},
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
        "prefill": {"engine": {"maxNumSeqs": 8, "args": ["--enforce-eager"]}, "sets": sets},
        "canary": {"weight": 10, "model": {"maxModelLen": 4096}, "prefill": {"sets": sets}},
    }
    return tree(qwen=service) | _GUARDED


def _divided_answers() -> dict[str, Any]:
    """Return sets of pods that answer, on devices of two vendors, and sets of them beside prefill."""
    scaling = {"type": "hpa", "minReplicas": 1, "maxReplicas": 2, "metrics": METRICS}
    vendors = {
        "amd": {"accelerator": "amd", "replicas": 2, "patch": {"spec": {"minReadySeconds": 3}}},
        "nvidia": {"labels": {"example.com/vendor": "nvidia"}, "autoscaling": scaling},
    }
    sizes = {"large": {"parallelism": {"tensor": 4}}, "small": {"replicas": 3, "pod": {"labels": {"size": "small"}}}}
    canary = {"weight": 10, "model": {"maxModelLen": 4096}, "decode": {"sets": vendors}}
    stack = tree(qwen={"decode": {"sets": vendors}, "canary": canary}, llama={"prefill": {}, "decode": {"sets": sizes}})
    return stack | _GUARDED | {"defaults": {"engine": {"args": ["--enforce-eager"]}}}


ROLES = {
    "encoding": _encoding(),
    "encoding-apart": _encoding_apart(),
    "divided": _divided(),
    "divided-answers": _divided_answers(),
}
"""Stacks by name."""
