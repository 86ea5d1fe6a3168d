"""From the tree that a user wrote to a `Stack`, or to every problem in it at once.

The layers of the tree are merged first, and the result is validated once; a problem is reported where its value was
written, once, however many services inherit it. A tree with mistakes is repaired (a mistaken leaf gives way to its
default or its field's example) so that the checks which need a whole stack can still run and report beside them.
"""

import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from models import fields
from models.layers import Layer, effective
from models.paths import Path
from models.problems import ConfigError, Problem, echo
from models.stack import Stack

ROOT = "inference-stacks:stack"
"""The configuration key that holds the tree; paths in messages start below it."""
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
    repaired: tuple[Path, ...]
    """Paths in the merged tree, and where the user wrote them."""
    merged: Layer
    """The tree of the stack, which knows where each value was written."""

    def finish(self, further: Sequence[Problem] = ()) -> Stack:
        """Return the stack, or raise `ConfigError` with all problems that do not rest on a repaired value.

        The paths of `further` are those of the merged tree, such as `services.qwen.prefill.engine.args[0]`.
        """
        sound = [
            problem
            for problem in further
            if not any(_within(path, self.repaired) for path in (problem.path, *problem.depends_on))
        ]
        written = list(self._as_written(sound))
        if self.problems or written:
            raise ConfigError(_once((*self.problems, *written)))
        return self.stack

    def _as_written(self, problems: Sequence[Problem]) -> Iterator[Problem]:
        """Yield problems where their values were written; nothing where a value is none there.

        What a canary inherits is its service's mistake only where the service makes it, too: beside what the canary
        says itself it may be wrong all the same.
        """
        placed = [(one, self._where(one)) for one in problems]
        services = {(at, one.what) for one, (at, canary) in placed if not canary}
        canaries = dict[tuple[Path, Path, str], Path]()
        for one, (at, canary) in placed:
            if one.said and at != one.path:
                continue
            is_services = not canary or (at, one.what) in services or at.is_within(canary)
            first = canaries.setdefault((canary, at, one.what), at if is_services else one.path)
            yield replace(one, path=first)

    def _where(self, problem: Problem) -> tuple[Path, Path]:
        """Return where the value of a problem was written, and the path of the canary whose problem it is, if any."""
        path = problem.path
        canary = Path(*path[:3]) if path[:1] == ("services",) and path[2:3] == ("canary",) else Path()
        return self.merged.written(path, absent=not self.merged.holds(path)), canary


def load(tree: object) -> Loaded:
    """Read a configuration tree of plain values.

    Raises `ConfigError` where not even a repaired stack can be had (the tree is no mapping, or has no services).
    """
    if not isinstance(tree, dict) or not tree:
        raise ConfigError([Problem(Path(ROOT), "is missing or empty", "write at least namespace and services")])
    merged = effective(cast("dict[str, Any]", tree))
    # What defaults say is judged in the services that inherit it.
    defaults = merged.tree.pop("defaults", {})
    problems, repaired = list(merged.problems), [problem.path for problem in merged.problems]
    while True:
        try:
            stack = Stack.model_validate(merged.tree).model_copy(update={"defaults": defaults})
            return Loaded(stack, tuple(_once(problems)), tuple(repaired), merged)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        found = [_problem(merged, details) for details in errors]
        missing = {_path(merged.tree, details) for details in errors if details["type"] == "missing"}
        misspelt = missing & {
            _meant(merged.tree, details) for details in errors if details["type"] == "extra_forbidden"
        }
        told = [(path, problem) for path, problem in found if path not in misspelt]
        problems += [problem for path, problem in told if not _rests_on(path, repaired)]
        before = copy.deepcopy(merged.tree)
        for path, problem in found:
            repaired += [problem.path, path, _repair(merged.tree, path)]
        if merged.tree == before or not merged.tree.get("services"):
            raise ConfigError(_once(problems))


def _once(problems: Iterable[Problem]) -> list[Problem]:
    """Drop what several services inherited from one place."""
    return list({(problem.path, problem.what, problem.remedy): problem for problem in problems}.values())


