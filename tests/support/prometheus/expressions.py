"""Expressions of PromQL as words: each operator, number, label, window, function and name of a parsed expression."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum, auto
from typing import Any

import promql_parser
from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    MatrixSelector,
    NumberLiteral,
    ParenExpr,
    StringLiteral,
    SubqueryExpr,
    UnaryExpr,
    VectorSelector,
)


class Kind(StrEnum):
    """Kind of a word."""

    TEXT = auto()
    """Brackets, commas and key words, which nothing can take the place of."""
    OPERATOR = auto()
    AGGREGATION = auto()
    FUNCTION = auto()
    NUMBER = auto()
    STRING = auto()
    NAME = auto()
    """Name of a series."""
    MATCHED = auto()
    """Name of a label in a matcher."""
    MATCHING = auto()
    """Operator of a matcher."""
    VALUE = auto()
    """Quoted value of a matcher."""
    LABEL = auto()
    """Name of a label after `by`, `on` and their like."""
    WINDOW = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of an expression. All pieces, put together, are the expression."""

    text: str
    kind: Kind = Kind.TEXT


MATCHINGS = {"Equal": "=", "NotEqual": "!=", "Re": "=~", "NotRe": "!~"}
GROUPED = {"ManyToOne": "group_left", "OneToMany": "group_right"}


def words(expression: str) -> list[Word]:
    """Return the words of an expression. Raises ValueError if it is none.

    Together they are an expression with the same tree. `@` has no words.
    """
    parsed = promql_parser.parse(expression)
    pieces = list(_words(parsed))
    same = promql_parser.parse(written(pieces))
    assert same.prettify() == parsed.prettify(), f"{written(pieces)} is not {expression}"
    return pieces


def written(pieces: Sequence[Word]) -> str:
    """Return the expression of words."""
    return "".join(piece.text for piece in pieces)


def replaced(pieces: Sequence[Word], index: int, text: str) -> str:
    """Return the expression with another text for one of its words."""
    return written([*pieces[:index], replace(pieces[index], text=text), *pieces[index + 1 :]])


def _words(node: Any) -> Iterator[Word]:
    return _WRITERS[type(node)](node)


def _number(node: NumberLiteral) -> Iterator[Word]:
    yield Word(str(node), Kind.NUMBER)


def _string(node: StringLiteral) -> Iterator[Word]:
    yield Word(json.dumps(node.val), Kind.STRING)


def _parenthesis(node: ParenExpr) -> Iterator[Word]:
    return _bracketed(_words(node.expr))


def _negative(node: UnaryExpr) -> Iterator[Word]:
    yield Word("-")
    yield from _words(node.expr)


def _binary(node: BinaryExpr) -> Iterator[Word]:
    yield from _words(node.lhs)
    yield Word(" ")
    yield Word(str(node.op), Kind.OPERATOR)
    yield Word(" ")
    modifier = node.modifier
    if modifier is not None and modifier.return_bool:
        yield Word("bool ")
    if modifier is not None and modifier.matching is not None:
        matching = {"Include": "on", "Exclude": "ignoring"}[_case(modifier.matching.type)]
        yield Word(f"{matching} ")
        yield from _labels(modifier.matching.labels)
        grouped = GROUPED.get(_case(modifier.card))
        if grouped is not None:
            yield Word(f"{grouped} ")
            yield from _labels(modifier.group_labels or [])
    yield from _words(node.rhs)


def _call(node: Call) -> Iterator[Word]:
    yield Word(node.func.name, Kind.FUNCTION)
    yield from _bracketed(_listed(node.args))


def _vector(node: VectorSelector) -> Iterator[Word]:
    yield from _selector(node)
    yield from _offset(node)


def _matrix(node: MatrixSelector) -> Iterator[Word]:
    yield from _selector(node.vector_selector)
    yield from (Word("["), _window(node.range), Word("]"))
    yield from _offset(node.vector_selector)


def _subquery(node: SubqueryExpr) -> Iterator[Word]:
    yield from _words(node.expr)
    assert node.range is not None, "a subquery has a range"
    yield from (Word("["), _window(node.range), Word(":"))
    if node.step is not None:
        yield _window(node.step)
    yield Word("]")
    yield from _offset(node)


def _aggregate(node: AggregateExpr) -> Iterator[Word]:
    yield Word(str(node.op), Kind.AGGREGATION)
    if node.modifier is not None:
        yield Word(f" {_case(node.modifier.type).lower()} ")
        yield from _labels(node.modifier.labels)
    yield from _bracketed(_listed([node.expr] if node.param is None else [node.param, node.expr]))


def _selector(node: VectorSelector) -> Iterator[Word]:
    if node.name is not None:
        yield Word(node.name, Kind.NAME)
    assert not node.matchers.or_matchers, "matchers with `or` have no words"
    if not node.matchers.matchers:
        return
    yield Word("{")
    for number, matcher in enumerate(node.matchers.matchers):
        if number:
            yield Word(", ")
        yield Word(matcher.name, Kind.MATCHED)
        yield Word(MATCHINGS[_case(matcher.op)], Kind.MATCHING)
        yield Word(json.dumps(matcher.value), Kind.VALUE)
    yield Word("}")


def _offset(node: VectorSelector | SubqueryExpr) -> Iterator[Word]:
    assert node.at is None, "`@` has no words"
    if node.offset is not None:
        yield Word(" offset ")
        yield _window(node.offset)


def _labels(names: Sequence[str]) -> Iterator[Word]:
    yield Word("(")
    for number, name in enumerate(names):
        if number:
            yield Word(", ")
        yield Word(name, Kind.LABEL)
    yield Word(") ")


def _listed(nodes: Sequence[Any]) -> Iterator[Word]:
    for number, node in enumerate(nodes):
        if number:
            yield Word(", ")
        yield from _words(node)


def _bracketed(inner: Iterator[Word]) -> Iterator[Word]:
    yield Word("(")
    yield from inner
    yield Word(")")


def _case(value: object) -> str:
    """Return the name of a case of the parser's enumerations, which have no names."""
    return str(value).rpartition(".")[2]


def _window(duration: timedelta) -> Word:
    return Word(promql_parser.display_duration(duration), Kind.WINDOW)


_WRITERS: Mapping[type, Callable[[Any], Iterator[Word]]] = {
    AggregateExpr: _aggregate,
    BinaryExpr: _binary,
    Call: _call,
    MatrixSelector: _matrix,
    NumberLiteral: _number,
    ParenExpr: _parenthesis,
    StringLiteral: _string,
    SubqueryExpr: _subquery,
    UnaryExpr: _negative,
    VectorSelector: _vector,
}
