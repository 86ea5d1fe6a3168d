"""Selectors of labels and fields, as pods, namespaces and nodes are selected by them."""

import re
from collections.abc import Iterator, Mapping

from models.paths import Path
from models.problems import Problem, echo
from models.trees import mapping, sequence
from models.vocabulary import QUALIFIED_NAME
from planning.refusals.tables import Values, rules
from planning.refusals.values import Tree, one_of, trees

_KEY = re.compile(QUALIFIED_NAME)
_VALUE = re.compile(r"([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")


def label_selector(at: Path, selector: object) -> Iterator[Problem]:
    """Check a selector of pods or namespaces by labels."""
    for key, value in mapping(mapping(selector).get("matchLabels")).items():
        yield from label_key(at / "matchLabels" / key, key)
        yield from _label_value(at / "matchLabels" / key, value)
    for here, expression in trees(at / "matchExpressions", mapping(selector).get("matchExpressions")):
        yield from _check_expression(here, expression, rules().selectors.labels)
        yield from label_key(here / "key", expression.get("key"))
        yield from _label_values(here / "values", expression.get("values"))


def node_term(at: Path, term: Tree, *, strict: bool) -> Iterator[Problem]:
    """Check a term that selects nodes. Values must be label values only if `strict`, as in requirements."""
    known = rules().selectors
    for here, expression in trees(at / "matchExpressions", term.get("matchExpressions")):
        yield from _check_expression(here, expression, known.nodes)
        yield from label_key(here / "key", expression.get("key"))
        if strict:
            yield from _label_values(here / "values", expression.get("values"))
    for here, expression in trees(at / "matchFields", term.get("matchFields")):
        yield from _check_expression(here, expression, known.fields)
        yield from one_of(here / "key", expression.get("key"), known.field_keys)


def keys(selector: object) -> frozenset[str]:
    """Return the keys of the labels that a selector compares."""
    compared = (expression.get("key") for _, expression in trees(Path(), mapping(selector).get("matchExpressions")))
    return frozenset([*mapping(mapping(selector).get("matchLabels")), *map(str, compared)])


def label_key(at: Path, key: object) -> Iterator[Problem]:
    """Check the key of a label."""
    if isinstance(key, str) and _KEY.fullmatch(key) is None:
        yield Problem(at, f"is not a label key{echo(at, key)}", "write name or prefix/name")


def _label_values(at: Path, values: object) -> Iterator[Problem]:
    for index, value in enumerate(sequence(values)):
        yield from _label_value(at / index, value)


def _label_value(at: Path, value: object) -> Iterator[Problem]:
    if isinstance(value, str) and _VALUE.fullmatch(value) is None:
        yield Problem(at, f"is not a label value{echo(at, value)}", "use letters, digits, '-', '_' and '.'")


def _check_expression(at: Path, expression: Tree, operators: Mapping[str, Values]) -> Iterator[Problem]:
    """Check the operator of an expression, and whether its values suit the operator."""
    operator = expression.get("operator")
    values = sequence(expression.get("values"))
    yield from one_of(at / "operator", operator, operators)
    needed = operators.get(str(operator))
    if needed == "none" and values:
        what = f"has no meaning with {operator}, which compares no values"
        yield Problem(at / "values", what, "remove it, or write operator: In")
    if needed == "several" and not values:
        yield Problem(at / "values", f"is empty, and {operator} compares with values", "add a value")
    if needed in {"one", "number"} and len(values) != 1:
        yield Problem(at / "values", f"has {len(values)} entries, and {operator} compares with one", "write one value")
    elif needed == "number" and _NUMBER.fullmatch(str(values[0])) is None:
        what = f"is not a whole number, and {operator} compares numbers{echo(at, values[0])}"
        yield Problem(at / "values" / 0, what, "write a number in quotes")
