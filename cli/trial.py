"""Trial of a configuration that a program wrote: values that are refused are taken out until the rest plans."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from composition import Composition, Given, compose
from judging.validation import SchemaError
from migration.printing import CommentedOut
from models import cleartext, flags
from models.paths import Path
from models.problems import ConfigError, Problem
from models.trees import mapping, sequence
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.marks import StackName

_NAME = StackName("organization", "inference-stacks", "converted")
_MOST_ROUNDS = 60
"""Maximum number of trials. A trial after which something is left to refuse takes out at least one value."""
_ARGUMENTS = ("args",)
_WITHOUT_SERVICE = "is of no use without a service; write the services below"
_UNPLANNED = "the program cannot plan the configuration"


@dataclass(frozen=True, slots=True)
class Tried:
    """A configuration that loads and plans, and what was taken out of it."""

    tree: dict[str, Any]
    """The configuration; empty if nothing of it is accepted."""
    refused: tuple[CommentedOut, ...]
    credentials: tuple[Path, ...]
    """Paths of credentials, which are shown nowhere."""
    objects: tuple[Mapping[str, Any], ...] = ()
    """Objects that the accepted configuration makes."""


def run(tree: dict[str, Any]) -> Tried:
    """Return the part of a configuration that loads and plans without facts of a cluster. Nobody is contacted."""
    tree = copy.deepcopy(tree)
    credentials = [problem.path for problem in cleartext.problems(tree)]
    for path in sorted(credentials, key=len, reverse=True):
        _remove(tree, path)
    refused = list[CommentedOut]()
    for _ in range(_MOST_ROUNDS):
        if not mapping(tree.get("services")):
            rest = [CommentedOut(Path(key), value, _WITHOUT_SERVICE) for key, value in tree.items() if value]
            return Tried({}, (*rest, *refused), tuple(credentials))
        result = _compose(tree)
        if isinstance(result, Composition):
            objects = tuple(rendered.manifest for rendered in result.objects)
            return Tried(tree, tuple(refused), tuple(credentials), objects)
        refused = _join(refused, _take_out(tree, result))
    return Tried({}, (*refused, CommentedOut(Path("services"), tree.get("services"), _UNPLANNED)), tuple(credentials))


def _compose(tree: dict[str, Any]) -> Composition | Sequence[Problem]:
    """Return the composition of a configuration, or the problems for which it is refused."""
    try:
        result = compose(copy.deepcopy(tree), Given(NOTHING_READ), _NAME, asks_sources=False)
    except ConfigError as error:
        return error.problems
    if isinstance(result, Composition):
        return result
    if isinstance(result.error, SchemaError):
        return [Problem(Path("services"), _UNPLANNED)]
    return result.error.problems


def _take_out(tree: dict[str, Any], problems: Iterable[Problem]) -> list[CommentedOut]:
    """Remove the values of some problems, the deepest first, so that positions in lists stay right."""
    reasons = dict[Path, list[str]]()
    for problem in problems:
        path = _start_of_flag(tree, _existing(tree, problem.path))
        reasons.setdefault(path, []).append(_reason(problem, path))
    refused = list[CommentedOut]()
    for path in sorted(reasons, key=lambda path: tuple(map(_sort_key, path)), reverse=True):
        if any(other != path and path.is_within(other) for other in reasons):
            continue
        reason = "; ".join(dict.fromkeys(reasons[path]))
        refused += _commented_out(tree, path, reason)[::-1]
    return refused[::-1]


def _start_of_flag(tree: dict[str, Any], path: Path) -> Path:
    """Return the path of the flag to which an argument belongs; any other path as it is."""
    if not _is_argument(path):
        return path
    first, _ = _bounds_of_flag(_at(tree, path.parent), int(path[-1]))
    return path.parent / first


def _commented_out(tree: dict[str, Any], path: Path, reason: str) -> list[CommentedOut]:
    """Remove the value at a path, and return it. The values of a flag are removed with the flag."""
    if not _is_argument(path):
        return [CommentedOut(path, _remove(tree, path), reason)]
    first, end = _bounds_of_flag(_at(tree, path.parent), int(path[-1]))
    values = [_remove(tree, path) for _ in range(first, end)]
    return [CommentedOut(path, value, "" if number else reason) for number, value in enumerate(values)]


def _is_argument(path: Path) -> bool:
    return path.parent[-1:] == _ARGUMENTS and isinstance(path[-1], int)


def _bounds_of_flag(arguments: object, index: int) -> tuple[int, int]:
    """Return the first position of the flag to which an argument belongs, and the one after its last value.

    A value after the first one may be no value of the flag. Then the flag stays.
    """
    for flag in flags.parse([str(argument) for argument in sequence(arguments)]):
        end = flag.index + len(flag.tokens)
        if flag.index <= index < end:
            if index > flag.index + 1 or not flag.name:
                return index, end
            return flag.index, end
    return index, index + 1


def _at(tree: object, path: Path) -> object:
    for part in path:
        tree = sequence(tree)[part] if isinstance(part, int) else mapping(tree).get(part)
    return tree


def _join(earlier: Sequence[CommentedOut], later: Sequence[CommentedOut]) -> list[CommentedOut]:
    """Return all refused values. A value around earlier ones gets these back, with their reasons."""
    merged = list(earlier)
    for outer in later:
        inner = [value for value in merged if value.path != outer.path and value.path.is_within(outer.path)]
        reasons = [f"{value.path.below(outer.path)} {value.reason}" for value in inner if value.reason]
        holder = {"": copy.deepcopy(outer.value)}
        for value in inner[::-1]:
            _restore(holder, Path("", *value.path.below(outer.path)), value.value)
        merged = [value for value in merged if value not in inner]
        merged.append(CommentedOut(outer.path, holder[""], "; ".join([outer.reason, *reasons])))
    return merged


def _restore(tree: object, path: Path, value: object) -> None:
    """Put a value back to its path in a tree, if its holder is still there."""
    for part in path[:-1]:
        if isinstance(tree, dict):
            tree = cast("dict[Any, Any]", tree).get(part)
        elif isinstance(tree, list) and isinstance(part, int) and part < len(cast("list[Any]", tree)):
            tree = cast("list[Any]", tree)[part]
    last = path[-1]
    if isinstance(tree, dict):
        cast("dict[Any, Any]", tree)[last] = value
    elif isinstance(tree, list) and isinstance(last, int):
        cast("list[Any]", tree).insert(last, value)


def _sort_key(part: str | int) -> tuple[str, int]:
    if isinstance(part, int):
        return "", part
    return part, 0


def _existing(tree: dict[str, Any], path: Path) -> Path:
    """Return the path of the value to take out: the longest beginning of a path that is there.

    The whole configuration is never taken out, but its services are.
    """
    value: object = tree
    existing = Path()
    for part in path:
        if isinstance(value, dict) and part in value:
            value = cast("dict[Any, Any]", value)[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[part]
        else:
            break
        existing /= part
    return existing or Path("services")


def _reason(problem: Problem, path: Path) -> str:
    text = str(Problem(Path(), problem.what, problem.remedy))
    if path == problem.path or not problem.path:
        return text
    if not problem.path.is_within(path):
        return f"{problem.path} {text}"
    return f"{problem.path.below(path)} {text}"


def _remove(tree: object, path: Path) -> object:
    """Remove the value at a path of a tree, and return it; None if it is gone already."""
    for part in path[:-1]:
        if isinstance(tree, dict):
            tree = cast("dict[Any, Any]", tree).get(part)
        elif isinstance(tree, list) and isinstance(part, int):
            tree = cast("list[Any]", tree)[part]
    last = path[-1]
    if isinstance(tree, dict):
        return cast("dict[Any, Any]", tree).pop(last, None)
    if isinstance(tree, list) and isinstance(last, int):
        return cast("list[Any]", tree).pop(last)
    return None
