"""The page about migration is that of the tables of fields."""

from pathlib import Path

from cli import migration_page
from migration import conversion, fields

PAGE = Path("docs/migration.md")


def test_the_committed_page_is_that_of_the_tables(golden):
    golden(PAGE, migration_page.text())


def test_every_field_of_every_table_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    names = {name for reader in conversion.READERS.values() for name in (*reader.TABLES.values(), "kubernetes")}
    rows = [row for name in names for row in fields.table(name).written_rows]
    assert len(rows) > 60
    assert [row.path for row in rows if f"| `{row.path}` | {row.fate} |" not in text] == []


def test_every_loss_and_question_has_a_reason():
    rows = [row for table in migration_page.tables() for row in table.rows]
    assert [row.path for row in rows if row.fate != "carried" and not row.reason] == []
    others = [(row.path, other.when) for row in rows for other in row.exceptions if not other.reason]
    assert others == []
