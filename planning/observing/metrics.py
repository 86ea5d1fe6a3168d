"""Metrics that rules and panels ask for: their names on the wire, and queries that are made of templates.

A template is a query of Prometheus whose series are written `kind:name{…}`, with the names of `metrics.yaml` and of the
release channels' pickers. A template is a query of Prometheus itself once its placeholders have values.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from string import Template
from typing import cast, get_args

from models.base import Spec
from planning.ground import tables
from planning.ground.gateways import RequestMetrics
from planning.ground.metric_facts import ENDINGS, MetricFacts
from planning.network.monitoring import ROLE_LABEL, SERVICE_LABEL, VARIANT_LABEL
from planning.releases import engine_series
from planning.releases.picker_facts import PickerMetricFacts, PickerMetricName

RECORDED = "inference_stacks"
"""Beginning of the names of recorded series."""
NAMESPACE_LABEL = "namespace"
"""Label of every series with the namespace of the scraped object (prometheus-operator v0.85.0,
pkg/prometheus/promcfg.go; Google's Managed Service for Prometheus, Label targets)."""
_KINDS = ("engine", "server", "picker", "gateway", "target", "cluster", "recorded")
_OF_GATEWAY = "requests"
"""Name of the metric of a gateway."""
_SERIES = re.compile(
    rf'"(?:[^"\\]|\\.)*"|(?<![\w:])(?P<kind>{"|".join(_KINDS)}):(?P<name>\w+(?::\w+)*)(?P<open>\{{(?P<last>\}})?)?'
)
"""A text in quotes, which is kept, or a series with the beginning of its matchers."""
_OF_PICKERS = frozenset[str](get_args(PickerMetricName))
_NO_PICKER: Mapping[PickerMetricName, PickerMetricFacts] = {}


class ListedMetric(MetricFacts):
    """A metric that is the same in all versions."""

    source: str


class MetricsTable(Spec):
    """Metrics by kind and by the names of this program."""

    engine: dict[str, list[str]]
    """Names of vLLM's metrics, the newest first."""
    server: dict[str, ListedMetric]
    """Metrics of the HTTP server of vLLM."""
    picker_matchers: dict[str, dict[str, str]]
    """Values of labels by which series of a picker's metric are selected, if the metric has these labels."""
    target: dict[str, ListedMetric]
    """Series that a Prometheus makes of each scrape."""
    cluster: dict[str, ListedMetric]
    """Series about objects of the cluster."""


@dataclass(frozen=True, slots=True)
class GatewayScope:
    """Metrics of the gateway of a variant, and the requests among them that are for the variant."""

    metrics: RequestMetrics
    matchers: Mapping[str, str]
    """Values of the labels of the requests to the variant's pool."""


@dataclass(frozen=True, slots=True)
class SeriesScope:
    """The service and variant of the series in a query, and the sources of these series."""

    namespace: str
    service: str
    """Value of the label for the service."""
    variant: str | None = None
    """Value of the label for the variant; None for all variants."""
    engine: str | None = None
    """Version of vLLM whose metrics count; None if the engines' metrics are unknown or not scraped."""
    picker: Mapping[PickerMetricName, PickerMetricFacts] = field(default_factory=lambda: _NO_PICKER)
    """Metrics that the picker reports, by the names of this program. Empty if it is not scraped."""
    roles: tuple[str, ...] = ()
    """Roles whose engines count; empty for all roles."""
    gateway: GatewayScope | None = None
    """None if no gateway is known to count the requests to the variant's pool."""

    @property
    def matchers(self) -> dict[str, str]:
        """Return the labels of all series of the scope, with their values."""
        labels = {NAMESPACE_LABEL: self.namespace, SERVICE_LABEL: self.service}
        if self.variant is not None:
            labels[VARIANT_LABEL] = self.variant
        return labels


def resolve(template: str, scope: SeriesScope, values: Mapping[str, str]) -> str | None:
    """Return the query that a template stands for, with names on the wire and with the matchers of the scope.

    `values` are the values of placeholders such as `$window`. Blanks at the ends of lines become one blank. None if a
    metric of the template is not reported in the scope. Raises `KeyError` for a placeholder or a metric that does not
    exist.
    """
    text = " ".join(Template(template).substitute(values).split())
    is_complete = True

    def write(match: re.Match[str]) -> str:
        nonlocal is_complete
        kind = match["kind"]
        if kind is None:
            return match[0]
        series = _series(kind, match["name"], scope)
        if series is None:
            is_complete = False
            return ""
        return f"{series}{{{_matchers(match, scope)}"

    query = _SERIES.sub(write, text)
    return query if is_complete else None


def bounds(kind: str, name: str, scope: SeriesScope) -> tuple[float, ...]:
    """Return the bounds of a histogram's buckets in ascending order; empty if they or the histogram are unknown.

    `kind` is `engine` or `picker`.
    """
    if kind == "picker":
        metric = of_picker(name, scope)
        return () if metric is None else tuple(metric.bounds)
    engine_name = _engine(name, scope.engine)
    if scope.engine is None or engine_name is None:
        return ()
    return engine_series.bounds(scope.engine, engine_name)


def bucket_family(name: str, scope: SeriesScope) -> str | None:
    """Return the key of `engine_series.BUCKETS_FLAG` for a histogram of an engine; None if no key sets its bounds."""
    engine_name = _engine(name, scope.engine)
    if scope.engine is None or engine_name is None:
        return None
    return engine_series.bucket_family(scope.engine, engine_name)


def reports(kind: str, name: str, scope: SeriesScope) -> bool:
    """Tell whether a metric of an engine or a picker is reported in a scope. `kind` is `engine` or `picker`."""
    return _series(kind, name, scope) is not None


def of_picker(name: str, scope: SeriesScope) -> PickerMetricFacts | None:
    """Return a metric of the picker; None if the picker does not report it. Raises `KeyError` for an unknown name."""
    if name not in _OF_PICKERS:
        raise KeyError(name)
    return scope.picker.get(cast("PickerMetricName", name))


@cache
def table() -> MetricsTable:
    """Return the table of metrics."""
    return tables.read(MetricsTable, "observing/metrics.yaml")


def _series(kind: str, name: str, scope: SeriesScope) -> str | None:
    """Return the name of a series on the wire; None if it is not reported in the scope."""
    if kind == "recorded":
        return f"{RECORDED}:{name}"
    if kind == "engine":
        metric_name, ending = _split(name, table().engine)
        known = _engine(metric_name, scope.engine)
        return None if known is None else f"{known}{ending}"
    if kind == "picker":
        metric_name, ending = _split(name, _OF_PICKERS)
        metric = of_picker(metric_name, scope)
        return None if metric is None else f"{metric.name}{ending}"
    if kind == "gateway":
        if name != _OF_GATEWAY:
            raise KeyError(name)
        return None if scope.gateway is None else scope.gateway.metrics.requests.name
    listed: Mapping[str, ListedMetric] = getattr(table(), kind)
    return listed[name].name


def _split(name: str, names: Container[str]) -> tuple[str, str]:
    """Return the name of a metric and the ending of its series."""
    for ending in ENDINGS["histogram"]:
        if name not in names and name.endswith(ending):
            return name.removesuffix(ending), ending
    return name, ""


def _engine(name: str, version: str | None) -> str | None:
    """Return the newest name of a metric that a version of vLLM reports; None if it reports none."""
    names = table().engine[name]
    if version is None:
        return None
    known = engine_series.metrics(version)
    return next((candidate for candidate in names if candidate in known), None)


def _matchers(match: re.Match[str], scope: SeriesScope) -> str:
    """Return the matchers of a series, up to where those of the template continue or end."""
    pairs = ",".join(_of_scope(match["kind"], match["name"], scope))
    if match["open"] is None or match["last"] is not None:
        return f"{pairs}}}"
    return f"{pairs},"


def _of_scope(kind: str, name: str, scope: SeriesScope) -> Iterator[str]:
    """Yield the matchers that the scope adds to a series."""
    if kind == "cluster":
        yield _equals(NAMESPACE_LABEL, scope.namespace)
        return
    if kind == "gateway":
        if scope.gateway is not None:
            yield from (_equals(label, value) for label, value in scope.gateway.matchers.items())
        return
    yield from (_equals(label, value) for label, value in scope.matchers.items())
    if kind == "engine" and scope.roles:
        yield f'{ROLE_LABEL}=~"{"|".join(scope.roles)}"'
    if kind == "picker":
        metric_name, _ = _split(name, _OF_PICKERS)
        metric = of_picker(metric_name, scope)
        for label, value in table().picker_matchers.get(metric_name, {}).items():
            if metric is not None and label in metric.labels:
                yield _equals(label, value)


def _equals(label: str, value: str) -> str:
    return f'{label}="{value}"'
