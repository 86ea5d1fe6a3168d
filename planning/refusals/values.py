"""Values of any shape, and problems that several rules have in common."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from models.paths import Path
from models.problems import Problem, echo
from models.trees import sequence

Tree = Mapping[str, Any]


def trees(at: Path, value: object) -> Iterator[tuple[Path, Tree]]:
    """Yield the mappings in a list, each after its path."""
    for index, item in enumerate(sequence(value)):
        if isinstance(item, Mapping):
            yield at / index, cast("Tree", item)


def number(value: object) -> int | None:
    """Return a whole number; None for any other value."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None


def one_of(at: Path, value: object, known: Collection[str]) -> Iterator[Problem]:
    """Reject a text that is not among the known ones."""
    if isinstance(value, str) and value not in known:
        *others, last = known
        remedy = f"write {last}"
        if others:
            remedy = f"write {', '.join(others)} or {last}"
        yield Problem(at, f"is not known to Kubernetes{echo(at, value)}", remedy)


def between(at: Path, value: object, low: int, high: int | None = None) -> Iterator[Problem]:
    """Reject a whole number outside of a range; the range has no end if `high` is None."""
    whole = number(value)
    if whole is None or (whole >= low and (high is None or whole <= high)):
        return
    if high is None:
        yield Problem(at, f"is below {low}{echo(at, value)}", f"write {low} or more")
    else:
        yield Problem(at, f"is not from {low} to {high}{echo(at, value)}", f"write a number from {low} to {high}")
