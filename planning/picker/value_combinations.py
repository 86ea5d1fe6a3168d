"""Demands on several values together, such as two parameters that exclude each other."""

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from models.trees import mapping, sequence
from planning.picker import value_shapes
from planning.releases.plugins import Condition, Demand

_COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], str, str]] = {
    "above": (operator.gt, "is not above", "above"),
    "at_least": (operator.ge, "is below", "of at least"),
    "below": (operator.lt, "is not below", "below"),
    "at_most": (operator.le, "is above", "of at most"),
}


@dataclass(frozen=True, slots=True)
class DemandScope:
    """A mapping to which conditions apply."""

    path: Path
    values: Mapping[str, Any]
    defaults: Mapping[str, Any]
    """Default values of absent keys, by the dotted paths of the keys."""
    declared: Collection[str] = ()
    """Names of declared plugins."""

    def all(self, dotted: str) -> list[object]:
        """Return the values at a path: a single value, or the values of all items of a list.

        If the only value is absent, return the default of the path instead.
        """
        values = _values(self.values, dotted.split("."))
        if values == [None] and dotted in self.defaults:
            return [self.defaults[dotted]]
        return values

    def place(self, dotted: str) -> Path:
        """Return the full path of a value."""
        return Path(*self.path, *dotted.split("."))

    def writes_null(self, dotted: str) -> bool:
        """Tell whether the value at a path is an explicit null."""
        *parents, key = dotted.split(".")
        return any(mapping(value).get(key, "") is None for value in _values(self.values, parents))


def problems(scope: DemandScope, rules: Sequence[Demand]) -> Iterator[Problem]:
    """Yield a problem for each rule that the values break."""
    for rule in rules:
        for inner in _scopes(scope, rule):
            if all(holds(condition, inner, otherwise=False) for condition in rule.when):
                yield from _broken(rule, inner)


def holds(condition: Condition, scope: DemandScope, *, otherwise: bool) -> bool:
    """Tell whether a condition holds for at least one of the values at the condition's path.

    `otherwise` is the result of a comparison if the value or the bound is absent, or is not a number.
    """
    if condition.null is not None and scope.writes_null(condition.at) != condition.null:
        return False
    return any(_holds(condition, scope, value, otherwise) for value in scope.all(condition.at))


def _scopes(scope: DemandScope, rule: Demand) -> Iterator[DemandScope]:
    """Yield the scopes to which a rule applies: `scope` itself, or each mapping in the list at `rule.items_of`."""
    if rule.items_of is None:
        yield scope
        return
    if not all(holds(condition, scope, otherwise=False) for condition in rule.parent):
        return
    for value in scope.all(rule.items_of):
        for index, item in enumerate(sequence(value)):
            if isinstance(item, dict):
                yield DemandScope(scope.place(rule.items_of) / index, cast("dict[str, Any]", item), {}, scope.declared)


def _broken(rule: Demand, scope: DemandScope) -> Iterator[Problem]:
    if holds(rule.must, scope, otherwise=True):
        return
    others = [condition.at for condition in rule.when if condition.at != rule.must.at]
    beside = ""
    if others:
        beside = f" beside {' and '.join(dict.fromkeys(others))}"
    what, remedy = _message(rule.must, scope)
    if rule.must.empty and not rule.when:
        what = "cannot be used"
        remedy = "remove it"
    yield Problem(scope.place(rule.must.at), f"{what}{beside}", remedy)


def _holds(condition: Condition, scope: DemandScope, value: object, otherwise: bool) -> bool:  # noqa: FBT001
    tests = (
        _is_among(condition, scope, value),
        _compares(condition, scope, value, otherwise=otherwise),
        condition.empty is None or _is_empty(value) == condition.empty,
        condition.blank is None or (_is_empty(value) or not str(value).strip()) == condition.blank,
        condition.present is None or (value is not None) == condition.present,
        _fits(condition, value),
        condition.declared is None or (_is_empty(value) or value in scope.declared) == condition.declared,
        _has_length(condition, value),
        condition.unique is None or not _repeats(condition, value),
    )
    return all(tests)


def _is_among(condition: Condition, scope: DemandScope, value: object) -> bool:
    known = list(condition.any_of or [])
    if condition.or_value_of is not None:
        known += scope.all(condition.or_value_of)
    return (
        (condition.any_of is None or any(_is_same(value, choice) for choice in known))
        and not any(_is_same(value, choice) for choice in condition.not_in or [])
        and (condition.folded is None or (isinstance(value, str) and value_shapes.fold(value) in condition.folded))
    )


