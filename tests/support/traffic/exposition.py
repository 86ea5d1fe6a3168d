"""Metrics in the text that a program shows at `/metrics`."""

import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

_TYPE = re.compile(r"# TYPE (\S+) (\S+)")
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ENDING = re.compile(r"_(bucket|count|sum)$")


@dataclass(slots=True)
class ShownMetric:
    """A metric with at least one sample."""

    kind: str
    labels: set[str] = field(default_factory=set[str])
    """Names of labels, without `le`."""
    bounds: set[float] = field(default_factory=set[float])
    """Finite upper bounds of a histogram."""
    value: float = 0.0
    """Sum of the samples of a counter or gauge, or the number of values that a histogram has counted."""


def read(port: int) -> dict[str, ShownMetric]:
    """Return the metrics by name that a program on loopback shows without authentication."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return metrics(answer.read().decode())


def metrics(text: str) -> dict[str, ShownMetric]:
    """Return the metrics of a text, by name."""
    kinds = dict(_TYPE.findall(text))
    result = dict[str, ShownMetric]()
    for name, labels, value in _samples(text):
        base = name if name in kinds else _ENDING.sub("", name)
        metric = result.setdefault(base, ShownMetric(kinds[base]))
        metric.labels |= labels.keys() - {"le"}
        if "le" in labels:
            metric.bounds |= {float(labels["le"])} - {float("inf")}
        elif not name.endswith("_sum"):
            metric.value += value
    return result


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield name, labels and value of each sample."""
    for line in text.splitlines():
        match = _SAMPLE.fullmatch(line)
        if match is not None:
            yield match[1], dict(_LABEL.findall(match[2] or "")), float(match[3])
