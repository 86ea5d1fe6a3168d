"""Shapes of configuration as data: the keys of each mapping, and the type and the range of each leaf.

A shape is one of three:
- a mapping of keys to shapes, in which the key `"*"` stands for any other key;
- a list that contains one shape: the shape of every item;
- a description of a leaf: a word, such as `integer`, and constraints after the word, separated by blanks.

The word says which value the leaf takes:
- a key of `planning.picker.go_values.READERS`: a value of this type;
- `cel`: an expression that `planning.picker.expressions` accepts;
- `plugin:GROUP,GROUP`: the name of a plugin that belongs to one of the groups;
- `name:GROUP`: the name of a plugin, which only `planning.picker.accepted_mistakes` checks;
- `never`: no value, because the leaf must be absent.

A `!` after the word makes the leaf required. The constraints are bounds, such as `>0`, `>=0`, `<1` and `<=1`; then
`nonempty`; `one-of:a|b`; and `folded:a|b`, which is `one-of` without regard to case, hyphens and underscores.

Problems name keys and plugins, but never repeat a value.
"""

import difflib
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from planning.picker import expressions, go_values

PLUGIN = "plugin:"
_NAME = "name:"
"""`PLUGIN` and `_NAME` begin the word of a leaf that holds the name of a plugin. The plugin's groups follow."""
REQUIRED = "!"
"""Sign after the word of a leaf that must be present."""
_READERS = {**go_values.READERS, "cel": expressions.cel, "plugin": go_values.text}
WORDS = {
    "any": ("", ""),
    "bare-name": ("a name without a slash", "write the name alone, and its producer beside it"),
    "boolean": ("true or false", "write true or false"),
    "bytes": ("a size in bytes", "write a number with a unit, such as 2GiB"),
    "cel": ("an expression of CEL", "correct its syntax; the only variable is `usage`"),
    "duration": ("a duration", "write a number with h, m, s or ms, such as 10s"),
    "integer": ("a whole number", "write a number without a fraction"),
    "integers": ("a list of whole numbers", "write numbers with commas between them, such as 8000,8001"),
    "label-key": ("the key of a label", "write a key, such as llm-d.ai/role"),
    "label-value": ("the value of a label", "write at most 63 letters, digits, hyphens, underscores and dots"),
    "labels": ("a mapping of labels", "write keys and values of labels"),
    "log-level": ("a log level", "write debug, info, error, panic or a number above 0"),
    "message-size": ("a size in bytes", "write a whole number with an optional unit, such as 10MiB"),
    "metric": ("a metric", "write its name and labels, such as queue_size{model=a}"),
    "names": ("a list of names", "write names with commas between them"),
    "never": ("allowed", "remove it"),
    "number": ("a number", "write a number, such as 2"),
    "pairs": ("a list of labels", "write labels with commas between them, such as app=vllm,env=prod"),
    "period": ("a duration", "write a number with h, m, s or ms, such as 10s"),
    "plugin": ("the name of a plugin", "write a plugin's name"),
    "quantity": ("a Kubernetes quantity", "write a number with an optional unit, such as 500 or 1Gi"),
    "redis": ("an address of Redis", "write a host and a port, or a URL, such as redis://cache:6379"),
    "selector": ("a label selector", "write labels, such as app=vllm,env in (prod,test)"),
    "text": ("text", "write text"),
}
"""Words of leaves, each with the noun that messages use for a value, and with a remedy."""
_COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], str, str]] = {
    ">=": (operator.ge, "is below", "of at least"),
    "<=": (operator.le, "is above", "of at most"),
    ">": (operator.gt, "is not above", "above"),
    "<": (operator.lt, "is not below", "below"),
}
_FEW = 8
"""Maximum number of choices that a message lists."""


