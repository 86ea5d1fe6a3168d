"""Values of any shape: their mappings and items, and problems that several rules have in common."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from models.paths import Path
from models.problems import Problem, echo

Tree = Mapping[str, Any]
_NOTHING: Tree = {}


def mapping(value: object) -> Tree:
    """Return the value if it is a mapping, or else an empty mapping."""
    return cast("Tree", value) if isinstance(value, Mapping) else _NOTHING


def items(value: object) -> Sequence[Any]:
    """Return the value if it is a list, or else an empty list."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()


def trees(at: Path, value: object) -> Iterator[tuple[Path, Tree]]:
    """Yield the mappings in a list, each after its path."""
    for index, item in enumerate(items(value)):
        if isinstance(item, Mapping):
            yield at / index, cast("Tree", item)


def number(value: object) -> int | None:
    """Return a whole number; None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def one_of(at: Path, value: object, known: Collection[str]) -> Iterator[Problem]:
    """Reject a text that is not among the known ones."""
    if isinstance(value, str) and value not in known:
        *others, last = known
        remedy = f"write {', '.join(others)} or {last}" if others else f"write {last}"
        yield Problem(at, f"is not known to Kubernetes{echo(at, value)}", remedy)


def between(at: Path, value: object, low: int, high: int | None = None) -> Iterator[Problem]:
    """Reject a whole number outside of a range; the range has no end if `high` is None."""
    given = number(value)
    if given is not None and (given < low or (high is not None and given > high)):
        range_text = f"not from {low} to {high}" if high is not None else f"below {low}"
        remedy = f"write a number from {low} to {high}" if high is not None else f"write {low} or more"
        yield Problem(at, f"is {range_text}{echo(at, value)}", remedy)
