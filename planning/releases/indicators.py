"""Series by which kinds of engines tell whether they serve well, from the table `engines/indicators.yaml`."""

import re
from typing import Literal

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.metric_facts import MetricFacts
from planning.ground.tables import Sourced
from planning.releases import engine_versions


class ServerAnswers(Sourced):
    """The counter of the answers of an engine's HTTP server."""

    metric: MetricFacts
    path: str
    """Label with the path of the request."""
    status: str
    """Label with the status of the answer."""
    failures: str
    """Regular expression of the statuses of failures of the server, as matchers of Prometheus have it."""
    excluded: list[str] = Field(default=[])
    """Regular expressions. A path in which one of them occurs is not counted."""

    def counts(self, path: str) -> bool:
        """Tell whether answers to requests for a path are counted."""
        return not any(re.search(pattern, path) for pattern in self.excluded)


class DatedMetric(Spec):
    """A metric that versions of an engine have."""

    since: str | None = None
    """The first version that has the metric; None if no version is known to lack it."""
    metric: MetricFacts


class EngineLatencies(Sourced):
    """Histograms of latencies in seconds. Of several rows, the newest is the first."""

    ttft: list[DatedMetric]
    """Time to the first token."""
    tpot: list[DatedMetric]
    """A request's mean time for a further token."""


class EngineIndicators(Spec):
    """The indicators of a kind of engine."""

    responses: ServerAnswers | None = None
    """None if no counter has the answers by status."""
    latencies: EngineLatencies | None = None
    """None for vLLM, which has tables of its own."""


class IndicatorTable(Spec):
    """The indicators of all kinds."""

    kinds: dict[str, EngineIndicators]
    """Indicators by the name of a kind, which is a value of `engine.type`."""


def of_kind(kind: str) -> EngineIndicators | None:
    """Return the indicators of a kind of engine; None if none are known."""
    return tables.read(IndicatorTable, "releases/engines/indicators.yaml").kinds.get(kind)


def latency(kind: str, version: str, name: Literal["ttft", "tpot"]) -> MetricFacts | None:
    """Return the histogram of a latency that a version of an engine reports; None if it reports none that is known."""
    indicators = of_kind(kind)
    if indicators is None or indicators.latencies is None:
        return None
    rows: list[DatedMetric] = getattr(indicators.latencies, name)
    for row in rows:
        if row.since is None or not engine_versions.is_older(version, row.since):
            return row.metric
    return None
