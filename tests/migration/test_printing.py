"""Text of a configuration with comments."""

import pytest
import yaml

from migration import printing
from migration.notes import Note
from migration.printing import CommentedOut
from models import engine_yaml
from models.paths import Path

TREE = {
    "namespace": "ml",
    "services": {"chat": {"engine": {"args": ["--seed=1"], "port": 8000}, "prefill": {}, "pod": {"labels": None}}},
}


def note(*key):
    return Note("a.yaml", Path("spec"), "differs", "it is only near", Path(*key))


def value(text):
    return yaml.safe_load(text)["config"]["inference-stacks:stack"]


@pytest.mark.parametrize(
    "tree", [TREE, {}, {"services": {"a": {"engine": {"env": {"A": "yes", "B": "012", "C": ""}}}}}]
)
def test_the_text_has_the_tree_in_every_reader(tree):
    text = printing.text(tree, [])
    assert value(text) == tree
    document = engine_yaml.parse(text, "a.yaml")
    assert document.tree["config"]["inference-stacks:stack"] == tree
    assert document.ambiguities == ()


def test_a_difference_stands_above_its_key():
    lines = printing.text(TREE, [note("services", "chat", "engine", "port")]).split("\n")
    at = lines.index("          port: 8000")
    assert lines[at - 1] == "          # differs: it is only near"


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("services", "chat", "storage", "type"), "      chat:"),
        (("services", "chat", "engine", "args", 0), "          args:"),
        (("services", "other"), "    services:"),
    ],
)
def test_a_difference_of_an_absent_key_or_of_an_item_stands_nearby(key, line):
    text = printing.text(TREE, [note(*key)])
    assert "# differs: it is only near" in text
    lines = text.split("\n")
    assert abs(lines.index(line) - next(at for at, text in enumerate(lines) if "only near" in text)) <= 2


def test_what_is_carried_has_no_comment():
    carried = Note("a.yaml", Path("spec"), "carried", "services", Path("namespace"))
    assert "#" not in printing.text(TREE, [carried])


def test_a_refused_value_is_a_comment_with_the_reason_where_it_was():
    refused = CommentedOut(Path("services", "chat", "engine", "image"), {"a": ["b", "c"]}, "is no image; write one")
    text = printing.text(TREE, [], [refused])
    assert value(text) == TREE
    assert (
        "          # is no image; write one\n"
        "          # image:\n"
        "          #   a:\n"
        "          #   - b\n"
        "          #   - c\n"
    ) in text


def test_a_refused_item_of_a_list_is_a_comment_after_the_list():
    refused = CommentedOut(Path("services", "chat", "engine", "args", 1), "--port=1", "is decided by engine.port")
    text = printing.text(TREE, [], [refused])
    assert value(text) == TREE
    assert "# - --port=1\n" in text


def test_a_refused_text_of_several_lines_stays_a_comment():
    refused = CommentedOut(Path("services", "chat", "patch"), "a\n\nb: c\r\u2028d\n", "no\nway")
    assert value(printing.text(TREE, [], [refused])) == TREE


def test_a_long_comment_has_several_lines():
    lines = list(printing.comment_lines("word " * 60, "  "))
    assert len(lines) == 3
    assert all(line.startswith("  # word") and len(line) <= 116 for line in lines)


def test_a_refused_value_has_the_keys_between_it_and_what_is_left():
    refused = CommentedOut(Path("services", "code", "replicas"), 2, "is of no use")
    text = printing.text({"namespace": "ml"}, [], [refused])
    assert "    # is of no use\n    # services:\n    #   code:\n    #     replicas: 2\n" in text
