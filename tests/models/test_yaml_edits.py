"""Edits of numbers in YAML files, of which every other character stays."""

import re

import pytest

from models.paths import Path
from models.yaml_edits import UneditableError, with_number

PATH = Path("services", "qwen", "canary", "weight")
BLOCK = """# a comment with weight: 10
services:
    qwen:   # odd layout
        'canary':
            "weight":   10   # ten percent
            model: {source: "kit://a/b:10"}
    other: {canary: {weight: 10}}
"""


@pytest.mark.parametrize("number", [0, 5, 25, 100])
def test_a_number_changes_and_nothing_else(number):
    assert with_number(BLOCK, PATH, number) == BLOCK.replace("   10   #", f"   {number}   #")


@pytest.mark.parametrize(
    "text",
    [
        "services: {qwen: {canary: {weight: 10, headers: {weight: '10'}}}}",
        "services: {qwen: {canary: {headers: {a: b}, weight: 10}}}\n",
        "services:\r\n  qwen:\r\n    canary:\r\n      weight: 10\r\n      replicas: 10\r\n",
        "\ufeffservices:\n  qwen:\n    canary: {weight: 10}\n",
        "---\nservices:\n  qwen:\n    canary:\n      weight:\n        10\n...\n",
        "services:\n  qwen:\n    canary:\n      ? weight\n      : 10\n",
        "a: '\u00e4\U0001f600'\nservices: {qwen: {canary: {weight: 10}}}\n",
        'services: {qwen: {canary: {"weight":10}}}',
        "base: &base {replicas: 10}\nservices: {qwen: {<<: *base, canary: {weight: 10}}}\n",
    ],
)
def test_every_layout_keeps_its_other_characters(text):
    edited = with_number(text, PATH, 25)
    assert len(edited) == len(text)
    places = [index for index, (old, new) in enumerate(zip(text, edited, strict=True)) if old != new]
    (match,) = [match for match in re.finditer("10", text) if match.start() == places[0]]
    assert places == [match.start(), match.start() + 1]
    assert edited[match.start() : match.end()] == "25"
    assert with_number(edited, PATH, 10) == text


def test_a_number_that_is_right_stays_however_it_is_written():
    text = "services: {qwen: {canary: {weight: &w 0x0A}}}\nother: *w\n"
    assert with_number(text, PATH, 10) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("w: &w 10\nservices: {qwen: {canary: {weight: *w}}}", "is repeated by an alias"),
        ("services: {qwen: {canary: &c {weight: 10}}, other: {canary: *c}}", "is repeated by an alias"),
        (
            "b: &b {weight: 10}\nservices: {qwen: {canary: {<<: *b}}}",
            "comes from another place of the file, by a merge",
        ),
        ("services: {qwen: {canary: {weight: &w 10}}}", "is not written as a plain number"),
        ("services: {qwen: {canary: {weight: 0x0A}}}", "is not written as a plain number"),
        ('services: {qwen: {canary: {weight: "10"}}}', "is not written as a plain number"),
        ("services: {qwen: {canary: {weight: [10]}}}", "is not written as a plain number"),
        ("services: {qwen: {canary: {weight:}}}", "is not written as a plain number"),
        ("services: {qwen: {}}", "comes from another place of the file"),
        ("", "comes from another place of the file"),
    ],
)
def test_a_number_that_is_not_written_at_its_place_alone_is_refused(text, words):
    with pytest.raises(UneditableError, match=words):
        with_number(text, PATH, 25)
