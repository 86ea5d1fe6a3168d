"""Shapes of configuration as data: the keys of each mapping and the type of each leaf.

A shape is one of three:
- a mapping of keys to shapes, in which the key `"*"` stands for any other key;
- a list that holds one shape, which every item has;
- a word for a leaf: any, boolean, duration, integer, number, quantity, text, or `plugin:GROUP,GROUP` for the name of a
  plugin that belongs to one of the groups. A `!` after the word makes the leaf required.

Problems name keys and plugins, but never repeat a value.
"""

import difflib
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from models.paths import Path
from models.problems import Problem

PLUGIN = "plugin:"
REQUIRED = "!"
_DURATION = re.compile(r"([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+|0")
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|Ki|[MGTPE]i?)?")
_LEAVES = {
    "any": ("", ""),
    "boolean": ("true or false", "write true or false"),
    "duration": ("a duration", "write a number with h, m, s or ms, such as 10s"),
    "integer": ("a whole number", "write a number without a fraction"),
    "number": ("a number", "write a number, such as 2"),
    "plugin": ("the name of a plugin", "write a plugin's name"),
    "quantity": ("a Kubernetes quantity", "write a number with an optional unit, such as 500 or 1Gi"),
    "text": ("text", "write text"),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A mention of a plugin by name: its path, the name, and the groups that the plugin may belong to."""

    path: Path
    name: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """The place of a value: its path, and the noun that problems use for its keys."""

    path: Path
    noun: str = "key"

    def at(self, part: str | int) -> "Reading":
        """Return the reading of a key or an item of the value."""
        return Reading(self.path / part, self.noun)


def problems(reading: Reading, value: object, shape: object) -> Iterator[Problem]:
    """Yield every problem of a value that does not have the shape."""
    if isinstance(shape, dict):
        yield from _mapping(reading, value, cast("dict[str, Any]", shape))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield Problem(reading.path, "is not a list", "write a list: [a, b]")
            return
        for index, item in enumerate(cast("list[object]", value)):
            yield from problems(reading.at(index), item, cast("list[object]", shape)[0])
    elif not fits(value, cast("str", shape)):
        what, remedy = _LEAVES[kind(cast("str", shape))]
        yield Problem(reading.path, f"is not {what}", remedy)


def references(path: Path, value: object, shape: object) -> Iterator[Reference]:
    """Yield every mention of a plugin in a value."""
    if isinstance(shape, str):
        if shape.startswith(PLUGIN) and isinstance(value, str):
            yield Reference(path, value, tuple(shape.removeprefix(PLUGIN).removesuffix(REQUIRED).split(",")))
    elif isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from references(path / index, item, cast("list[object]", shape)[0])
    elif isinstance(shape, dict) and isinstance(value, dict):
        keys = cast("dict[str, object]", shape)
        for key, inner in cast("dict[str, object]", value).items():
            if key in keys or "*" in keys:
                yield from references(path / key, inner, keys.get(key, keys.get("*")))


def kind(word: str) -> str:
    """Return the type that a leaf's word requires, such as `integer` or `plugin`."""
    return "plugin" if word.startswith(PLUGIN) else word.removesuffix(REQUIRED)


def fits(value: object, word: str) -> bool:
    """Tell whether a value has the type that a leaf's word requires."""
    text = value if isinstance(value, str) else ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    fitting = {
        "any": True,
        "boolean": isinstance(value, bool),
        "integer": is_number and isinstance(value, int),
        "number": is_number,
        "quantity": is_number or _QUANTITY.fullmatch(text) is not None,
        "duration": _DURATION.fullmatch(text) is not None,
    }
    return fitting.get(kind(word), isinstance(value, str))


def likeliest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is closest to `name`. None if no known name is close."""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


def suggestion(name: str, known: Collection[str]) -> str | None:
    """Return a remedy that asks whether the closest known name is meant. None if no known name is close."""
    likely = likeliest(name, known)
    return None if likely is None else f"did you mean {likely}?"


def _mapping(reading: Reading, value: object, shape: Mapping[str, Any]) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(reading.path, "is not a mapping", "write keys with values below it")
        return
    keys = cast("dict[str, object]", value)
    suggested = set[str | None]()
    for key, inner in keys.items():
        if key in shape or "*" in shape:
            yield from problems(reading.at(key), inner, shape.get(key, shape.get("*")))
        else:
            likely, known = likeliest(key, shape.keys()), ", ".join(sorted(shape))
            suggested.add(likely)
            remedy = suggestion(key, shape.keys()) or (f"known here: {known}" if known else "remove it; it takes none")
            yield Problem(reading.at(key).path, f"unknown {reading.noun} ({key})", remedy)
    for key, inner in shape.items():
        if isinstance(inner, str) and inner.endswith(REQUIRED) and key not in keys.keys() | suggested:
            yield Problem(reading.at(key).path, "is missing", "add it")
