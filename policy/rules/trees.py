"""Readers of plain trees of any shape. Each of them raises `UnknownValue` for a value that a preview does not know."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

Tree = Mapping[str, Any]
_EMPTY: Tree = {}


class _Unknown:
    """A value that is known only after a run, such as an address that a cluster assigns."""

    def __repr__(self) -> str:
        """Return the word that a report shows for the value."""
        return "unknown"


UNKNOWN: Final = _Unknown()
"""The value that stands in a tree for one that a preview does not know."""


class UnknownValue(Exception):  # noqa: N818, the name of a state of a value rather than of a mistake
    """Exception for a rule that needs a value that a preview does not know."""


def value_of(value: object) -> Any:  # noqa: ANN401, any value of a tree
    """Return the value. Raises `UnknownValue` if a preview does not know it."""
    if value is UNKNOWN:
        raise UnknownValue
    return value


def at(tree: object, *keys: str) -> Any:  # noqa: ANN401, any value of a tree
    """Return the value below some keys; None if there is none."""
    value = value_of(tree)
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value_of(cast("Tree", value).get(key))
    return value


def mapping(tree: object, *keys: str) -> Tree:
    """Return the mapping below some keys; empty if there is none."""
    value = at(tree, *keys)
    if isinstance(value, Mapping):
        return cast("Tree", value)
    return _EMPTY


def sequence(tree: object, *keys: str) -> Sequence[Any]:
    """Return the list below some keys; empty if there is none. Its items may be unknown."""
    value = at(tree, *keys)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return cast("Sequence[Any]", value)
    return ()


def mappings(tree: object, *keys: str) -> list[Tree]:
    """Return the mappings in the list below some keys."""
    items = [value_of(item) for item in sequence(tree, *keys)]
    return [item for item in items if isinstance(item, Mapping)]


def texts(tree: object, *keys: str) -> list[str]:
    """Return the items of the list below some keys as texts."""
    return [str(value_of(item)) for item in sequence(tree, *keys)]


def text(tree: object, *keys: str) -> str:
    """Return the value below some keys as text; empty if there is none."""
    value = at(tree, *keys)
    if value is None:
        return ""
    return str(value)


def number(tree: object, *keys: str, default: int) -> int:
    """Return the whole number below some keys, or `default` if there is none. The engine passes numbers as `float`."""
    value = at(tree, *keys)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return int(value)


def labels(tree: object, *keys: str) -> dict[str, str]:
    """Return the mapping of texts below some keys, such as labels or a selector."""
    return {key: str(value_of(value)) for key, value in mapping(tree, *keys).items() if value is not None}
