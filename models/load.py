"""From the tree that a user wrote to a `Stack`, or to every problem in it at once.

A tree with mistakes is repaired (a mistaken leaf gives way to its default or its field's example) so that the checks
which need a whole stack can still run and report beside them.
"""

import copy
import difflib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union, cast

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from models.problems import ConfigError, Problem, dotted, echo
from models.stack import Stack

ROOT = "inference-stacks:stack"
"""The configuration key that holds the tree; paths in messages start below it."""
Path = tuple[str | int, ...]
_NOUNS = {
    "string_type": ("a string", "write text"),
    "int_type": ("a whole number", "write a number without a fraction"),
    "int_from_float": ("a whole number", "write a number without a fraction"),
    "bool_type": ("true or false", "write true or false"),
    "tuple_type": ("a list", "write a list: [a, b]"),
    "dict_type": ("a mapping", "write keys with values below it"),
    "model_type": ("a mapping", "write keys with values below it"),
    "model_attributes_type": ("a mapping", "write keys with values below it"),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A stack that further checks may read, the problems found so far and the paths that were repaired."""

    stack: Stack
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...]

    def finish(self, further: Sequence[Problem] = ()) -> Stack:
        """Return the stack, or raise `ConfigError` with all problems that do not rest on a repaired value."""
        sound = [problem for problem in further if not any(_within(path, self.repaired) for path in problem.depends_on)]
        if self.problems or sound:
            raise ConfigError((*self.problems, *sound))
        return self.stack


def load(tree: object) -> Loaded:
    """Read a configuration tree of plain values.

    Raises `ConfigError` where not even a repaired stack can be had (the tree is no mapping, or has no services).
    """
    working = copy.deepcopy(cast("dict[str, Any]", tree)) if isinstance(tree, dict) else {}
    if not working:
        raise ConfigError([Problem(ROOT, "is missing or empty", "write at least namespace and services")])
    problems: list[Problem] = [*_nulls(working)]
    repaired = [problem.path for problem in problems]
    while True:
        try:
            return Loaded(Stack.model_validate(working), tuple(dict.fromkeys(problems)), tuple(repaired))
        except ValidationError as error:
            found = [_problem(working, details) for details in error.errors(include_url=False)]
        problems += [problem for _, problem in found]
        repaired += [problem.path for _, problem in found]
        before = copy.deepcopy(working)
        for path, _ in found:
            _repair(working, path)
        if working == before or not working.get("services"):
            raise ConfigError(problems)


def _within(path: str, repaired: Sequence[str]) -> bool:
    """Say whether `path` or something above it was repaired."""
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in repaired)


def _nulls(tree: dict[str, Any], above: Path = ()) -> Iterator[Problem]:
    """Report and remove every null: it is no value, and nothing is inherited that it could remove."""
    for key, value in list(tree.items()):
        path = (*above, key)
        if value is None:
            yield Problem(
                dotted(path),
                "has no value (null) and nothing is inherited that it could remove",
                "write {} for its defaults, or delete the line",
            )
            del tree[key]
        elif isinstance(value, dict):
            yield from _nulls(cast("dict[str, Any]", value), path)


def _problem(tree: dict[str, Any], details: ErrorDetails) -> tuple[Path, Problem]:
    path = _as_written(tree, details)
    return path, Problem(dotted(path) or ROOT, *_what(path, details))


def _as_written(tree: object, details: ErrorDetails) -> Path:
    """Drop from pydantic's location what the user did not write: the tags of unions and the marker of a map's key."""
    at, path = tree, list[str | int]()
    location = [part for part in details["loc"] if part != "[key]"]
    for index, part in enumerate(location):
        last = index == len(location) - 1
        inside = cast("Mapping[str, Any]", at) if isinstance(at, dict) else None
        absent = inside is not None and part not in inside
        if absent and not (last and details["type"] in {"missing", "extra_forbidden"}):
            continue
        path.append(part)
        if inside is not None:
            at = inside.get(cast("str", part))
        elif isinstance(at, list) and isinstance(part, int) and part < len(cast("list[Any]", at)):
            at = cast("list[Any]", at)[part]
    return tuple(path)


def _what(path: Path, details: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong and what would be right."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    shown = echo(path, value)
    match kind:
        case "problem":
            verdict = context["what"] + (shown if context["echoed"] else ""), context["remedy"]
        case "extra_forbidden":
            verdict = f"unknown key ({path[-1]})", _suggestion(path)
        case "missing":
            example = _example(path)
            verdict = "is missing", "add it" + (f", such as {example}" if example else "")
        case "literal_error":
            expected = context["expected"].replace("'", "")
            verdict = f"is not one of {expected}{shown}", "choose one of them"
        case "union_tag_invalid":
            tags = context["expected_tags"].replace("'", "")
            verdict = f"is of no known type ({context['tag']})", f"write type: with one of {tags}"
        case "union_tag_not_found":
            verdict = "does not say its type", "add type:"
        case "too_long" | "too_short":
            most, least = context.get("max_length"), context.get("min_length")
            verdict = (
                f"has {context['actual_length']} entries",
                f"write at most {most}" if most is not None else f"write at least {least}",
            )
        case _:
            verdict = _wrong_type(kind, value, shown)
    return verdict


def _wrong_type(kind: str, value: object, shown: str) -> tuple[str, str]:
    noun, remedy = _NOUNS.get(kind, ("valid", "see the schema for what may stand here"))
    if kind == "string_type" and isinstance(value, bool | int | float):
        noun = "a boolean" if isinstance(value, bool) else "a number"
        return f"is {noun}{shown}", "write it quoted" + (f': "{shown.strip(" ()")}"' if shown else "")
    if kind == "int_type" and isinstance(value, str):
        return f"is text{shown}", "write the number without quotes"
    return f"is not {noun}{shown}", remedy


def _fields(path: Path) -> dict[str, FieldInfo]:
    """Return the fields that may stand at a path, by the names that users write."""
    models: list[object] = [Stack]
    for part in path:
        models = [inner for model in models for inner in _inside(model, part)]
    return {
        field.alias or name: field
        for model in models
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name, field in model.model_fields.items()
    }


def _inside(annotation: object, part: str | int) -> Iterator[object]:
    """Yield the types that stand below `part`, with optional and annotated wrappers taken off."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if (field.alias or name) == part:
                yield from _bare(field.annotation)
    elif typing.get_origin(annotation) in {dict, tuple}:
        yield from _bare(typing.get_args(annotation)[0 if isinstance(part, int) else 1])


def _bare(annotation: object) -> Iterator[object]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _bare(typing.get_args(annotation)[0])
    elif origin in {Union, types.UnionType}:
        for member in typing.get_args(annotation):
            yield from _bare(member)
    elif annotation is not type(None):
        yield annotation


def _suggestion(path: Path) -> str:
    names = list(_fields(path[:-1]))
    close = difflib.get_close_matches(str(path[-1]), names, n=1)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(names)}"


def _field(path: Path) -> FieldInfo | None:
    return _fields(path[:-1]).get(str(path[-1])) if path else None


def _example(path: Path) -> str:
    """Return the field's example as a user would write it on one line."""
    field = _field(path)
    value: object = field.examples[0] if field is not None and field.examples else ""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {inner}" for key, inner in cast("dict[str, object]", value).items()) + "}"
    return str(value)


def _repair(tree: dict[str, Any], path: Path) -> None:
    """Put the field's example where a required value is mistaken or missing; take anything else away."""
    at: Any = tree
    for part in path[:-1]:
        if isinstance(at, dict) and part not in at:
            return
        at = cast("Any", at)[part]
    field = _field(path)
    if field is not None and field.is_required() and field.examples:
        at[path[-1]] = copy.deepcopy(field.examples[0])
    elif isinstance(at, dict):
        cast("dict[str, Any]", at).pop(cast("str", path[-1]), None)
    elif isinstance(at, list) and isinstance(path[-1], int) and path[-1] < len(cast("list[Any]", at)):
        del at[path[-1]]
