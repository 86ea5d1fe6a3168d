"""Dashboards for Grafana, each in a ConfigMap that a sidecar of Grafana reads.

The form is that of Grafana 11.6 (`schemaVersion` 41). Tests read it into Grafana's own types, and write it again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from manifests import about, objects
from manifests.objects import Manifest, Rendered
from planning import bill, money
from planning.ground import labels, parts
from planning.ground.order import Id
from planning.observing import boards
from planning.observing.board_records import COLUMNS, Board, Panel, PanelRow, Query, Style
from planning.plans import ServicePlan, StackPlan

COMPONENT = "dashboard"
"""Value of the label `app.kubernetes.io/component`."""

_SCHEMA = 41
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The Prometheus that the reader of a dashboard selects."""
_HEADER = 1
"""Height of the title of a row."""
_HEIGHT = 8
_GREEN, _RED = "green", "red"


def of_service(service: ServicePlan, plan: StackPlan) -> Iterator[Rendered]:
    """Render the dashboard of a service, if it has one.

    Annotations have what the service is expected to use and to cost. Nothing reads or awaits a dashboard, so that a
    price changes no other object, and no pod restarts.
    """
    if plan.boards is None or service.key not in plan.boards.services:
        return
    board = plan.boards.services[service.key]
    primary = service.primary
    object_labels = about.object_labels(primary, COMPONENT, base=board.labels)
    annotations = {**primary.user_annotations, **board.annotations, **_bill(service, plan)}
    yield about.part_object(primary, parts.DASHBOARD, _config_map(board, object_labels, annotations))


def overviews(plan: StackPlan) -> Iterator[Rendered]:
    """Render the overview of a stack, or several of them for many services. None if the stack has no dashboards."""
    if plan.boards is None:
        return
    for number, board in enumerate(plan.boards.overviews, start=1):
        qualifier = str(number) if number > 1 else ""
        object_labels = labels.standard(board.name, COMPONENT, {**plan.labels, **board.labels})
        manifest = _config_map(board, object_labels, board.annotations)
        yield Rendered(Id(boards.OWNER, parts.OVERVIEW, qualifier), manifest, parts.OVERVIEW.suffix_of(qualifier))


def _config_map(board: Board, object_labels: Mapping[str, str], annotations: Mapping[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": objects.metadata(board.name, board.namespace, object_labels, annotations),
        "data": {f"{board.name}.json": text(board)},
    }


def _bill(service: ServicePlan, plan: StackPlan) -> dict[str, str]:
    """Return the annotations with what a service is expected to use and to cost; empty if it has no devices."""
    hours = {name: (part.low * money.HOURS, part.high * money.HOURS) for name, part in bill.by_class(service).items()}
    if not hours:
        return {}
    annotations = {labels.DEVICE_HOURS: ", ".join(f"{_range(low, high)} {name}" for name, (low, high) in hours.items())}
    cost = bill.of_service(service, plan)
    if not cost.unpriced:
        amounts = _range(money.cents(cost.low), money.cents(cost.high))
        annotations[labels.MONTHLY_COST] = f"{amounts} {plan.prices.currency}"
    return annotations


def _range(low: float, high: float) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def text(board: Board) -> str:
    """Return a dashboard as JSON. Equal dashboards have equal texts."""
    return json.dumps(dashboard(board), indent=1, ensure_ascii=False) + "\n"


def dashboard(board: Board) -> dict[str, Any]:
    """Return a dashboard as a plain tree."""
    return {
        "uid": board.uid,
        "title": board.title,
        "tags": list(board.tags),
        "schemaVersion": _SCHEMA,
        "timezone": "browser",
        "editable": False,
        "graphTooltip": 1,
        "fiscalYearStartMonth": 0,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [_datasource_variable()]},
        "annotations": {"list": []},
        "links": [_links()],
        "panels": list(_panels(board.rows)),
    }