@dataclass(frozen=True, slots=True)
class PluginReference:
    """A mention of a plugin by name: its path, the name, and the groups that the plugin may belong to."""

    path: Path
    name: str
    groups: tuple[str, ...]
    is_checked: bool = True
    """Whether the name must be the name of a plugin; false for `name:`, which only `accepted_mistakes` checks."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The place of a value: its path, the noun that problems use for keys of the value, and how keys are compared."""

    path: Path
    noun: str = "key"
    folds: bool = False
    """Whether keys that differ only in case count as the same key; true in parameters of plugins."""

    def at(self, part: str | int) -> "Reading":
        """Return the place of the inner value at a key or an index."""
        return Reading(self.path / part, self.noun, self.folds)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The description of a leaf."""

    word: str
    groups: tuple[str, ...]
    """Groups of plugins; empty for words other than `plugin:` and `name:`."""
    required: bool
    nonempty: bool
    bounds: tuple[tuple[str, float], ...]
    choices: tuple[str, ...] | None
    folded: tuple[str, ...] | None


@cache
def leaf(description: str) -> Leaf:
    """Return a leaf by its description."""
    head, *constraints = description.split(" ")
    word = head.removesuffix(REQUIRED)
    groups: tuple[str, ...] = ()
    for prefix in (PLUGIN, _NAME):
        if word.startswith(prefix):
            groups = tuple(word.removeprefix(prefix).split(","))
            word = "plugin"
    values = dict(part.split(":", 1) for part in constraints if ":" in part)
    signs = {part: next((sign for sign in _COMPARISONS if part.startswith(sign)), None) for part in constraints}
    return Leaf(
        word=word,
        groups=groups,
        required=head.endswith(REQUIRED),
        nonempty="nonempty" in constraints,
        bounds=tuple((sign, float(part.removeprefix(sign))) for part, sign in signs.items() if sign),
        choices=_choices(values.get("one-of")),
        folded=_choices(values.get("folded")),
    )


def _choices(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(text.split("|"))


def problems(reading: Reading, value: object, shape: object) -> Iterator[Problem]:
    """Yield every problem of a value that does not have the shape. A value of null counts as absent."""
    if value is None:
        return
    if isinstance(shape, dict):
        yield from _mapping(reading, value, cast("dict[str, Any]", shape))
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield Problem(reading.path, "is not a list", "write a list: [a, b]")
            return
        item_shape = cast("list[object]", shape)[0]
        for index, item in enumerate(cast("list[object]", value)):
            yield from problems(reading.at(index), _item(item, item_shape), item_shape)
    else:
        problem = leaf_problem(reading.path, value, cast("str", shape))
        if problem is not None:
            yield problem


def _item(value: object, shape: object) -> object:
    """Return an item of a list. A null item stands for an empty mapping or an empty text."""
    if value is not None:
        return value
    if isinstance(shape, dict):
        return dict[str, object]()
    return ""


def leaf_problem(path: Path, value: object, description: str) -> Problem | None:
    """Return the problem of a value that does not fit the description of a leaf. None if the value fits."""
    facts = leaf(description)
    what, remedy = WORDS[facts.word]
    if facts.word == "never":
        return Problem(path, f"is not {what}", remedy)
    try:
        read = _READERS[facts.word](value)
    except ValueError:
        return Problem(path, f"is not {what}", remedy)
    if facts.nonempty and read == "":
        return Problem(path, "is empty", remedy)
    return _beyond_bounds(path, read, facts) or _no_choice(path, read, facts)


def _beyond_bounds(path: Path, read: object, facts: Leaf) -> Problem | None:
    for sign, bound in facts.bounds:
        holds, what, remedy = _COMPARISONS[sign]
        if read is not None and not holds(cast("Any", read), bound):
            return Problem(path, f"{what} {bound:g}", f"write a value {remedy} {bound:g}")
    return None


def _no_choice(path: Path, read: object, facts: Leaf) -> Problem | None:
    items = [cast("str", read)]
    if isinstance(read, list):
        items = cast("list[str]", read)
    known = facts.choices
    if facts.folded is not None:
        known = facts.folded
        items = [fold(item) for item in items]
    if known is None or all(item in known for item in items):
        return None
    shown = [choice for choice in known if choice]
    if len(shown) > _FEW:
        return Problem(path, "is no known value", f"write a known value, such as {shown[-1]}")
    if len(shown) == 1:
        return Problem(path, f"is not {shown[0]}", f"write {shown[0]}")
    return Problem(path, f"is not {' or '.join(shown)}", "write one of them")


def fold(text: str) -> str:
    """Return a text in lower case without hyphens and underscores."""
    return text.lower().replace("-", "").replace("_", "")


def references(path: Path, value: object, shape: object) -> Iterator[PluginReference]:
    """Yield every mention of a plugin in a value. Empty names are skipped."""
    if isinstance(shape, str):
        if isinstance(value, str) and value and shape.startswith((PLUGIN, _NAME)):
            yield PluginReference(path, value, leaf(shape).groups, shape.startswith(PLUGIN))
    elif isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from references(path / index, item, cast("list[object]", shape)[0])
    elif isinstance(shape, dict) and isinstance(value, dict):
        keys = cast("dict[str, object]", shape)
        for key, inner in cast("dict[str, object]", value).items():
            if key in keys or "*" in keys:
                yield from references(path / key, inner, keys.get(key, keys.get("*")))


def canonical(value: object, shape: object) -> object:
    """Return a value with its keys spelt as in the shape. Keys that differ only in case are the same."""
    if isinstance(value, dict) and isinstance(shape, dict):
        keys = cast("dict[str, object]", shape)
        spelled = {known_key(key, keys) or key: inner for key, inner in cast("dict[str, object]", value).items()}
        return {key: canonical(inner, keys.get(key, keys.get("*"))) for key, inner in spelled.items()}
    if isinstance(value, list) and isinstance(shape, list):
        return [canonical(item, cast("list[object]", shape)[0]) for item in cast("list[object]", value)]
    return cast("object", value)


def known_key(key: str, shape: Mapping[str, object], *, folds: bool = True) -> str | None:
    """Return the key in `shape` that equals `key`, or None. `folds` tells whether to ignore case."""
    if key in shape:
        return key
    lower = str(key).lower()
    return next((known for known in shape if folds and known.lower() == lower), None)


def without_constraints(shape: object) -> object:
    """Return a shape without the constraints on the values of its leaves."""
    if isinstance(shape, dict):
        return {key: without_constraints(inner) for key, inner in cast("dict[str, object]", shape).items()}
    if isinstance(shape, list):
        return [without_constraints(inner) for inner in cast("list[object]", shape)]
    return cast("str", shape).split(" ")[0]


def with_other_keys(shape: object) -> object:
    """Return a shape whose mappings take any further keys."""
    if isinstance(shape, dict):
        inner = {key: with_other_keys(value) for key, value in cast("dict[str, object]", shape).items()}
        return {"*": "any", **inner}
    if isinstance(shape, list):
        return [with_other_keys(item) for item in cast("list[object]", shape)]
    return shape


def kind(word: str) -> str:
    """Return the type that the description of a leaf requires, such as `integer` or `plugin`."""
    return leaf(word).word


def fits(value: object, word: str) -> bool:
    """Tell whether a value fits the description of a leaf."""
    return leaf_problem(Path(), value, word) is None


def likeliest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is closest to `name`. None if no known name is close."""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1)), None)


