"""Conversion of documents by the readers of their kinds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from migration import aim, kserve, modelservice, modelservice_chart, zerfoo
from migration.accounts import Original
from migration.converted import Converted, Reader
from migration.fields import FieldTable, table
from migration.files import RawDocument
from migration.notes import Note
from models.paths import Path

READERS: Mapping[str, Reader] = {
    "modelservice": modelservice,
    "kserve": kserve,
    "aim": aim,
    "modelservice-chart": modelservice_chart,
    "zerfoo": zerfoo,
}
"""Readers by the names of their sources."""
_NOBODYS = FieldTable("Other documents", "", "", ())
_WITHOUT_SERVICE = "no service of its system is among the files before --with"
_UNKNOWN_KIND = "no reader knows this kind"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The services of all documents, and all documents."""

    services: tuple[Converted, ...]
    documents: tuple[Original, ...]
    """All documents, those that no reader knows too."""
    strangers: tuple[Note, ...]
    """Notes about documents that no reader knows."""


def kinds() -> tuple[str, ...]:
    """Return the kinds that make services, as `group/Kind`, sorted. The group `*` is any."""
    return tuple(sorted(kind for reader in READERS.values() for kind in reader.TABLES if "/" in kind))


def chart_names() -> tuple[str, ...]:
    """Return the names for `--from`: sources whose files have no kind, sorted."""
    return tuple(sorted(name for reader in READERS.values() for name in reader.TABLES if "/" not in name))


def understood_kinds() -> frozenset[str]:
    """Return the kinds that some reader understands, as `group/Kind`, those beside services too."""
    return frozenset(kind for reader in READERS.values() for kind in (*reader.TABLES, *reader.COMPANIONS))


def convert(
    sources: Sequence[RawDocument], companions: Sequence[RawDocument] = (), origin: str | None = None
) -> Conversion:
    """Return the services of some documents. `companions` are documents to which the others refer.

    `origin` is the name of the source of documents that are no objects; None if there is none.
    """
    services = list[Converted]()
    documents = list[Original]()
    known = set[int]()
    for name, reader in READERS.items():
        main = _documents(sources, reader.TABLES, origin, known)
        if main:
            beside = _documents((*sources, *companions), reader.COMPANIONS, None, known)
            services += [replace(service, source=name) for service in reader.read(main, beside)]
            documents += (*main, *beside)
    strangers = [raw for raw in (*sources, *companions) if id(raw) not in known]
    notes = tuple(Note(raw.file, Path(), "cannot", _reason(raw)) for raw in strangers)
    return Conversion(tuple(services), tuple(documents), notes)


def _reason(stranger: RawDocument) -> str:
    """Return why nobody has read a document."""
    if stranger.kind in understood_kinds():
        return _WITHOUT_SERVICE
    return _UNKNOWN_KIND


def _documents(
    sources: Sequence[RawDocument], tables: Mapping[str, str], origin: str | None, known: set[int]
) -> list[Original]:
    """Return the documents whose kinds are in `tables`, and add the ids of their sources to `known`."""
    return list(_matching(sources, tables, origin, known))


def _matching(
    sources: Sequence[RawDocument], tables: Mapping[str, str], origin: str | None, known: set[int]
) -> Iterator[Original]:
    for source in sources:
        name = tables.get(source.kind or origin or "") or tables.get(f"*/{source.kind.rpartition('/')[2]}")
        if name is not None:
            known.add(id(source))
            yield Original(source.file, source.tree, table(name), source.running)
