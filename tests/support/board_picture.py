"""Pictures of dashboards, as SVG: their rows and panels with titles, series and borders, and without values."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_COLUMN = 40
_UNIT = 10
"""Height of a unit of the grid."""
_TITLE = 24
_PADDING = 8
_LONGEST = 0.16
"""Characters for each pixel of the width of a panel."""
_MOST_SERIES = 3
_UNITS = {"percentunit": "{:.0%}", "short": "{:g}"}
"""Texts of values with the units of Grafana that are no words."""


def svg(title: str, tree: Mapping[str, Any]) -> str:
    """Return a picture of a dashboard. `tree` is the dashboard as Grafana reads it."""
    width = 24 * _COLUMN
    height = max(_bottom(panel) for panel in tree["panels"]) + _TITLE + _PADDING
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">
<rect width="{width}" height="{height}" rx="8" fill="#111217"/>
<g fill="#ccccdc" font-family="Inter,Helvetica,Arial,sans-serif" font-size="11">
<text x="{_PADDING}" y="17" font-size="14">{escape(title)}</text>
{chr(10).join(line for panel in tree["panels"] for line in _panel(panel))}
</g>
</svg>
"""


def _top(panel: Mapping[str, Any]) -> int:
    return panel["gridPos"]["y"] * _UNIT + _TITLE


def _bottom(panel: Mapping[str, Any]) -> int:
    return _top(panel) + panel["gridPos"]["h"] * _UNIT


def _panel(panel: Mapping[str, Any]) -> Iterator[str]:
    left = panel["gridPos"]["x"] * _COLUMN + 2
    top = _top(panel)
    width = panel["gridPos"]["w"] * _COLUMN - 4
    height = panel["gridPos"]["h"] * _UNIT - 4
    if panel["type"] == "row":
        yield f'<text x="{left}" y="{top + 8}" font-weight="bold">{escape(panel["title"])}</text>'
        return
    yield f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="2" fill="#181b1f" stroke="#2c3235"/>'
    yield f'<text x="{left + 6}" y="{top + 14}">{escape(_cut(panel["title"], width))}</text>'
    names = [target["legendFormat"] for target in panel["targets"]]
    for index, name in enumerate(names[:_MOST_SERIES]):
        text = escape(_cut(name, width))
        yield f'<text x="{left + 6}" y="{top + 29 + 13 * index}" font-size="9" fill="#8e8e9e">{text}</text>'
    defaults = panel["fieldConfig"]["defaults"]
    if "custom" not in defaults:
        return
    for step in defaults["thresholds"]["steps"][1:]:
        right = left + width - 6
        line = top + height - 8
        text = _UNITS.get(defaults["unit"], "{:g} {}").format(step["value"], defaults["unit"])
        yield f'<path d="M{left + 6} {line}H{right}" stroke="#f2495c" stroke-dasharray="4 3"/>'
        yield f'<text x="{right}" y="{line - 3}" font-size="9" fill="#f2495c" text-anchor="end">{text}</text>'


def _cut(text: str, width: int) -> str:
    """Return a text that fits a width in pixels."""
    longest = int(width * _LONGEST)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
