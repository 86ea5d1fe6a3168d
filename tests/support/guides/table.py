"""The table of `docs/guides.md`: how long each guide is, in our words and in its own, and what differs."""

from collections.abc import Sequence

from tests.support.guides import rows
from tests.support.guides.rows import Row

_FOLDER = "../tests/guides/rows"
_HEAD = """\
| Guide | Our lines | Its lines | Ratio | Fields that differ | Beyond the common reasons |
|---|---|---|---|---|---|
"""
_OFTEN = 0.5
"""Share of the compared guides from which on a reason says nothing about a single guide."""


def table(guides: Sequence[Row]) -> str:
    """Return the rows of all guides as a table, with links to their files."""
    common = common_reasons([row for row in guides if row.guide is not None])
    return "".join((_HEAD, *(_line(row, common) for row in guides)))


def common_reasons(compared: Sequence[Row]) -> list[str]:
    """Return the keys of the reasons that at least half of the compared guides have."""
    least = _OFTEN * len(compared)
    return [key for key in rows.reasons() if sum(key in row.differences for row in compared) >= least]


def _line(row: Row, common: Sequence[str]) -> str:
    link = f"[{row.name}]({_FOLDER}/{row.name}/stack.yaml)"
    if row.guide is None:
        return f"| {link} | {row.lines} | | | | nothing to compare with |\n"
    fields = sum(len(values) for values in row.differences.values())
    differences = f"[{fields}]({_FOLDER}/{row.name}/differences.yaml)"
    further = ", ".join(reason for reason in row.differences if reason not in common)
    ratio = row.lines / row.guide.lines
    return f"| {link} | {row.lines} | {row.guide.lines} | {ratio:.2f} | {differences} | {further} |\n"
