"""Stacks of services whose pods somebody else runs."""

from typing import Any

from tests.support.stacks import GATEWAY

LABELS = {"app": "vllm"}


def existing(**keys: Any) -> dict[str, Any]:
    """Return a stack with one service of such pods, called `qwen`, with further keys."""
    service = {"model": {"name": "org/model"}, "existingPods": {"matchLabels": dict(LABELS)}}
    return {"namespace": "models", "gateway": dict(GATEWAY), "services": {"qwen": service | keys}}
