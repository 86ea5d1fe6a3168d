"""Pictures of a terminal, as SVG."""

from collections.abc import Sequence
from html import escape

_FAMILY = "ui-monospace,Menlo,Consolas,monospace"
_FONT = 14
_ADVANCE = 8.43
"""Width of a character of 14 px in the usual monospaced fonts, with a margin."""
_LINE = 19
_MARGIN = 16
_COLOURS = {"✓": "#3fb950", "!": "#d29922", "✗": "#f85149", "?": "#a371f7", "$": "#8b949e"}
"""Colours of signs, which stand for a state."""


def svg(lines: Sequence[str]) -> str:
    """Return a picture of a terminal with these lines. Each sign has the colour of its state."""
    width = round(max(map(len, lines)) * _ADVANCE) + 2 * _MARGIN
    height = len(lines) * _LINE + 2 * _MARGIN
    rows = "\n".join(_row(line, _MARGIN + _FONT + index * _LINE) for index, line in enumerate(lines))
    style = f'fill="#e6edf3" font-family="{_FAMILY}" font-size="{_FONT}" style="white-space:pre"'
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
<g {style}>
{rows}
</g>
</svg>
"""


def _row(line: str, at: int) -> str:
    return f'<text x="{_MARGIN}" y="{at}">{"".join(map(_character, line))}</text>'


def _character(character: str) -> str:
    if character in _COLOURS:
        return f'<tspan fill="{_COLOURS[character]}">{character}</tspan>'
    return escape(character)
