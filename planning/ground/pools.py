"""Verdict of gateway controllers on an InferencePool (Gateway API Inference Extension, PoolStatus)."""

from collections.abc import Mapping
from typing import Any

_CONDITIONS = frozenset({"Accepted", "ResolvedRefs"})
"""Conditions that decide the verdict: `Accepted` tells whether a gateway supports the pool, and `ResolvedRefs` tells
whether the pool's endpoint picker exists."""
_NONE: Mapping[str, Any] = {}


def verdict(pool: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether controllers accept a pool, and the reason of a controller that rejects the pool.

    The first value is False if any controller rejects the pool. It is None if no controller has reported: controllers
    report only after a route refers to the pool. The reason is empty if no controller rejects the pool.
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
