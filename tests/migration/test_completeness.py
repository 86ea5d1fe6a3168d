"""Tables, lists of leaves and documents against each other: every leaf has one row, and every row is hit."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path as File
from typing import Any

import pytest
import yaml

from cli import convert, trial
from migration import aim, conversion, files
from migration.accounts import Original, all_leaves
from migration.conversion import Conversion
from migration.fields import ANY_ITEM, ANY_KEY, FATES, FieldRow, FieldTable, parts_of, table
from models import engine_yaml
from models.paths import Path
from tests.support import whole_documents

SAMPLES = {"chart-values": "llm-d-modelservice", "zerfoo": "zerfoo"}
"""Sources of samples without a kind."""
SOURCES = tuple(whole_documents.rules()["sources"])
LISTS = ("pod", *sorted({file for source in SOURCES for file in whole_documents.files(source)}))
"""Tables that have a list of leaves with the same name; that of `pod` is pod-spec."""
UNREAD = ("this program has no key for the value", "this program does not know the field")
WITHOUT_LEAF = {
    ("config-map", "status"): "a ConfigMap has none, and the row is that of all objects",
}
"""Reasons of rows that cover no leaf of their schema."""
OTHER_OBJECTS = {
    "aim-cluster-model": "the rows are those of aim-model, whose document is read in more situations",
    "aim-cluster-runtime-config": "the rows are those of aim-runtime-config",
    "aim-cluster-template": "the rows are those of aim-template",
}
"""Reasons of tables whose rows need not come out with their class."""


def listed(name: str) -> Mapping[str, str]:
    """Return the leaves of a table's schema."""
    return whole_documents.leaves("pod-spec" if name == "pod" else name)


@cache
def conversions(source: str) -> tuple[Conversion, ...]:
    """Return the conversions of documents that have all leaves of a source."""
    origin = whole_documents.origin(source)
    return tuple(conversion.convert(raws, (), origin) for raws in whole_documents.conversions(source))


@cache
def all_documents() -> Mapping[str, tuple[Original, ...]]:
    """Return the documents that have all leaves, and the samples, by the titles of their tables."""
    results = [result for source in SOURCES for result in conversions(source)]
    samples = File(__file__).with_name("samples")
    for path in (*sorted(samples.glob("*.yaml")), samples / "groups" / "kserve.yaml"):
        documents = files.documents(path.read_text(encoding="utf-8"), path.name)
        results.append(conversion.convert(documents, (), SAMPLES.get(path.stem)))
    by_title = dict[str, tuple[Original, ...]]()
    for result in results:
        for document in result.documents:
            by_title[document.table.title] = (*by_title.get(document.table.title, ()), document)
    return by_title


@cache
def outcomes(name: str) -> frozenset[tuple[str, str]]:
    """Return the paths of rows that are hit, each with the classes of the leaves that hit it."""
    documents = all_documents()[table(name).title]
    pairs = [(document.table.row(leaf), fate) for document in documents for leaf, fate in document.fates().items()]
    return frozenset((row.path, fate) for row, fate in pairs if row is not None)


class Coverage:
    """The rows of a table by the leaves that they cover, found without the table's own search."""

    def __init__(self, rows: Iterable[FieldRow]) -> None:
        self.by_parts = dict[tuple[str, ...], list[FieldRow]]()
        for row in rows:
            self.by_parts.setdefault(row.parts, []).append(row)
        self.open = [parts for parts in self.by_parts if ANY_KEY in parts]

    def rows(self, leaf: str) -> list[FieldRow]:
        """Return the most exact rows of a leaf, of which there has to be one."""
        parts = parts_of(leaf)
        for length in range(len(parts), 0, -1):
            start = parts[:length]
            rows = self.by_parts.get(start, [])
            if not rows:
                similar = [other for other in self.open if len(other) == length]
                rows = [row for other in similar if _matches(other, start) for row in self.by_parts[other]]
            if rows:
                return rows
        return []


def _matches(row: tuple[str, ...], leaf: tuple[str, ...]) -> bool:
    return all(part == other or (part == ANY_KEY and other != ANY_ITEM) for part, other in zip(row, leaf, strict=True))


def ambiguous(rows: Iterable[FieldRow], leaves: Iterable[str]) -> list[str]:
    """Return the leaves that have no row, or several."""
    coverage = Coverage(rows)
    return [leaf for leaf in leaves if len(coverage.rows(leaf)) != 1]


def idle(rows: Iterable[FieldRow], leaves: Iterable[str]) -> set[str]:
    """Return the paths of the rows that cover no leaf."""
    rows = list(rows)
    coverage = Coverage(rows)
    covering = {row.path for leaf in leaves for row in coverage.rows(leaf)}
    return {row.path for row in rows} - covering


def keys_of_maps(name: str) -> Iterator[str]:
    """Yield the paths of keys that have a meaning in maps of a schema."""
    for place, keys in whole_documents.rules()["keys"].items():
        schema, _, path = place.partition(" ")
        if schema == name:
            yield from (f"{path}.'{key}'" for key in keys)


