"""Table of the panels of dashboards: `panels.yaml`."""

import re
from functools import cache
from typing import Literal

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.observing.board_records import Side, Style

_ENGINE_SERIES = re.compile(r"\bengine:")


class QuerySpec(Spec):
    """A query of a panel."""

    expr: str
    """Template in the language of `metrics.yaml`."""
    legend: str
    """Template of the name of a series."""


class PanelSpec(Spec):
    """A panel."""

    title: str
    says: str
    """Meaning of the values, and which are bad."""
    style: Style = "timeseries"
    unit: str
    """Unit of the values, as Grafana names it."""
    width: int
    """Number of columns."""
    of: Literal["variant", "service"] = "variant"
    """Whether each variant has queries of its own, or one query is about both."""
    needs: list[str] = Field(default=[])
    """Features without which the panel is left out."""
    queries: list[QuerySpec]
    limit: Literal["ttft", "tpot", "burn"] | float | None = None
    """Value that is drawn as a border."""
    wrong: Side = "above"
    """Side of the border on which something is wrong."""
    lacks: str = ""
    """Why the panel of a service that runs may be empty."""

    @property
    def asks_engines(self) -> bool:
        """Tell whether queries ask for series that versions of engines name differently."""
        return any(_ENGINE_SERIES.search(query.expr) for query in self.queries)


class RowSpec(Spec):
    """Panels below one title."""

    title: str
    panels: list[PanelSpec]


class PanelTable(Spec):
    """Rows of dashboards."""

    services: list[RowSpec]
    """Rows of the dashboard of a service."""
    overview: list[RowSpec]
    """Rows of the overview of a stack."""


@cache
def table() -> PanelTable:
    """Return the table of panels."""
    return tables.read(PanelTable, "observing/panels.yaml")
