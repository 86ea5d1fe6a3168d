"""Autoscaling of aim-engine's services."""

from collections.abc import Mapping
from typing import Any

from migration.accounts import HIDDEN, Original
from migration.converted import Converted
from models.paths import Path

_SPEC = Path("spec")
_METRICS = _SPEC / "autoScaling" / "metrics"
_KINDS: Mapping[str, str] = {
    "vllm:num_requests_running": "running-requests",
    "vllm:num_requests_waiting": "queue-size",
}
"""Metrics of this program by the series of vLLM."""
_AVERAGES = (None, "avg", "last_one")
_QUEUE = {"type": "queue-size", "target": 5}
_LONGEST_TARGET = 6
_NO_METRIC = "no metric for autoscaling is known; queue-size with target 5 is taken"
_DROPPED = "autoscaling sets the number"
_DIFFERENT = "an autoscaler of Kubernetes reads the metric, and not KEDA from a collector of OpenTelemetry"
_LOST = "the query is none of a metric here; autoscaling.metrics with type custom can have it"


def read(converted: Converted) -> None:
    """Read the number of replicas. Any field about autoscaling switches it on, as aim-engine has it."""
    document = converted.documents[0]
    document.take_presence(_SPEC / "autoScaling")
    document.take_presence(_METRICS)
    names = ("minReplicas", "maxReplicas")
    bounds = {name: document.number(_SPEC / name) for name in names}
    if not any(document.has(_SPEC / name) for name in (*names, "autoScaling")):
        converted.set(document.number(_SPEC / "replicas"), "replicas")
        return
    document.drop(_SPEC / "replicas", _DROPPED)
    minimum = bounds["minReplicas"] or 1
    maximum = bounds["maxReplicas"] or minimum
    metrics = _metrics(document, converted)
    if not metrics:
        metrics = [_QUEUE]
        document.remark("ask", _NO_METRIC, converted.key_of("autoscaling"))
    autoscaling = {"type": "hpa", "minReplicas": minimum, "maxReplicas": maximum, "metrics": metrics}
    converted.set(autoscaling, "autoscaling")


def _metrics(document: Original, converted: Converted) -> list[dict[str, Any]]:
    metrics = list[dict[str, Any]]()
    for item in document.items(_METRICS):
        metric = _metric(document, item)
        if metric is None:
            document.note(item, "cannot", _LOST)
        elif metric not in metrics:
            document.note(item, "differs", _DIFFERENT, converted.key_of("autoscaling"))
            metrics.append(metric)
    return metrics


def _metric(document: Original, item: Path) -> dict[str, Any] | None:
    """Return the metric of this program that stands for one of theirs; None if there is none."""
    metric = item / "podmetric" / "metric"
    target = item / "podmetric" / "target"
    names = [document.peek(name) for name in document.items(metric / "metricNames")]
    query = document.peek(metric / "query")
    if query is None and len(names) == 1:
        query = names[0]
    kind = _KINDS.get(str(query))
    name = {"Value": "value", "AverageValue": "averageValue"}.get(str(document.peek(target / "type")))
    if kind is None or name is None or document.peek(metric / "operationOverTime") not in _AVERAGES:
        return None
    value = str(document.peek(target / name))
    if (
        value == HIDDEN
        or not value.isascii()
        or not value.isdecimal()
        or len(value) > _LONGEST_TARGET
        or not int(value)
    ):
        return None
    return {"type": kind, "target": int(value)}
