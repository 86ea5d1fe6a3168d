"""Samples of counters, as a Prometheus scraped them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from array import array


class Span(NamedTuple):
    """A time in whole seconds since 1970, its start left out and its end included, as ranges of Prometheus 3 are."""

    start: int
    end: int

    @property
    def seconds(self) -> int:
        """Return the length in seconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """The samples of one series, in ascending order of time."""

    labels: Mapping[str, str]
    """Labels, with the name of the metric as `__name__`."""
    times: "array[float]"
    """Times of the samples in seconds since 1970."""
    values: "array[float]"
    """Values of the samples, finite numbers."""
