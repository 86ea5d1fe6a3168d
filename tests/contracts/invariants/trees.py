"""Trees of plain values: looking into them, and laying one over another."""

from collections.abc import Mapping
from typing import Any

REPLACED = {"verify", "allocation", "gateway", "facts"}


def look(tree: Any, path: tuple[str, ...], default: Any) -> Any:
    for part in path:
        if part not in tree:
            return default
        tree = tree[part]
    return tree


def without(tree: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name not in keys}


def over(low: Any, high: Any, key: str = "") -> Any:
    """Merge as RFC 7386 has it; arguments by flag name, and what has another `type` or is a reference whole."""
    if key == "args" and low and high:
        new = {token.split("=")[0]: token for token in high}
        return [*(new.pop(token.split("=")[0], token) for token in low), *new.values()]
    both = isinstance(low, Mapping) and isinstance(high, Mapping)
    if (
        not both
        or key in REPLACED
        or (key == "tls" and "type" in high)
        or low.get("type", high.get("type")) != high.get("type", low.get("type"))
    ):
        return high
    rest = {name: value for name, value in low.items() if name not in high}
    new = {name: over(low.get(name), value, name) for name, value in high.items() if value is not None}
    return {**rest, **new}
