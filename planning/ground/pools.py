"""Verdict of the controllers of gateways on an InferencePool (Gateway API Inference Extension, PoolStatus)."""

from collections.abc import Mapping
from typing import Any

_CONDITIONS = frozenset({"Accepted", "ResolvedRefs"})
"""Conditions that hold if a gateway supports the pool, and if the pool's endpoint picker exists."""
_NONE: Mapping[str, Any] = {}


def verdict(pool: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether every controller that reports accepts a pool, and the reason of a controller that does not.

    The verdict is None if no controller reports. Controllers report only after a route refers to the pool.
    """
    parents = (pool.get("status") or _NONE).get("parents") or ()
    reported = [
        condition
        for parent in parents
        for condition in parent.get("conditions") or ()
        if condition["type"] in _CONDITIONS and condition["status"] in {"True", "False"}
    ]
    refused = [condition for condition in reported if condition["status"] == "False"]
    reason = f"{refused[0].get('reason', '')}: {refused[0].get('message', '')}" if refused else ""
    return not refused if reported else None, reason
