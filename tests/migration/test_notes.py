"""Sentences about fields."""

from migration import notes
from migration.notes import Note
from models.paths import Path


def note(fate, reason="why"):
    return Note("a.yaml", Path("spec", "x"), fate, reason)


def test_the_worst_notes_come_first_and_each_only_once():
    ordered = notes.by_weight([note("dropped"), note("differs"), note("cannot"), note("ask"), note("cannot")])
    assert [entry.fate for entry in ordered] == ["cannot", "ask", "differs", "dropped"]


def test_a_note_shows_no_credential_and_no_control_character():
    token = "hf_" + "aB3dE6gH9j" * 4
    text = str(Note(f"{token}\x1b", Path(token), "cannot", f"{token}\n"))
    assert token not in text
    assert text.isprintable()


def test_a_summary_counts_the_fields():
    assert notes.summary({"cannot": 3, "ask": 1, "differs": 2, "carried": 14, "dropped": 9}) == (
        "3 cannot be carried, 1 to answer, 2 differ, 14 carried, 9 dropped"
    )
    assert notes.summary({"differs": 1}) == "1 differs"
    assert notes.summary({}) == "nothing to carry"
