"""Announced differences: values that only one of two renderings has, for a reason that holds for every service.

A row of the table names the part and the value. `<path>` in a value stands for the value at a path of the service's
file, so that a rendering with another value is not excused (`_with_values`). What the file itself
states is not excused in our rendering without a note, because the other rendering has it too.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from migration import fields
from migration.accounts import Original, all_leaves
from migration.fields import ANY_ITEM
from migration.notes import Note
from models.base import Spec
from models.paths import Path
from models.trees import mapping, sequence
from models.vocabulary import Items
from planning.ground import tables

Side = Literal["ours", "theirs"]
_PLACE = "@"
"""Beginning of a path at the fields of the role."""
_VALUE = re.compile(r"<([^<>]*)>")
_REST = "#rest"
_ANY = "*"
_WORDS = re.compile(r"[^\s=]+")


class AnnouncedRow(Spec):
    """A difference with its reason. With values of both sides, both have to be there, and neither is announced alone.

    A `*` in a value is any text.
    """

    part: str
    ours: Items[str] = ()
    theirs: Items[str] = ()
    reason: str
    noted: str = ""
    """Path of a field. If it is carried, and all fields below it are, the row does not hold. Empty: it always does."""
    unless: str = ""
    """Path of a field with which the row does not hold."""


class _AnnouncementFile(Spec):
    """The table of announced differences."""

    all: Items[AnnouncedRow]
    """Differences of all sources."""
    sources: dict[str, Items[AnnouncedRow]]
    """Differences by the name of the source."""


@dataclass(frozen=True, slots=True)
class FileRole:
    """A role of a service of another system."""

    source: str
    original: Original
    place: str
    """Path of the fields of the role."""
    notes: tuple[Note, ...]
    """Notes about the file."""
    elsewhere: tuple[str, ...] = ()
    """Paths of the fields of other roles, below those of this one."""
    shared: str = ""
    """Path of fields of all roles; empty: there are none."""

    def values(self, path: str) -> list[str]:
        """Return the texts of the values at a path of the table, in which `[]` is any item."""
        values: list[object] = [self.original.peek(Path())]
        for part in fields.parts_of(self._absolute(path)):
            if part == ANY_ITEM:
                values = [item for value in values for item in sequence(value)]
            else:
                values = [mapping(value).get(part) for value in values]
        return [str(value) for value in values if value is not None]

    def has_note(self, path: str) -> bool:
        """Tell whether a note says that a field at a path of the table, or one below it, is not carried."""
        parts_of_row = fields.parts_of(self._absolute(path))
        for note in self.notes:
            parts = tuple(ANY_ITEM if isinstance(part, int) else part for part in note.path)
            if note.fate != "carried" and parts[: len(parts_of_row)] == parts_of_row:
                return True
        return False

    def states(self, part: str, value: str) -> bool:
        """Tell whether the file states a value of ours: its flag, variable, probe or toleration."""
        if part in {"arguments", "environment"}:
            return value.partition("=")[0] in self._words()
        if part == "probes":
            return value.partition(" ")[0] in self._keys()
        if part == "tolerations":
            return any(value == in_one_form(item) for item in self._items("tolerations"))
        if part == "image":
            return value in self._texts()
        return False

    def _absolute(self, path: str) -> str:
        if path.startswith(_PLACE):
            return f"{self.place}{path.removeprefix(_PLACE)}"
        return path

    def _texts(self) -> set[str]:
        leaves = (self.original.peek(leaf) for leaf in self._leaves())
        return {leaf for leaf in leaves if isinstance(leaf, str)}

    def _words(self) -> set[str]:
        return {word for text in self._texts() for word in _WORDS.findall(text)}

    def _keys(self) -> set[str]:
        return {part for leaf in self._leaves() for part in leaf if isinstance(part, str)}

    def _items(self, key: str) -> Iterator[object]:
        """Yield the items of each list under a key."""
        holders = {Path(*leaf[: leaf.index(key) + 1]) for leaf in self._leaves() if key in leaf}
        for holder in holders:
            yield from sequence(self.original.peek(holder))

    def _leaves(self) -> Iterator[Path]:
        """Yield the paths of the leaves that are about the role."""
        elsewhere = [fields.parts_of(path) for path in self.elsewhere]
        for path in (self.place, self.shared):
            place = Path(*fields.parts_of(path))
            for leaf in all_leaves(self.original.peek(place)):
                whole = (*place, *leaf)
                if path and not any(whole[: len(other)] == other for other in elsewhere):
                    yield Path(*whole)


def reasons(subject: FileRole, part: str, ours: Iterable[str], theirs: Iterable[str]) -> Mapping[tuple[Side, str], str]:
    """Return the reasons for the announced differences of a part, by side and value.

    `ours` and `theirs` are the values that only one side has.
    """
    left: dict[Side, list[str]] = {"ours": sorted(ours), "theirs": sorted(theirs)}
    excuses = dict[tuple[Side, str], str]()
    for row in _rows(subject):
        if row.part == part:
            for side, value in _values_of_row(subject, row, left):
                left[side].remove(value)
                excuses[side, value] = row.reason
    return excuses


def in_one_form(value: object) -> str:
    """Return a value of YAML as a text in one form."""
    return json.dumps(value, sort_keys=True)


def _rows(subject: FileRole) -> Iterator[AnnouncedRow]:
    """Yield the rows that hold for a subject; those with values of both sides first."""
    table = tables.read(_AnnouncementFile, "tables/announced.yaml", "migration")
    rows = [*table.sources.get(subject.source, ()), *table.all]
    for row in sorted(rows, key=lambda row: not (row.ours and row.theirs)):
        is_noted = not row.noted or subject.has_note(row.noted)
        if is_noted and not (row.unless and subject.values(row.unless)):
            yield row


def _values_of_row(subject: FileRole, row: AnnouncedRow, left: Mapping[Side, list[str]]) -> list[tuple[Side, str]]:
    """Return the values that a row excuses: all of one side, or one of each."""
    ours = [value for value in left["ours"] if _fits(subject, row.ours, value)]
    theirs = [value for value in left["theirs"] if _fits(subject, row.theirs, value)]
    if row.ours and row.theirs:
        if ours and theirs:
            return [("ours", ours[0]), ("theirs", theirs[0])]
        return []
    generated = [value for value in ours if row.noted or not subject.states(row.part, value)]
    return [*(("ours", value) for value in generated), *(("theirs", value) for value in theirs)]


def _fits(subject: FileRole, patterns: Iterable[str], value: str) -> bool:
    return any(_matches(text, value) for pattern in patterns for text in _with_values(subject, pattern))


def _matches(pattern: str, value: str) -> bool:
    """Tell whether a value is like a pattern, in which `*` is any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_ANY))), value, re.DOTALL) is not None


def _with_values(subject: FileRole, pattern: str) -> list[str]:
    """Return a pattern with values of the file in place of `<path>`. Several values make several texts.

    `<a|b>` is the value at a, or else at b; `<a:1>` is 1 if there is no value; `<a#rest>` is what a URI has after its
    host. A pattern without a value and without a default makes no text.
    """
    place = _VALUE.search(pattern)
    if place is None:
        return [pattern]
    path, _, default = place[1].partition(":")
    values = list[str]()
    for alternative in path.split("|"):
        values = values or subject.values(alternative.removesuffix(_REST))
    if path.endswith(_REST):
        values = [value.partition("://")[2].partition("/")[2] for value in values]
    if not values and ":" in place[1]:
        values = [default]
    rest = _with_values(subject, pattern[place.end() :])
    return [f"{pattern[: place.start()]}{value}{end}" for value in values for end in rest]
