"""Series and labels that the tables know for a version of vLLM and for a release channel."""

from collections.abc import Iterator

from planning.ground.metric_facts import ENDINGS, MetricFacts
from planning.observing import burn_rates, metrics
from planning.releases import engine_series, picker_series
from tests.support.prometheus import selectors

SCRAPED = frozenset({"namespace", "inference_service", "variant", "model_service", "pod", "job", "instance"})
"""Labels of every series that monitors scrape."""
OF_ENGINES = SCRAPED | {"role"}
RECORDED = frozenset({"namespace", "inference_service", "variant"})


def known(version: str, channel: str) -> dict[str, frozenset[str]]:
    """Return the labels of all series by their names."""
    series = dict[str, frozenset[str]]()
    for metric, kind in engine_series.metrics(version).items():
        labels = engine_series.labels(version, metric) | OF_ENGINES
        for ending in ENDINGS[kind]:
            series[f"{metric}{ending}"] = labels | ({"le"} if ending == "_bucket" else set())
    for of_picker in picker_series.metrics(channel).values():
        series |= {name: labels | SCRAPED for name, labels in _series(of_picker)}
    table = metrics.table()
    for listed in (*table.server.values(), *table.target.values()):
        series |= {name: labels | OF_ENGINES for name, labels in _series(listed)}
    for listed in table.cluster.values():
        series |= {name: labels | {"namespace"} for name, labels in _series(listed)}
    for row in burn_rates.table().records:
        series |= {f"{metrics.RECORDED}:{row.name}:rate{window}": RECORDED for window in burn_rates.table().windows}
    return series


def unknown(expression: str, series: dict[str, frozenset[str]]) -> list[str]:
    """Return the series and labels of an expression that are not among known ones, sorted."""
    selected = selectors.of(expression)
    names = [name for name in selected.series if name not in series]
    names += [f"{name}{{{label}}}" for name, label in selected.matched if label not in series.get(name, ())]
    labels = frozenset[str]().union(*(series.get(name, frozenset()) for name in selected.series))
    return sorted([*names, *(selected.grouped - labels)])


def _series(metric: MetricFacts) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the series of a metric with their labels."""
    for ending in ENDINGS[metric.kind]:
        yield f"{metric.name}{ending}", frozenset({*metric.labels, "le"} if ending == "_bucket" else metric.labels)
