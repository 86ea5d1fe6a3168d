"""Series that an expression of PromQL selects, and labels by which it selects and groups them, as parsed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser
from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    MatrixSelector,
    ParenExpr,
    SubqueryExpr,
    UnaryExpr,
    VectorSelector,
)


@dataclass(frozen=True, slots=True)
class Selected:
    """The series and labels of an expression."""

    series: frozenset[str]
    """Names of series."""
    matched: frozenset[tuple[str, str]]
    """Names of series, each with a label that a matcher names."""
    grouped: frozenset[str]
    """Labels after `by`."""


def of(expression: str) -> Selected:
    """Return the series and labels of an expression. Raises ValueError if it is none."""
    nodes = list(_nodes(promql_parser.parse(expression)))
    vectors = [node for node in nodes if isinstance(node, VectorSelector)]
    aggregations = [node for node in nodes if isinstance(node, AggregateExpr) and node.modifier is not None]
    return Selected(
        series=frozenset(str(node.name) for node in vectors),
        matched=frozenset((str(node.name), matcher.name) for node in vectors for matcher in node.matchers.matchers),
        grouped=frozenset(label for node in aggregations if node.modifier for label in node.modifier.labels),
    )


def _nodes(node: Any) -> Iterator[Any]:
    """Yield a node and all nodes below it."""
    yield node
    match node:
        case BinaryExpr():
            yield from _nodes(node.lhs)
            yield from _nodes(node.rhs)
        case Call():
            for argument in node.args:
                yield from _nodes(argument)
        case AggregateExpr() | ParenExpr() | SubqueryExpr() | UnaryExpr():
            yield from _nodes(node.expr)
        case MatrixSelector():
            yield from _nodes(node.vector_selector)
        case _:
            pass
