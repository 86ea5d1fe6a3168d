"""The text of libyaml has the bytes that PyYAML's own code writes."""

import json
from itertools import chain
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from models import engine_yaml
from planning.ground import yaml_text
from tests.support import go_yaml
from tests.support.examples import share

GOLDENS = sorted(Path("tests/contracts/goldens").glob("*.yaml"))
ODD = [
    *("1", "1.5", "0x1f", "1e3", "012", "true", "no", "null", "~", "", "<<", "=", "2026-01-01", "1:30", "_1"),
    *("- a", "a: b", "a #b", "# a", "---", "--- a", "...", "%a", "@a", "`a", "!a", "&a", "*a", "?", ":", "-", "a:"),
    *(" a", "a ", "'", '"', "a'b", 'a"b', "\\", "a\\nb", "{a}", "[a]", "a,b", "$(A)", "{{ a }}"),
    *("a\n", "a\nb", "\na", "a\n\n", "\n", "\n\n", " a\nb", "a\n b", "a \nb", "a\n\nb\n", "a\t\nb", "\ta", "a\tb"),
    *("é", "漢字", "😀", "a\u00a0b", "a\u2028b", "\ufeffa", "a\x85b", "a\rb", "a\r\nb", "\x00", "\x7f", "\x1b[1m"),
    *("word " * 100, "x" * 500, "it's " * 50, 'a "b" ' * 50, "line of text\n" * 20, "é " * 100, "a: b " * 50),
    *(f"{'k' * length}" for length in (120, 122, 123, 124, 127, 128, 129, 200)),
]
TEXTS = st.one_of(st.sampled_from(ODD), st.text(max_size=200), st.text(" \n'\":#ab\\-", max_size=120))
LEAVES = st.one_of(TEXTS, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


def assert_same(value):
    """Assert that both ways of writing a value have one text."""
    blocks = yaml.dump(value, Dumper=yaml_text._PythonBlocks, sort_keys=False, width=10_000)
    assert yaml_text.with_blocks(value) == blocks
    assert yaml_text.with_folding(value) == yaml.safe_dump(value, sort_keys=False)


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_goldens_are_written_the_same(path):
    for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
        assert_same(document)


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_odd_texts_are_written_the_same_wherever_they_stand(text):
    assert_same({"value": text, "nested": {"list": [text, {"key": text, text: "value"}]}})
    assert_same({text: {"key": [text]}, "last": text})


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_any_value_is_written_the_same(value):
    assert_same(value)


def test_libyaml_writes_nearly_all_objects_of_the_goldens():
    texts = (path.read_text(encoding="utf-8") for path in GOLDENS)
    objects = [*chain.from_iterable(yaml.load_all(text, yaml.CSafeLoader) for text in texts)]
    others = [each for each in objects if yaml_text._BLOCKS_OTHERWISE.search(json.dumps(each))]
    assert (len(objects) > 100, others) == (True, [])


def test_a_value_that_stands_twice_is_repeated():
    value = {"a": ["b"]}
    assert yaml_text.with_blocks([value, value]) == "- a:\n  - b\n- a:\n  - b\n"


MISREAD = [
    *(
        "y",
        "Y",
        "n",
        "N",
        "1e3",
        "1E3",
        "1e+3",
        ".5e3",
        "1.e3",
        "12e03",
        "905e9",
        "0e0",
        "08",
        "09",
        "012",
        "-01",
        "+_1",
    ),
    *("0o17", "0O17", "-0o17", "0o-7", "0b-1", "0b+1", "0B11", "0X1F", "1_e3", "0_1", "2026-1-2", "2026-1-2T1:2:3Z"),
    *(
        "2026-11-2 1:2:3,5",
        "9" * 40,
        "yes",
        "off",
        "~",
        "<<",
        "=",
        "1:30",
        "2026-01-01",
        ".inf",
        "-.Inf",
        ".nan",
        "null",
    ),
]
"""Texts that a reader of YAML takes for another type, if they are not quoted."""
READABLE = st.one_of(
    st.sampled_from(MISREAD),
    st.sampled_from(ODD),
    st.text("0123456789_.eExXobBnyYinfaNTZ:+- ,", max_size=7),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


def readings(value):
    """Return what readers make of both ways of writing a value."""
    python = yaml.dump(value, Dumper=yaml_text._PythonBlocks, sort_keys=False, width=10_000)
    for text in (yaml_text.with_blocks(value), python):
        yield engine_yaml.parse(text, "text").tree
        yield from go_yaml.read(text).values()


@pytest.mark.parametrize("text", MISREAD)
def test_a_text_that_some_reader_takes_for_another_type_is_quoted(text):
    """See defects H12."""
    value = {text: text, "list": [text]}
    assert [*readings(value)] == [value] * 8
    assert engine_yaml.parse(yaml_text.with_blocks(value), "text").ambiguities == ()


@pytest.mark.parametrize("text", ["--flag", "+", ".", "1.5.2", "v1", "e3", "1e", "0x", "yES", "a1", "0.10.1-rc"])
def test_a_text_that_every_reader_takes_for_text_is_not_quoted(text):
    assert yaml_text.with_blocks({"key": text}) == f"key: {text}\n"


@settings(max_examples=share(300))
@given(st.dictionaries(READABLE, st.lists(READABLE, max_size=3) | READABLE, max_size=4))
def test_every_reader_reads_the_texts_that_were_written(value):
    """See defects H12."""
    assert [*readings(value)] == [value] * 8


def test_numbers_and_booleans_are_written_without_quotes():
    value = {"a": 8, "b": 1.5, "c": 1e20, "d": True, "e": None, "f": 10**30}
    assert yaml_text.with_blocks(value) == (
        "a: 8\nb: 1.5\nc: 1.0e+20\nd: true\ne: null\nf: 1000000000000000000000000000000\n"
    )
