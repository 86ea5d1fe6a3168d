"""Rows of llm-d's guides: our stack file, the facts of the guide's own objects, and a reason for every difference.

A row is a folder of `tests/guides/rows`. `stack.yaml` is ours. `facts.yaml` has the facts and the number of lines of
the guide's objects. `differences.yaml` has, below the key of a reason, each field that differs, with our value.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cli import render
from planning.ground import yaml_text
from tests.support.guides import facts
from tests.support.guides.facts import Fact

ROOT = Path("tests/guides")
UNEXPLAINED = "unexplained"
"""Key of fields that differ without a reason."""


@dataclass(frozen=True)
class Row:
    """A guide, and our stack that does what the guide does."""

    name: str

    @property
    def stack(self) -> Path:
        return ROOT / "rows" / self.name / "stack.yaml"

    @property
    def list(self) -> Path:
        """The file with the differences."""
        return ROOT / "rows" / self.name / "differences.yaml"

    @property
    def lines(self) -> int:
        """Lines of the stack file without comments and empty lines."""
        return lines_of(self.stack.read_text("utf-8"))

    @cached_property
    def guide(self) -> "Guide | None":
        """The record of the guide's objects; None for a guide that has none."""
        path = ROOT / "rows" / self.name / "facts.yaml"
        if not path.exists():
            return None
        record: Any = yaml_text.load(path.read_text("utf-8"))
        return Guide(record["source"], record["lines"], record["facts"])

    @cached_property
    def differences(self) -> Mapping[str, Mapping[str, Fact | None]]:
        """Our values of the fields that are known to differ, by reason and path; None for a field that we lack."""
        if not self.list.exists():
            return {}
        record: Any = yaml_text.load(self.list.read_text("utf-8"))
        return record

    @cached_property
    def objects(self) -> Sequence[Mapping[str, Any]]:
        """Our rendered objects."""
        return json.loads(render.render_json(str(self.stack), name=f"guides/{self.name}"))["objects"]


@dataclass(frozen=True)
class Guide:
    """Objects of a guide: their source, their number of lines, and their facts by path."""

    source: str
    lines: int
    facts: Mapping[str, Fact]


def lines_of(text: str) -> int:
    """Return the number of lines of a text that are neither empty nor a comment."""
    return sum(not line.strip().startswith("#") and line.strip() != "" for line in text.splitlines())


def names() -> list[str]:
    """Return the names of all rows."""
    return sorted(path.name for path in (ROOT / "rows").iterdir())


def reasons() -> Mapping[str, str]:
    """Return the reasons by their keys."""
    record: Any = yaml_text.load((ROOT / "reasons.yaml").read_text("utf-8"))
    return record


def different(theirs: Mapping[str, Fact], objects: Iterable[Mapping[str, Any]]) -> dict[str, Fact | None]:
    """Return our values of the fields in which objects of ours differ from a guide's facts."""
    ours = facts.of(objects)
    return {at: ours.get(at) for at in sorted({*theirs, *ours}) if theirs.get(at) != ours.get(at)}


def text(row: Row, differences: Mapping[str, Fact | None]) -> str:
    """Return the list of a row for these differences: each stays below its reason, and new ones have none."""
    reason_of = {at: reason for reason, values in row.differences.items() for at in values}
    sections = dict[str, list[str]]()
    for at, value in differences.items():
        lines = sections.setdefault(reason_of.get(at, UNEXPLAINED), [])
        lines.append(f"  {at}: {json.dumps(value, sort_keys=True)}\n")
    header = "# Fields in which we differ from the guide, with our values; reasons.yaml has the reasons.\n"
    return header + "".join(f"{reason}:\n{''.join(lines)}" for reason, lines in sorted(sections.items()))