@pytest.mark.parametrize("name", LISTS)
def test_each_leaf_of_a_schema_has_exactly_one_row(name: str) -> None:
    leaves = listed(name)
    assert len(leaves) > 15
    assert ambiguous(table(name).rows, leaves) == []


@pytest.mark.parametrize("name", LISTS)
def test_each_row_covers_a_leaf_of_its_schema(name: str) -> None:
    """Keys of maps are leaves that no schema lists, and so are fields that files have although nobody reads them."""
    leaves = [*listed(name), *keys_of_maps(name), *whole_documents.unlisted(name)]
    assert idle(table(name).rows, leaves) == {path for other, path in WITHOUT_LEAF if other == name}


@pytest.mark.parametrize("name", LISTS[1:])
def test_each_row_is_hit(name: str) -> None:
    """A row, also one of an included table, is hit by a leaf of a document that its reader has read."""
    paths = {row.path for row in table(name).rows}
    hit = {path for path, _ in outcomes(name)}
    assert paths - hit == {path for other, path in WITHOUT_LEAF if other == name}


@pytest.mark.parametrize("name", [name for name in LISTS[1:] if name not in OTHER_OBJECTS])
def test_each_row_that_is_hit_says_what_becomes_of_some_leaf(name: str) -> None:
    """A row whose class no leaf ever gets is wrong, even if its fields are read."""
    silent = {row.path for row in table(name).rows if (row.path, row.fate) not in outcomes(name)}
    assert silent == {path for other, path in WITHOUT_LEAF if other == name}


@pytest.mark.parametrize("source", SOURCES)
def test_each_leaf_of_a_whole_document_has_one_class_and_is_understood(source: str) -> None:
    compared = set[str]()
    for raws, result in zip(whole_documents.conversions(source), conversions(source), strict=True):
        trees = {raw.file: raw.tree for raw in raws}
        for document in result.documents:
            fates = document.fates()
            assert set(fates.values()) <= set(FATES)
            reasons = {note.reason for note in document.notes()}
            assert not reasons & set(UNREAD), [str(note) for note in document.notes() if note.reason in UNREAD]
            if not is_replaced(document, trees[document.file]):
                assert set(fates) == set(all_leaves(trees[document.file]))
                compared.add(document.file)
    assert compared == set(whole_documents.files(source))


def is_replaced(document: Original, tree: Mapping[str, Any]) -> bool:
    """Tell whether others were merged into a document."""
    return any(document.peek(Path(key)) != value for key, value in tree.items())


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_printed_of_a_whole_document_loads_and_plans(source: str) -> None:
    """Values that are refused are comments, each with a reason."""
    (raws, *_) = whole_documents.conversions(source)
    result = convert.convert(raws, (), whole_documents.origin(source))
    document = engine_yaml.parse(result.text, "printed")
    tree = yaml.safe_load(result.text)
    assert document.tree == tree
    assert document.ambiguities == ()
    stack = tree["config"]["inference-stacks:stack"]
    assert len(stack["services"]) == 1
    assert trial.run(stack).refused == ()


def test_the_documents_are_the_same_each_time() -> None:
    for source in SOURCES:
        texts = {json.dumps([raw.tree for raw in next(whole_documents.conversions(source))]) for _ in range(2)}
        assert len(texts) == 1


def test_a_row_that_is_removed_leaves_its_leaves_without_a_row() -> None:
    """The control of the first test; without `*`, an exact row is needed."""
    rows = [row for row in table("pod").rows if row.path != "volumes[].csi"]
    assert len(rows) + 1 == len(table("pod").rows)
    lacking = ambiguous(rows, listed("pod"))
    assert lacking
    assert all(leaf.startswith("volumes[].csi.") for leaf in lacking)


def test_a_row_that_is_there_twice_is_found_and_refused() -> None:
    rows = (*table("pod").rows, next(row for row in table("pod").rows if row.path == "nodeName"))
    assert ambiguous(rows, listed("pod")) == ["nodeName"]
    with pytest.raises(ValueError, match="two rows for nodeName"):
        FieldTable("Pods", "", "", rows)


def test_a_row_about_a_field_that_nobody_has_is_found() -> None:
    row = table("pod").rows[0].model_copy(update={"path": "volumes[].csi.inventedField"})
    assert idle((*table("pod").rows, row), listed("pod")) == {row.path}
    assert row.path not in {path for path, _ in outcomes("kserve")}


def test_a_row_with_another_class_is_found() -> None:
    """The control of the classes: a field that is always lost never comes out as carried."""
    assert ("spec.template.nodeName", "cannot") in outcomes("kserve")
    assert ("spec.template.nodeName", "carried") not in outcomes("kserve")


def test_the_tables_that_need_not_show_their_classes_are_included_ones() -> None:
    """Each row that needs not show its class is that of a table that shows it."""
    for name in OTHER_OBJECTS:
        assert set(table(name).parts.values()) <= set(aim.COMPANIONS.values()) - set(OTHER_OBJECTS)
