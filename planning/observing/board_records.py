"""Records of dashboards: what they show, without the format of a program that draws them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Style = Literal["timeseries", "stat", "state-timeline"]
Side = Literal["above", "below"]
COLUMNS = 24
"""Number of columns of a dashboard."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query of PromQL. `$__rate_interval` in it is the window over which the drawing program takes rates."""

    expression: str
    legend: str
    """Name of a series of the result, in which `{{label}}` stands for the value of a label."""
    interval: str | None = None
    """Longest time between two samples of a series; None if nothing of the service is scraped. The drawing program
    takes rates over at least four of these times (grafana v11.6.0, pkg/promlib/models/query.go,
    calculateRateInterval)."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A drawing of the results of some queries."""

    title: str
    description: str
    """Meaning of the values, and when there are none."""
    style: Style
    unit: str
    """Unit of the values, as Grafana names it."""
    width: int
    """Number of columns."""
    queries: tuple[Query, ...]
    limit: float | None = None
    """Value from which on something is wrong; None if no such value is known."""
    wrong: Side = "above"
    """Side of the limit on which something is wrong."""
    may_lack: str = ""
    """Condition under which the queries return nothing, although the service runs; empty if they always return data."""


@dataclass(frozen=True, slots=True)
class PanelRow:
    """Panels below one title."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard, and the ConfigMap that holds it."""

    uid: str
    """Identity of the dashboard: at most 40 characters, equal for every run of one stack."""
    name: str
    """Name of the ConfigMap, and beginning of the name of the file in it."""
    namespace: str
    labels: Mapping[str, str]
    """Labels by which a sidecar of Grafana finds the ConfigMap."""
    annotations: Mapping[str, str]
    title: str
    tags: tuple[str, ...]
    rows: tuple[PanelRow, ...]

    @property
    def panels(self) -> Iterator[Panel]:
        """Yield the panels of all rows."""
        for row in self.rows:
            yield from row.panels


@dataclass(frozen=True, slots=True)
class Boards:
    """The dashboards of a stack."""

    services: Mapping[str, Board]
    """Dashboards of services, by key. Services without pods that the stack makes have none."""
    overviews: tuple[Board, ...]
    """The dashboard of all services. A stack with many services has several, because a ConfigMap has at most 1 MiB."""
    in_existing_namespace: bool
    """Whether all ConfigMaps are in a namespace that the configuration names for them, and that must exist."""

    @property
    def overview(self) -> Board:
        """Return the first overview."""
        return self.overviews[0]