def suggestion(name: str, known: Collection[str]) -> str | None:
    """Return a remedy that asks whether the closest known name is meant. None if no known name is close."""
    likely = likeliest(name, known)
    if likely is None:
        return None
    return f"did you mean {likely}?"


def _mapping(reading: Reading, value: object, shape: Mapping[str, Any]) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(reading.path, "is not a mapping", "write keys with values below it")
        return
    keys = cast("dict[str, object]", value)
    suggested = set[str | None]()
    spelled = dict[str, object]()
    for key, inner in keys.items():
        known = known_key(key, shape, folds=reading.folds)
        if known is not None or "*" in shape:
            spelled[known or key] = inner
            yield from problems(reading.at(key), inner, shape[known or "*"])
        else:
            suggested.add(likeliest(key, shape.keys()))
            yield _unknown_key(reading, key, shape)
    for key, inner in shape.items():
        if isinstance(inner, str) and leaf(inner).required and spelled.get(key) in (None, "") and key not in suggested:
            yield Problem(reading.at(key).path, "is missing", "add it")


def _unknown_key(reading: Reading, key: str, shape: Mapping[str, Any]) -> Problem:
    remedy = suggestion(key, shape.keys()) or f"known here: {', '.join(sorted(shape))}"
    if not shape:
        remedy = "remove it; no keys are known here"
    return Problem(reading.at(key).path, f"unknown {reading.noun} ({key})", remedy)
