"""Labels of the metrics that a version of vLLM registers, and bounds of its histograms, read from its source code."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from upstream import series
from upstream.series import Registration
from upstream.values import UnknownValueError, Value, Values

BUCKETS = "vllm/v1/metrics/buckets.py"
FILES = (*series.FILES, BUCKETS)
"""Modules that register metrics, or that have their labels and bounds; each version has some of these modules."""
CONTEXT_LENGTH = "contextLength"
"""Word for bounds that depend on the context length of the engine."""
GROUPS = ("labels", "bounds", "families")
"""Groups of rows in the table."""
_LOGGERS = "vllm/v1/metrics/loggers.py"
_FORMER_ENGINE = "vllm/engine/metrics.py"
"""Module of the engine V0, which older versions have beside the engine V1."""
_BASE = "labelnames"
"""Variable with the labels of every metric of an engine. Connectors get it as a parameter."""
_DEFAULT_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""HistogramBounds of a histogram whose call states none (prometheus_client 0.24.1, prometheus_client/metrics.py)."""
_Calls = Mapping[str, Callable[[Values, ast.Call], Value]]


@dataclass(frozen=True, slots=True)
class HistogramBounds:
    """HistogramBounds of a histogram."""

    values: tuple[float, ...] | str
    """Ascending, without the infinite bound; `CONTEXT_LENGTH` if they depend on it."""
    family: str | None = None
    """Key of `--custom-histogram-buckets` whose value replaces the bounds; None if no key does."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Labels and bounds of metrics, by metric. A metric is absent whose labels or bounds the code does not tell."""

    labels: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, HistogramBounds]


def read(sources: Mapping[str, bytes]) -> Shapes:
    """Return labels and bounds of a version's metrics. `sources` are the contents of its files, by path."""
    trees = {path: ast.parse(content) for path, content in sources.items()}
    calls = _calls(trees)
    base = _base(trees[_LOGGERS])
    labels = dict[str, tuple[str, ...]]()
    bounds = dict[str, HistogramBounds]()
    for registration in _by_precedence(trees):
        values = _values(registration, trees, base, calls)
        known_labels = _labels(registration, values, base)
        if known_labels is not None:
            labels[registration.metric] = known_labels
        known_bounds = _bounds(registration, values)
        if known_bounds is not None:
            bounds[registration.metric] = known_bounds
    return Shapes(labels, bounds)


def rows(shapes: Shapes) -> dict[str, frozenset[str]]:
    """Return lines of YAML, each with a metric and its value, by the groups of `GROUPS`."""
    bounds = shapes.bounds.items()
    return {
        "labels": frozenset(f"{name}: [{', '.join(labels)}]" for name, labels in shapes.labels.items()),
        "bounds": frozenset(f"{name}: {_text(row.values)}" for name, row in bounds),
        "families": frozenset(f"{name}: {row.family}" for name, row in bounds if row.family is not None),
    }


def _text(bounds: tuple[float, ...] | str) -> str:
    """Return bounds as YAML, in which numbers have no exponents."""
    if isinstance(bounds, str):
        return bounds
    numbers = (f"{bound:.9f}".rstrip("0").removesuffix(".") for bound in bounds)
    return f"[{', '.join(numbers)}]"


def _by_precedence(trees: Mapping[str, ast.Module]) -> list[Registration]:
    """Return the registrations; the last one of a metric counts.

    The engine V0 comes before the engine V1, and the description of a metric before the call that registers it.
    """
    registrations = filter(_is_documented, series.registrations(trees))
    return sorted(registrations, key=lambda row: (row.path != _FORMER_ENGINE, not row.is_description))


def _is_documented(registration: Registration) -> bool:
    """Tell whether a call states what the metric means. Calls that count something have a metric's name, too."""
    texts = [
        argument
        for argument in registration.call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    return len(texts) > 1 or any(keyword.arg == "documentation" for keyword in registration.call.keywords)


def _base(loggers: ast.Module) -> Sequence[str]:
    """Return the labels of every metric of an engine."""
    assignments = (node for node in ast.walk(loggers) if isinstance(node, ast.Assign))
    return next(ast.literal_eval(node.value) for node in assignments if ast.unparse(node.targets[0]) == _BASE)


def _calls(trees: Mapping[str, ast.Module]) -> _Calls:
    """Return the results of the functions of vLLM that make bounds, by the function's name."""
    families = dict[str, tuple[float, ...]]()
    if BUCKETS in trees:
        module = Values({})
        module.assign(trees[BUCKETS].body)
        (table,) = (value for name, value in module.known.items() if name.endswith("_FAMILY_DEFAULTS"))
        families = {str(family): tuple(map(float, numbers)) for family, numbers in table.items()}

    def of_family(values: Values, call: ast.Call) -> HistogramBounds:
        family = str(values.of(call.args[0]))
        numbers = families.get(family, CONTEXT_LENGTH)
        if any(keyword.arg == "overrides" for keyword in call.keywords):
            return HistogramBounds(numbers, family)
        return HistogramBounds(numbers)

    return {
        "histogram_buckets": of_family,
        "build_1_2_5_buckets": lambda _values, _call: HistogramBounds(CONTEXT_LENGTH),
    }


def _values(registration: Registration, trees: Mapping[str, ast.Module], base: Sequence[str], calls: _Calls) -> Values:
    """Return the values of the variables at the place of a registration."""
    tree = trees[registration.path]
    line = registration.call.lineno
    nodes = ast.walk(registration.scope)
    before = [node for node in nodes if isinstance(node, ast.stmt) and node.lineno < line]
    values = Values(calls)
    values.known |= {_BASE: [*base], f"self._{_BASE}": [*base]}
    values.import_from(tree, trees)
    values.assign(tree.body)
    values.assign(sorted(before, key=lambda statement: statement.lineno))
    return values


def _labels(registration: Registration, values: Values, base: Sequence[str]) -> tuple[str, ...] | None:
    """Return the labels, sorted; None if the code does not tell them.

    Code that registers a described metric adds the labels of the description to those of every metric.
    """
    expression = _argument(registration.call, _BASE, position=2)
    names = set[str]()
    if registration.is_description:
        names.update(base)
    try:
        if expression is not None:
            names.update(values.of(expression))
    except UnknownValueError:
        return None
    return tuple(sorted(names))


def _bounds(registration: Registration, values: Values) -> HistogramBounds | None:
    """Return the bounds; None if the metric is no histogram, or if the code does not tell the bounds."""
    if registration.kind != "histogram":
        return None
    expression = _argument(registration.call, "buckets")
    if expression is None:
        return HistogramBounds(_DEFAULT_BOUNDS)
    try:
        bounds = values.of(expression)
    except UnknownValueError:
        return None
    if isinstance(bounds, HistogramBounds):
        return bounds
    return HistogramBounds(tuple(map(float, bounds)))


def _argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """Return an argument of a call, by its name or its position, if it has one; None if the call lacks it."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and len(call.args) > position:
        return call.args[position]
    return None
