"""Objects as they are compared: a canonical text, its fingerprint, and its leaves."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_METADATA = ("name", "namespace", "labels", "annotations")
_NAMED_BY = ("name", "resources", "nonResourceURLs")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of an object that is neither a map nor a list."""

    path: str
    """Place of a leaf: keys, names of list items and values of list items, whatever their order."""
    value: str
    at: tuple[str | int, ...]
    """Place of a leaf: keys and indices."""


def text(manifest: Any) -> str:
    """Return the canonical form: sorted, compact, without status and without anything empty."""
    content = {key: value for key, value in manifest.items() if key != "status"}
    content["metadata"] = {key: value for key, value in manifest["metadata"].items() if key in _METADATA}
    return json.dumps(_pruned(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(manifest: Any) -> str:
    """Return the bytes of the canonical form and the first 16 digits of its SHA-256."""
    data = text(manifest).encode()
    return f"{len(data)} {hashlib.sha256(data).hexdigest()[:16]}"


def leaves(manifest: Any) -> list[Leaf]:
    """Return the leaves of the canonical form."""
    return list(_leaves(json.loads(text(manifest)), "", ()))


def kept(stages: list[Any]) -> Counter[tuple[str, str]]:
    """Return the leaves, by path and value, that are the same at every stage."""
    found = [Counter((leaf.path, leaf.value) for leaf in leaves(stage)) for stage in stages]
    common = found[0]
    for other in found[1:]:
        common &= other
    return common


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        pruned = {key: _pruned(inner) for key, inner in value.items()}
        return {key: inner for key, inner in pruned.items() if inner is not None and inner not in ({}, [])}
    return [_pruned(inner) for inner in value] if isinstance(value, list | tuple) else value


def _leaves(value: Any, path: str, at: tuple[str | int, ...]) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}/{key}", (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}/{_name(index, inner)}", (*at, index))
    else:
        yield Leaf(path, json.dumps(value), at)


def _name(index: int, item: Any) -> str:
    """Return what tells a list's item from others: its name, else the item itself."""
    if not isinstance(item, dict):
        return str(item)
    for key in _NAMED_BY:
        if key in item:
            return str(item[key] if isinstance(item[key], str) else ",".join(item[key]))
    return str(index)
