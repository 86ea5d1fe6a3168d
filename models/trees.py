"""Readers of plain trees, whose shape is unknown: YAML, JSON and Kubernetes objects."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from models.paths import Path

EMPTY: Mapping[str, Any] = MappingProxyType({})
"""A mapping without keys."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty mapping."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else EMPTY


def sequence(value: object) -> Sequence[Any]:
    """Return the value if it is a list or a tuple, else an empty tuple."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def texts(value: object) -> Mapping[str, str]:
    """Return the entries of a mapping whose values are texts; an empty mapping for anything else."""
    return {key: text for key, text in mapping(value).items() if isinstance(text, str)}


def at(tree: object, *keys: str) -> object:
    """Return the value at nested keys of a tree; None if a key is missing or leads through something else."""
    for key in keys:
        tree = mapping(tree).get(key)
    return tree


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object; those whose value is None are left out."""
    return {name: value for name, value in fields.items() if value is not None}


def leaves(value: object, at: Path) -> Iterator[tuple[Path, object]]:
    """Yield every value that is no mapping and no list, with its path. `at` is the path of `value`."""
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield from leaves(inner, at / key)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("Sequence[Any]", value)):
            yield from leaves(inner, at / index)
    else:
        yield at, value
