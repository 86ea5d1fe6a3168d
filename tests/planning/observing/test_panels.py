"""The table of panels."""

import re
from collections.abc import Iterator

from planning.observing import metrics, panels
from planning.observing.board_records import COLUMNS
from planning.observing.panels import PanelSpec
from planning.releases import engine_series

FEATURES = {
    "availability",
    "canary",
    "claim",
    "engine",
    "gateway",
    "picker",
    "pods",
    "prefill",
    "rules",
    "scraped",
    "tpot",
    "ttft",
}
NAME = re.compile(r"\bengine:(\w+)")
ENDING = re.compile("_(bucket|count|sum)$")


def rows() -> Iterator[PanelSpec]:
    """Yield the panels of the table."""
    for row in (*panels.table().services, *panels.table().overview):
        yield from row.panels


def engine_metrics(panel: PanelSpec) -> Iterator[str]:
    """Yield the names on the wire of vLLM's metrics that a panel asks for, in all versions."""
    for query in panel.queries:
        for name in NAME.findall(query.expr):
            yield from metrics.table().engine.get(name) or metrics.table().engine[ENDING.sub("", name)]


def test_features_that_panels_need_exist():
    known = {*FEATURES, *engine_series.conditions()}
    assert {need for panel in rows() for need in panel.needs} <= known


def test_a_panel_about_a_conditional_metric_needs_its_condition():
    lacking = [
        (panel.title, name, condition)
        for panel in rows()
        for name in engine_metrics(panel)
        for condition in engine_series.conditions_of(name)
        if condition not in panel.needs
    ]
    assert lacking == []
    conditional = {
        panel.title for panel in rows() for name in engine_metrics(panel) if engine_series.conditions_of(name)
    }
    assert "Accepted draft tokens" in conditional, "the check sees conditions"


def test_panels_about_a_service_ask_for_no_series_that_versions_rename():
    assert [panel.title for panel in rows() if panel.of == "service" and panel.asks_engines] == []
    kinds = re.compile(r"\bpicker:")
    of_service = [panel for panel in rows() if panel.of == "service"]
    assert [panel.title for panel in of_service for query in panel.queries if kinds.search(query.expr)] == []


def test_panels_of_the_picker_and_of_engines_need_them():
    for panel in rows():
        expressions = " ".join(query.expr for query in panel.queries)
        assert ("picker:" not in expressions) or "picker" in panel.needs, panel.title
        assert not re.search(r"\b(engine|server):", expressions) or "engine" in panel.needs, panel.title
        assert "recorded:" not in expressions or "rules" in panel.needs, panel.title


def test_panels_fit_a_row_and_have_titles_of_their_own():
    assert all(0 < panel.width <= COLUMNS for panel in rows())
    titles = [panel.title for row in panels.table().services for panel in row.panels]
    assert len(set(titles)) == len(titles)


def test_panels_say_what_they_show():
    assert all(panel.says.endswith(".") and not panel.lacks.endswith(".") for panel in rows())
