"""Metrics of other software as its `/metrics` has them: the name, the labels, and the bounds of a histogram."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from models.base import Spec

Kind = Literal["counter", "gauge", "histogram"]
ENDINGS: Mapping[Kind, tuple[str, ...]] = {
    "counter": ("",),
    "gauge": ("",),
    "histogram": ("_bucket", "_count", "_sum"),
}
"""Endings of the names of a metric's series. A counter's name has its own ending `_total`, if it has one."""


class MetricFacts(Spec):
    """A metric."""

    name: str
    """Name without the endings of the series of a histogram."""
    kind: Kind
    labels: list[str]
    """Names of the labels, without `le` and without those that a scraper adds."""
    bounds: list[float] = Field(default=[])
    """Upper bounds of a histogram's buckets in ascending order, in the unit of its name and without the infinite one.
    Empty if the metric is no histogram."""

    @property
    def series(self) -> frozenset[str]:
        """Return the names of the metric's series, as queries write them."""
        return frozenset(f"{self.name}{ending}" for ending in ENDINGS[self.kind])
