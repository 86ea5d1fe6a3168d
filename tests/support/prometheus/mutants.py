"""Mutants of rules: each operator, number, label and window of a rule, changed once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import promql_parser

from tests.support.prometheus.expressions import Kind, Word, replaced, words, written

Rule = Mapping[str, Any]
"""A rule as in `rules` of a group."""
OPERATORS = {
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    "==": ("!=",),
    "!=": ("==",),
    "and": ("unless",),
    "or": ("unless",),
    "unless": ("and",),
}
AGGREGATIONS = {"sum": "max", "max": "min", "min": "max", "count": "sum", "avg": "max", "group": "sum"}
FUNCTIONS = {
    "rate": ("sum_over_time",),
    "increase": ("sum_over_time",),
    "changes": ("count_over_time",),
    "max_over_time": ("min_over_time",),
    "min_over_time": ("max_over_time",),
    "avg_over_time": ("max_over_time",),
    "absent": ("count",),
    "absent_over_time": ("count_over_time",),
    "time": ("-time",),
    "abs": ("-", ""),
    # Its number has mutants.
    "vector": (),
}
MATCHINGS = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}
FACTORS = (0.9, 1.1)
"""Factors of numbers; a bound that a test does not pin survives one of them."""
COUNTED = 10
"""Whole numbers below this one become the next ones: no number of pods lies between them."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule with one change."""

    rule: Rule
    change: str
    """The change in words, for whoever reads that no test notices it."""


def mutants(rule: Rule) -> list[Mutant]:
    """Return every mutant of a rule: of its expression, its `for`, and its labels. Each differs from the rule."""
    expressions = list(_expressions(str(rule["expr"])))
    changed = [Mutant({**rule, "expr": expression}, change) for expression, change in expressions]
    for key in ("for", "keep_firing_for"):
        if key in rule:
            windows = _windows(str(rule[key]))
            changed += [Mutant({**rule, key: window}, f"{key} {window}") for window in windows]
    labels: Mapping[str, str] = rule.get("labels", {})
    changed += [
        Mutant({**rule, "labels": {**labels, name: f"{value}_"}}, f"label {name}") for name, value in labels.items()
    ]
    for mutant in changed:
        promql_parser.parse(mutant.rule["expr"])
        assert mutant.rule != rule, mutant.change
    return changed


def _expressions(expression: str) -> Iterator[tuple[str, str]]:
    pieces = words(expression)
    for index, piece in enumerate(pieces):
        for text in _others(piece):
            yield replaced(pieces, index, text), f"{piece.text} -> {text} (word {index})"
        if piece.kind == Kind.MATCHED:
            yield _without_matcher(pieces, index), f"without {written(pieces[index : index + 3])} (word {index})"


def _others(piece: Word) -> Sequence[str]:
    """Return what takes the place of a word. Raises KeyError for an operator or function that the tables lack."""
    return _OTHERS.get(piece.kind, lambda _: ())(piece.text)


def _renamed(name: str) -> tuple[str]:
    return (f"{name}_",)


def _requoted(quoted: str) -> tuple[str]:
    return (json.dumps(f"{json.loads(quoted)}_"),)


def _numbers(number: float) -> tuple[str, ...]:
    if number == 0:
        return ("1",)
    if number < COUNTED and number.is_integer():
        return f"{number - 1:g}", f"{number + 1:g}"
    return tuple(f"{number * factor:.10g}" for factor in FACTORS)


def _windows(text: str) -> tuple[str, ...]:
    """Return half and twice a window."""
    window = promql_parser.parse_duration(text)
    return tuple(promql_parser.display_duration(changed) for changed in (window / 2, window * 2))


def _without_matcher(pieces: Sequence[Word], index: int) -> str:
    """Return the expression without the matcher whose label is at an index."""
    start, end = index, index + 3
    if pieces[end].text == ", ":
        end += 1
    elif pieces[start - 1].text == ", ":
        start -= 1
    return written([*pieces[:start], *pieces[end:]])


_OTHERS: Mapping[Kind, Callable[[str], Sequence[str]]] = {
    Kind.OPERATOR: lambda text: OPERATORS[text],
    Kind.AGGREGATION: lambda text: (AGGREGATIONS[text],),
    Kind.FUNCTION: lambda text: FUNCTIONS[text],
    Kind.NUMBER: lambda text: _numbers(float(text)),
    Kind.NAME: _renamed,
    Kind.MATCHED: _renamed,
    Kind.LABEL: _renamed,
    Kind.MATCHING: lambda text: (MATCHINGS[text],),
    Kind.VALUE: _requoted,
    Kind.STRING: _requoted,
    Kind.WINDOW: _windows,
}