def _within(path: Path, repaired: Sequence[Path]) -> bool:
    """Say whether `path` or something above it was repaired."""
    return any(path.is_within(other) for other in repaired)


def _rests_on(path: Path, repaired: Sequence[Path]) -> bool:
    """Say whether a verdict on the value at `path` read something that was repaired."""
    return _within(path, repaired) or any(other.is_within(path) for other in repaired)


def _problem(merged: Layer, details: ErrorDetails) -> tuple[Path, Problem]:
    """Return the path in the merged tree, and the problem where the user wrote it."""
    path = _path(merged.tree, details)
    written = merged.written(path, absent=details["type"] == "missing")
    return path, Problem(written or Path(ROOT), *_what(path, details))


def _path(tree: object, details: ErrorDetails) -> Path:
    """Drop from pydantic's location what stands in no tree: the tags of unions and the marker of a map's key."""
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
    return Path(*path)


def _what(path: Path, details: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong and what would be right."""
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    shown = echo(path, value)
    match kind:
        case "problem":
            verdict = context["what"] + (shown if context["echoed"] else ""), context["remedy"]
        case "extra_forbidden":
            verdict = f"unknown key ({path[-1]})", _suggestion(path, details["loc"][-2:-1])
        case "missing":
            example = _example(path)
            verdict = "is missing", "add it" + (f", such as {example}" if example else "")
        case "literal_error":
            expected = context["expected"].replace("'", "")
            verdict = f"is not one of {expected}{shown}", "choose one of them"
        case "union_tag_invalid":
            tags = context["expected_tags"].replace("'", "")
            written = cast("Mapping[str, object]", value).get("type")
            verdict = f"is of no known type{echo(path, written)}", f"write type: with one of {tags}"
        case "union_tag_not_found":
            tags = ", ".join(tag for model in fields.specs_at(path) for tag in fields.type_tags(model))
            verdict = "does not say its type", f"add type: with one of {tags}"
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
    if kind == "int_type" and isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+", value):
        return f"is text{shown}", "write the number without quotes"
    return f"is not {noun}{shown}", remedy


def _meant(tree: object, details: ErrorDetails) -> Path:
    """Return where the key that an unknown one means would stand, so that it is not reported missing besides."""
    path = _path(tree, details)
    return Path(*path[:-1], *_likest(path, _known(path, details["loc"][-2:-1])))


def _likest(path: Path, names: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(str(path[-1]), names, n=1)


def _known(path: Path, tag: tuple[str | int, ...]) -> list[str]:
    """Return the keys that may stand beside one; of specs that `type` tells apart, only the written one counts."""
    models = fields.specs_at(path.parent)
    chosen = [model for model in models if set(tag) & set(fields.type_tags(model))] or models
    return [field.alias or name for model in chosen for name, field in model.model_fields.items()]


def _suggestion(path: Path, tag: tuple[str | int, ...]) -> str:
    names = _known(path, tag)
    close = _likest(path, names)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(names)}"


def _example(path: Path) -> str:
    """Return the field's example as a user would write it on one line."""
    field = fields.field_at(path)
    return _flow(field.examples[0]) if field is not None and field.examples else ""


def _flow(value: object) -> str:
    """Write a value as YAML on one line."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in cast("dict[str, object]", value).items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, cast("list[object]", value))) + "]"
    return str(value)


def _repair(tree: dict[str, Any], path: Path) -> Path:
    """Put the field's example where a required value is mistaken or missing; take anything else away.

    A list goes as a whole, so that no other item of it changes its number. Returns the path of what was repaired.
    """
    path = Path(*path[: next((index for index, part in enumerate(path) if isinstance(part, int)), len(path))])
    at: Any = tree
    for part in path[:-1]:
        if not isinstance(at, dict) or part not in at:
            return path
        at = cast("dict[Any, Any]", at)[part]
    field = fields.field_at(path)
    if field is not None and field.is_required() and field.examples:
        at[path[-1]] = copy.deepcopy(field.examples[0])
    elif isinstance(at, dict) and path:
        cast("dict[Any, Any]", at).pop(path[-1], None)
    return path
