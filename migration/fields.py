"""Reader of the tables that say, for each field of another system's files, what becomes of it here.

A table has one row for each field. A row covers the field and everything below it, unless a longer row is more exact.
`docs/migration.md` is generated from the tables.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from models.base import Spec
from models.paths import Path
from models.vocabulary import Items
from planning.ground import tables

Fate = Literal["carried", "differs", "dropped", "cannot", "ask"]
"""Fate of a field.

carried: a key of this program has the same meaning. differs: a key has nearly the same meaning. dropped: it means
nothing here, because this program decides it itself. cannot: no key has its meaning, so that it is lost. ask: the file
does not hold all that a key needs.
"""
LOUD: tuple[Fate, ...] = ("cannot", "ask", "differs")
"""Fates that a user is told without asking, the worst first."""
FATES: tuple[Fate, ...] = (*LOUD, "carried", "dropped")
ANY_KEY = "*"
ANY_ITEM = "[]"
_PARTS = re.compile(r"'([^']*)'|(\[\]|[^.\[\]']+)")
_GROUP = re.compile(r"\{([^{}]*)\}")
_COMMON = "kubernetes"
"""Name of the table with the fields that every object of Kubernetes has."""


def parts_of(path: str) -> tuple[str, ...]:
    """Return the parts of a path with `*` for any key and `[]` for any item, as tables have it."""
    return tuple(quoted or plain for quoted, plain in _PARTS.findall(path))


class OtherFate(Spec):
    """Fate of some values of a field that differs from the fate of the others."""

    fate: Annotated[Fate, Field(alias="class")]
    when: str
    """The values, as a noun: `true`, `other connectors`."""
    reason: str = ""


class FieldRow(Spec):
    """Fate of a field."""

    path: str
    """Path of the field. `*` is any key, `[]` is any item of a list. A key with dots is in single quotes."""
    fate: Annotated[Fate, Field(alias="class")]
    key: str = ""
    """Key of this program with `*` for the name of the service: `services.*.replicas`. Empty if there is none."""
    reason: str = ""
    """The reason, as the end of a sentence: `the log encoding has no key`. Required but for `carried`."""
    exceptions: Annotated[Items[OtherFate], Field(alias="except")] = ()
    """Values that become something else."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the parts of the path."""
        return parts_of(self.path)

    def reason_of(self, fate: Fate) -> str:
        """Return the reason for a fate of the field; an empty text if the row knows none."""
        if fate == self.fate:
            return self.reason
        return next((other.reason for other in self.exceptions if other.fate == fate), "")


class _Inclusion(Spec):
    """Rows of another table, which are rows of this one below a path."""

    at: str
    """Path of the fields of the other table."""
    table: str
    key: str = ""
    """Beginning of the keys of the other table; empty if they are whole."""
    below: str = ""
    """Path in the other table, whose rows alone are taken; empty for all of its rows."""
    only: Items[str] = ()
    """First parts of the paths that are taken; empty for all."""
    but: Items[str] = ()
    """First parts of the paths that are not taken."""

    def rows(self) -> Iterator[FieldRow]:
        """Yield the rows with the paths and the keys that they have in the table with this part."""
        for row in table(self.table).rows:
            rest = row.path
            if self.below:
                rest = rest.removeprefix(f"{self.below}.")
            is_below = rest != row.path or not self.below
            first = parts_of(rest)[0]
            if is_below and first not in self.but and (not self.only or first in self.only):
                key = f"{self.key}.{row.key}".removeprefix(".") if row.key else ""
                yield row.model_copy(update={"path": f"{self.at}.{rest}", "key": key})


class _TableFile(Spec):
    """The content of a table's file."""

    title: str
    kind: str = ""
    """Kind of the object, as `group/Kind`; empty for values of a Helm chart."""
    source: str = ""
    """The software whose fields the table has, with its version."""
    parts: Items[_Inclusion] = ()
    fields: list[FieldRow]


@dataclass
class _Branch:
    """Rows by the parts of their paths."""

    row: FieldRow | None = None
    below: dict[str, "_Branch"] = field(default_factory=dict[str, "_Branch"])


class FieldTable:
    """The fields of one kind of file."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a table consists of
        self,
        title: str,
        kind: str,
        source: str,
        rows: tuple[FieldRow, ...],
        written_rows: tuple[FieldRow, ...] = (),
        parts: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.title = title
        self.kind = kind
        """Kind of the object, as `group/Kind`; empty for values of a Helm chart."""
        self.source = source
        self.rows = rows
        """All rows, also those of parts and of every object."""
        self.written_rows = written_rows
        """Rows of the table's own file."""
        self.parts = parts
        """Names of the tables whose rows are a part of this one, by the paths of their fields."""
        self._root = _Branch()
        for row in rows:
            branch = self._root
            for part in row.parts:
                branch = branch.below.setdefault(part, _Branch())
            if branch.row is not None:
                raise ValueError(f"the table about {title} has two rows for {row.path}")
            branch.row = row

    def row(self, path: Path) -> FieldRow | None:
        """Return the row with the longest path that covers a path of a file; None if no row does."""
        branch: _Branch | None = self._root
        row = None
        for part in path:
            branch = _below(branch, part)
            if branch is None:
                break
            row = branch.row or row
        return row

    def leads_to_rows(self, path: Path) -> bool:
        """Tell whether a path of a file is the beginning of the path of a row, or the path itself."""
        branch: _Branch | None = self._root
        for part in path:
            branch = _below(branch, part)
            if branch is None:
                return False
        return True


def _below(branch: _Branch | None, part: str | int) -> _Branch | None:
    if branch is None:
        return None
    if isinstance(part, int):
        return branch.below.get(ANY_ITEM)
    return branch.below.get(part) or branch.below.get(ANY_KEY)


@cache
def table(name: str) -> FieldTable:
    """Return the table in the file `migration/tables/<name>.yaml`.

    The table of a kind of Kubernetes has the rows that all objects have, too. The rows of a table's file win over those
    of its parts and of all objects. Raises `ValueError` if two rows have the same path.
    """
    file = tables.read(_TableFile, f"tables/{name}.yaml", "migration")
    written = tuple(row for row_of_file in file.fields for row in _expand(row_of_file))
    rows = list(written)
    known = {row.path for row in written}
    rows += [row for part in file.parts for row in part.rows() if row.path not in known]
    if file.kind and name != _COMMON:
        rows += [row for row in table(_COMMON).rows if row.path not in known]
    parts = {part.at: part.table for part in file.parts}
    return FieldTable(file.title, file.kind, file.source, tuple(rows), written, parts)


def _expand(row: FieldRow) -> Iterator[FieldRow]:
    """Yield the rows that a row with `{a,b}` in its path stands for. A group in the key has as many texts."""
    group = _GROUP.search(row.path)
    if group is None:
        yield row
        return
    names = group[1].split(",")
    key = _GROUP.search(row.key)
    keys = [row.key] * len(names)
    if key is not None:
        keys = [f"{row.key[: key.start()]}{text}{row.key[key.end() :]}" for text in key[1].split(",")]
    for name, its_key in zip(names, keys, strict=True):
        path = f"{row.path[: group.start()]}{name}{row.path[group.end() :]}"
        yield from _expand(row.model_copy(update={"path": path, "key": its_key}))


def counts(fates: Mapping[Path, Fate]) -> dict[Fate, int]:
    """Return the number of fields with each fate."""
    values = list(fates.values())
    return {fate: values.count(fate) for fate in FATES}