def _datasource_variable() -> dict[str, Any]:
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Prometheus",
        "query": "prometheus",
        "refresh": 1,
        "hide": 0,
        "skipUrlSync": False,
        "multi": False,
        "allowCustomValue": False,
        "includeAll": False,
    }


def _links() -> dict[str, Any]:
    """Return a link to all dashboards of this program."""
    return {
        "type": "dashboards",
        "title": "Inference",
        "icon": "external link",
        "tooltip": "",
        "tags": ["inference-stacks"],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
    }


def _panels(rows: Iterable[PanelRow]) -> Iterator[dict[str, Any]]:
    """Yield the titles and panels of all rows. A row that is full continues below."""
    top = 0
    number = 0
    for row in rows:
        number += 1
        yield {
            "type": "row",
            "id": number,
            "title": row.title,
            "collapsed": False,
            "gridPos": {"h": _HEADER, "w": COLUMNS, "x": 0, "y": top},
            "panels": [],
        }
        top += _HEADER
        left = 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                left = 0
                top += _HEIGHT
            number += 1
            yield _panel(panel, number, left, top)
            left += panel.width
        top += _HEIGHT


def _panel(panel: Panel, number: int, left: int, top: int) -> dict[str, Any]:
    return {
        "type": panel.style,
        "id": number,
        "title": panel.title,
        "description": panel.description,
        "transparent": False,
        "repeatDirection": "h",
        "datasource": _DATASOURCE,
        "gridPos": {"h": _HEIGHT, "w": panel.width, "x": left, "y": top},
        "targets": [_target(query, index) for index, query in enumerate(panel.queries)],
        "options": _OPTIONS[panel.style],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
    }


def _target(query: Query, index: int) -> dict[str, Any]:
    target = {
        "refId": _reference(index),
        "datasource": _DATASOURCE,
        "editorMode": "code",
        "expr": query.expression,
        "legendFormat": query.legend,
        "range": True,
    }
    if query.interval is not None:
        target["interval"] = query.interval
    return target


def _reference(index: int) -> str:
    """Return the name of a query in a panel: A to Z, then AA, AB and so on."""
    letters = ""
    rest = index + 1
    while rest:
        rest, letter = divmod(rest - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.wrong == "above":
        defaults["min"] = 0
    defaults["thresholds"] = {"mode": "absolute", "steps": list(_steps(panel))}
    defaults["color"] = {"mode": _COLORS[panel.style]}
    if panel.style == "timeseries":
        line = "off" if panel.limit is None else "dashed"
        defaults["custom"] = {
            "lineWidth": 1,
            "fillOpacity": 8,
            "showPoints": "never",
            "thresholdsStyle": {"mode": line},
        }
    return defaults


def _steps(panel: Panel) -> Iterator[dict[str, Any]]:
    """Yield the colors of values, the smallest values first."""
    below = _RED if panel.wrong == "below" else _GREEN
    above = _GREEN if panel.wrong == "below" else _RED
    yield {"value": None, "color": below}
    if panel.limit is not None:
        yield {"value": panel.limit, "color": above}


def _calculations(names: Sequence[str]) -> dict[str, Any]:
    return {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": list(names)}


_COLORS: Mapping[Style, str] = {
    "timeseries": "palette-classic",
    "stat": "thresholds",
    "state-timeline": "palette-classic",
}
"""How values get their color by the style of the drawing: by their series, or by the thresholds."""
_OPTIONS: Mapping[Style, Mapping[str, Any]] = {
    "timeseries": {
        "legend": _calculations(["lastNotNull", "max"]),
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "graphMode": "area",
        "colorMode": "value",
        "justifyMode": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "values": False, "fields": ""},
    },
    "state-timeline": {
        "showValue": "auto",
        "rowHeight": 0.9,
        "mergeValues": True,
        "alignValue": "left",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"},
    },
}
"""Settings of the drawing by its style."""