def _compares(condition: Condition, scope: DemandScope, value: object, *, otherwise: bool) -> bool:
    if condition.differs is not None and any(_is_same(value, other) for other in scope.all(condition.differs)):
        return value is None
    for field, (compare, _, _) in _COMPARISONS.items():
        bound = getattr(condition, field)
        if bound is None:
            continue
        other = bound
        if isinstance(bound, str):
            other = scope.all(bound)[0]
        if not (_is_number(value) and _is_number(other)):
            return otherwise
        if not compare(value, other):
            return False
    return True


def _fits(condition: Condition, value: object) -> bool:
    if condition.fits is not None:
        if value is None:
            return not value_shapes.leaf(condition.fits).required
        return value_shapes.fits(value, condition.fits)
    return condition.items is None or all(value_shapes.fits(item, condition.items) for item in sequence(value))


def _has_length(condition: Condition, value: object) -> bool:
    length = len(sequence(value))
    return (condition.count is None or length == condition.count) and (
        condition.max_items is None or length <= condition.max_items
    )


def _repeats(condition: Condition, value: object) -> bool:
    """Tell whether a list has two items with the same key."""
    keys = [_key(condition, item) for item in sequence(value)]
    return any(_is_same(key, other) for index, key in enumerate(keys) for other in keys[:index])


def _key(condition: Condition, item: object) -> object:
    key = item
    if condition.unique:
        key = mapping(item).get(condition.unique)
        if key is None:
            key = condition.otherwise
    if condition.ignore_case and isinstance(key, str):
        return key.lower()
    return key


def _message(condition: Condition, scope: DemandScope) -> tuple[str, str]:
    """Return what is wrong with a value that does not meet a condition, and the remedy."""
    compared = next((field for field in _COMPARISONS if getattr(condition, field) is not None), None)
    if compared is not None:
        _, what, remedy = _COMPARISONS[compared]
        bound = getattr(condition, compared)
        shown = bound
        if not isinstance(bound, str):
            shown = f"{bound:g}"
        return f"{what} {shown}", f"write a value {remedy} {shown}"
    fitting = condition.fits or condition.items
    if fitting is not None:
        value = next(iter(scope.all(condition.at)), None)
        problem = None
        if value is not None and not condition.items:
            problem = value_shapes.leaf_problem(scope.path, value, fitting)
        if problem is None and condition.fits:
            return ("is missing", "add it")
        return _of(problem)
    return _message_of_presence(condition, scope)


def _of(problem: Problem | None) -> tuple[str, str]:
    if problem is None:
        return ("has an item that is out of range", "correct it")
    return (problem.what, problem.remedy)


def _message_of_presence(condition: Condition, scope: DemandScope) -> tuple[str, str]:
    missing = condition.empty is False or condition.blank is False or condition.present is True
    name = next((value for value in scope.all(condition.at) if isinstance(value, str)), "")
    known = " or ".join(str(choice) for choice in [*(condition.any_of or []), *(condition.folded or [])] if choice)
    messages = {
        "is missing; add it": missing,
        "cannot be set; remove one of them": condition.empty or condition.blank or condition.present is False,
        "cannot be null; remove it": condition.null is False,
        f"names no plugin ({name}); declare it under plugins": condition.declared,
        f"is the same as {condition.differs}; write another value": condition.differs is not None,
        f"holds the same {condition.unique or 'item'} twice; remove one of them": condition.unique is not None,
        f"does not have exactly {condition.count} entries; write that many": condition.count is not None,
        f"has more than {condition.max_items} entries; remove some": condition.max_items is not None,
        "has a value that is not allowed; write another value": condition.not_in is not None,
        f"is not {known}; write one of them": True,
    }
    what, _, remedy = next(message for message, is_meant in messages.items() if is_meant).partition("; ")
    return what, remedy


def _values(value: object, parts: Sequence[str]) -> list[object]:
    if not parts:
        return [value]
    if isinstance(value, list):
        items = [_values(item, parts) for item in cast("list[object]", value)]
        return list(chain.from_iterable(items)) or [None]
    inner = mapping(value).get(parts[0])
    if inner is None:
        return [None]
    return _values(inner, parts[1:])


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)
