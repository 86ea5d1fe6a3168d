"""KEDA's formulas over the metrics of a role, and the names of the metrics in a formula."""

import re
from collections.abc import Iterator

from models.autoscaling import CpuMetric, CustomMetric, KedaAutoscaling, Metric, ScalingModifiers
from models.paths import Path
from models.problems import Problem

WAKING = "waiting"
"""Name of the metric that only scales a role up from zero. With a formula, KEDA requires a name for each metric."""
_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w|\s*\()")
"""Pattern for the names in a formula. It matches no members of objects, and no names of functions."""
_WORDS = frozenset(
    {
        "and",
        "contains",
        "else",
        "endsWith",
        "false",
        "if",
        "in",
        "let",
        "matches",
        "nil",
        "not",
        "or",
        "startsWith",
        "true",
    }
)
"""Words of the language of formulas (expr-lang, docs/language-definition.md)."""


def name(metric: Metric) -> str | None:
    """Return the name of a metric in a formula. None for a metric without a name, and for CPU."""
    if isinstance(metric, CpuMetric):
        return None
    if isinstance(metric, CustomMetric):
        explicit = metric.spec.get("name")
        if isinstance(explicit, str):
            return explicit
        return None
    return metric.type.replace("-", "_")


def problems(at: Path, spec: KedaAutoscaling, modifiers: ScalingModifiers) -> Iterator[Problem]:
    """Reject unknown names in a formula, metrics without a name, and two metrics with one name."""
    names = list[str]()
    for index, metric in enumerate(spec.metrics):
        metric_name = name(metric)
        path = at / "metrics" / index
        if isinstance(metric, CustomMetric) and metric_name is None:
            remedy = "add name, such as hours, or remove scalingModifiers"
            yield Problem(path / "spec", "has no name by which the formula can refer to it", remedy)
        elif metric_name is not None and metric_name in (*names, WAKING):
            yield Problem(path, f"has the name of another metric in the formula ({metric_name})", "keep one of them")
        names += [] if metric_name is None else [metric_name]
    path = at / "scalingModifiers" / "formula"
    text = _TEXT.sub("", modifiers.formula)
    defined = set(re.findall(r"\blet\s+(\w+)", text))
    known = {*names, *([WAKING] if spec.min_replicas == 0 else []), *defined, *_WORDS}
    for unknown in dict.fromkeys(_NAME.findall(text)):
        if unknown not in known:
            yield Problem(path, f"names no metric ({unknown})", f"use {' or '.join(sorted({*names})) or 'a metric'}")
