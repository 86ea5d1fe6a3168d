"""Accounts of documents: the fate of each leaf."""

import time

import pytest

from migration.accounts import HIDDEN, Original, kind_of
from migration.fields import FieldRow, FieldTable
from models.paths import Path

TABLE = FieldTable(
    "A kind",
    "a/Kind",
    "",
    tuple(
        FieldRow.model_validate(row)
        for row in (
            {"path": "name", "class": "carried", "key": "services"},
            {"path": "near", "class": "differs", "reason": "it is only near"},
            {"path": "lost", "class": "cannot", "reason": "it has no key"},
            {"path": "ours", "class": "dropped", "reason": "this program sets it"},
            {"path": "env", "class": "carried"},
            {"path": "args", "class": "carried"},
            {
                "path": "tls",
                "class": "dropped",
                "reason": "it is off",
                "except": [{"class": "cannot", "when": "true", "reason": "it has no key"}],
            },
        )
    ),
)


def original(**tree):
    return Original("a.yaml", tree, TABLE)


def said(document):
    return [str(note) for note in document.notes()]


def test_a_taken_leaf_is_carried_and_an_untaken_one_is_lost():
    document = original(name="a")
    assert said(document) == ["a.yaml name: cannot be carried: this program has no key for the value"]
    assert document.text(Path("name")) == "a"
    assert document.fates() == {Path("name"): "carried"}


def test_a_leaf_without_a_row_makes_a_note_wherever_it_is():
    document = original(name="a", other={"deep": [1]})
    document.text(Path("name"))
    assert document.fates()[Path("other", "deep", 0)] == "cannot"
    assert "a.yaml other.deep[0]: cannot be carried: this program does not know the field" in said(document)


def test_rows_decide_about_leaves_that_nobody_reads():
    assert said(original(lost=1, ours=2)) == [
        "a.yaml lost: cannot be carried: it has no key",
        "a.yaml ours: dropped: this program sets it",
    ]


def test_a_value_of_another_kind_is_lost_with_a_note():
    document = original(name=3)
    assert document.text(Path("name")) is None
    assert said(document) == ["a.yaml name: cannot be carried: it is not text"]


def test_true_is_no_number():
    document = original(name=True)
    assert document.number(Path("name")) is None


def test_a_note_of_a_reader_has_the_reason_of_the_row_for_that_fate():
    document = original(tls=True)
    document.note(Path("tls"), "cannot")
    assert said(document) == ["a.yaml tls: cannot be carried: it has no key"]


def test_a_difference_stands_beside_the_key_that_got_the_value():
    document = original(near="x")
    document.text(Path("near"), Path("services", "a", "near"))
    (note,) = document.notes()
    assert (note.fate, note.key) == ("differs", Path("services", "a", "near"))


def test_one_note_is_about_all_leaves_of_a_row():
    assert len(said(original(lost={"a": 1, "b": {"c": [2, 3]}}))) == 1


@pytest.mark.parametrize("value", [None, {}, []])
def test_an_empty_value_is_the_same_as_no_value(value):
    assert original(name=value).fates() == {Path("name"): "dropped"}


def test_no_reader_sees_a_credential():
    token = "hf_" + "aB3dE6gH9j" * 4
    tree = {"env": [{"name": "HF_TOKEN", "value": token}], "args": ["--api-key", token, f"--x={token}"], token: 1}
    document = original(**tree)
    assert document.peek(Path("env", 0, "value")) == HIDDEN
    assert document.texts(Path("args")) == ["--api-key"]
    assert document.keys(Path()) == ("env", "args")
    notes = said(document)
    assert token not in "".join(notes)
    assert sum("holds a credential in clear" in note for note in notes) == 3


def test_a_field_that_is_not_there_can_be_asked_for():
    document = original()
    document.note(Path("gateway"), "ask", "name a provider")
    assert said(document) == ["a.yaml gateway: name a provider"]


@pytest.mark.parametrize("tree", [None, 3, [], {"kind": 1, "apiVersion": "a/v1"}, {"kind": "A"}])
def test_what_is_no_object_has_no_kind(tree):
    assert not kind_of(tree)


def test_a_kind_has_no_version():
    assert kind_of({"kind": "A", "apiVersion": "b/v1"}) == "b/A"


def test_a_hidden_flag_keeps_its_name_so_that_the_flag_before_it_keeps_its_value():
    document = original(args=["--seed", "1", "--api-key=hunter2-Correct"])
    assert document.peek(Path("args")) == ["--seed", "1", f"--api-key={HIDDEN}"]
    assert document.is_hidden(Path("args", 2))
    assert document.texts(Path("args")) == ["--seed", "1"]


def test_an_ellipsis_is_no_credential():
    document = original(args=["--chat-template", "…"], name="a…b")
    assert document.text(Path("name")) == "a…b"
    assert document.texts(Path("args")) == ["--chat-template", "…"]


def test_a_key_that_is_a_credential_makes_a_note():
    token = "hf_" + "aB3dE6gH9j" * 4
    document = original(env=[{"name": "A", token: {token: 1}}], ours={token: 1})
    notes = said(document)
    assert "a.yaml env[0]: cannot be carried: one of its keys is a credential in clear; remove it" in notes
    assert not any("a.yaml ours" in note and "cannot" in note for note in notes)
    assert token not in "".join(notes)


def test_notes_about_many_leaves_take_no_time():
    document = original(env=[{"name": f"A{number}", "value": "x"} for number in range(4_000)])
    for item in document.items(Path("env")):
        document.drop(item, "it is one of many")
    started = time.process_time()
    assert len(document.notes()) == 4_000
    assert time.process_time() - started < 3
