"""Tables of fields, and the row that covers a field."""

import pytest

from migration import fields
from migration.fields import FieldRow, FieldTable
from models.paths import Path


def made(*rows):
    return FieldTable("A kind", "a/Kind", "", tuple(FieldRow.model_validate(row) for row in rows))


def test_a_field_has_the_longest_row_that_covers_it():
    table = made({"path": "spec", "class": "cannot"}, {"path": "spec.items[].name", "class": "carried"})
    assert [table.row(path).path for path in (Path("spec", "x"), Path("spec", "items", 3, "name"))] == [
        "spec",
        "spec.items[].name",
    ]


def test_a_field_outside_of_all_rows_has_none():
    assert made({"path": "spec", "class": "cannot"}).row(Path("status")) is None


def test_a_star_is_any_key_and_quotes_keep_the_dots_of_a_key():
    table = made({"path": "a.*.b", "class": "carried"}, {"path": "a.'x.y/z'", "class": "dropped"})
    assert table.row(Path("a", "q", "b")).fate == "carried"
    assert table.row(Path("a", "x.y/z")).fate == "dropped"


def test_a_group_stands_for_several_rows():
    written = {"path": "spec.{decode,prefill}.replicas", "class": "carried", "key": "services.*.{,prefill.}replicas"}
    rows = list(fields._expand(FieldRow.model_validate(written)))
    assert [(row.path, row.key) for row in rows] == [
        ("spec.decode.replicas", "services.*.replicas"),
        ("spec.prefill.replicas", "services.*.prefill.replicas"),
    ]


def test_two_rows_for_one_field_are_refused():
    with pytest.raises(ValueError, match="two rows for spec"):
        made({"path": "spec", "class": "cannot"}, {"path": "spec", "class": "dropped"})


def test_the_table_of_a_kind_has_the_fields_of_all_objects():
    assert fields.table("modelservice").row(Path("metadata", "uid")).fate == "dropped"
