"""Stacks of services whose pods or whose pool are somebody else's."""

from typing import Any

from tests.support.stacks import GATEWAY

LABELS = {"app": "vllm"}
POOL = "theirs"


def existing(**keys: Any) -> dict[str, Any]:
    """Return a stack with one service of such pods, called `qwen`, with further keys."""
    return _stack({"existingPods": {"matchLabels": dict(LABELS)}} | keys)


def of_pool(**keys: Any) -> dict[str, Any]:
    """Return a stack with one service, called `qwen`, of a pool that somebody else made, with further keys."""
    return _stack({"existingPool": {"name": POOL}} | keys)


def _stack(service: dict[str, Any]) -> dict[str, Any]:
    whole = {"model": {"name": "org/model"}, **service}
    return {"namespace": "models", "gateway": dict(GATEWAY), "services": {"qwen": whole}}
