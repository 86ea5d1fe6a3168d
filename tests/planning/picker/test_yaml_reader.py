"""Configurations are read as Go reads them, and what is written is read back as it was meant."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli import lint
from planning.picker import config, yaml_reader
from planning.releases import channel
from tests.support.examples import share

FACTS = channel("llm-d-0.10").picker
AMBIGUOUS = [
    *("y", "Y", "n", "N", "yes", "no", "on", "off", "On", "OFF", "true", "FALSE", "null", "~", "", "Null"),
    *("1", "-1", "+1", "012", "0o17", "0O17", "0x1f", "0X1F", "0b11", "0B11", "1_000", "1__0", "1e3", "1E5", "12e03"),
    *("1.5", ".5", "5.", "-.5e3", "+1.e2", ".inf", "-.Inf", ".nan", "<<", "=", "1:30", "2026-01-01", "-", "."),
]
TEXTS = st.sampled_from(AMBIGUOUS) | st.text(max_size=12) | st.text("0123456789_.eExXobBnyY+-", max_size=6)
VALUES = st.recursive(
    TEXTS | st.integers(-(2**40), 2**40) | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_a_text_that_looks_like_something_else_stays_text(text):
    written = config.text({"plugins": [{"name": text, text: text}]}, FACTS)
    assert yaml_reader.read(written).value["plugins"] == [{"name": text, text: text}]


@settings(max_examples=share(200))
@given(value=st.dictionaries(TEXTS, VALUES, max_size=3))
@example(value={"y": "n"})
def test_whatever_is_written_is_read_back(value):
    file = yaml_reader.read(config.text({"section": value}, FACTS))
    assert file.problems == ()
    assert file.value["section"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("Off", False),
        ("~", None),
        ("010", 8),
        ("0o10", 8),
        ("0b11", 3),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("1.", 1.0),
        ("yES", "yES"),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("0o8", "0o8"),
        ("e3", "e3"),
    ],
)
def test_a_scalar_is_read_as_go_reads_it(text, value):
    assert yaml_reader.scalar(text) == value
    assert type(yaml_reader.scalar(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "a: is written twice (a); keep one of them"),
        ('{"a": 1, "a": 2}', "a: is written twice (a); keep one of them"),
        ("a: .inf\n", "a: is no number that JSON has; write another number, or quote it"),
        ("~: 1\n", "has a key that is no text; write text, in quotes if necessary"),
    ],
)
def test_a_mistake_is_named_where_it_is(text, message):
    assert [str(problem) for problem in yaml_reader.read(text).problems] == [message]


def test_a_mapping_is_merged_and_keys_are_texts():
    assert yaml_reader.read("x: &x {a: 1}\ny: {<<: *x, 1: 2}\n").value == {"x": {"a": 1}, "true": {"a": 1, "1": 2}}


def test_an_anchor_that_holds_itself_is_refused():
    with pytest.raises(ValueError, match="contains itself"):
        yaml_reader.read("a: &a [*a]\n")


def test_a_key_that_is_merged_and_written_is_refused():
    (problem,) = yaml_reader.read("x: &x {a: 1}\nb: {<<: *x, a: 2}\n").problems
    assert str(problem) == "b.a: is written twice (a); keep one of them"


def test_a_fraction_of_json_is_no_whole_number():
    text = '{"plugins": [{"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 2.0}}]}'
    (finding,) = lint.judge(text, channel("llm-d-0.10")).findings
    assert "is not a whole number" in str(finding.problem)
    assert lint.judge(text.replace("2.0", "2"), channel("llm-d-0.10")).findings == ()


@pytest.mark.parametrize("text", ["%YAML 1.2\n---\na: 1\n", '{"a": 1} x', "{a: 1}"])
def test_what_go_does_not_read_is_no_file(text):
    with pytest.raises(ValueError, match=r"is YAML of another version|is no JSON"):
        yaml_reader.read(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [1\n", "is no YAML in line 2: "),
        ("a: 1\n b: 2\n", "is no YAML in line 2: "),
        ("a: \x07\n", "is no YAML"),
        ("[" * 5000 + "]" * 5000, "is no YAML: it is nested too deeply"),
        ("a: {<<: 7}\n", "is no YAML: a.<< must be a mapping"),
        ('{"a": NaN}', "is no JSON"),
        ("a: \0\n", "is no YAML: it has control characters, remove them"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "is no JSON: it is nested too deeply"),
        ('{"a":' * 101 + "1" + "}" * 101, "is no JSON: it is nested too deeply"),
    ],
    ids=["open", "indented", "control", "deep", "merged", "constant", "null", "deep-json", "levels-of-json"],
)
def test_a_file_that_cannot_be_read_is_told_with_its_place(text, reason):
    """See defects H16, H25."""
    with pytest.raises(ValueError, match=reason):
        yaml_reader.read(text)


def test_a_number_beyond_64_bits_is_a_float_or_a_text():
    assert yaml_reader.scalar("99999999999999999999") == float("99999999999999999999")
    assert yaml_reader.scalar("0xfffffffffffffffff") == "0xfffffffffffffffff"
    assert yaml_reader.scalar("1e999") == "1e999"
    assert yaml_reader.scalar("9" * 400) == "9" * 400


def test_half_a_character_is_what_go_makes_of_it():
    """See defects H16. Go's JSON reader replaces it (encoding/json, `unquote`), and go-yaml refuses it."""
    assert yaml_reader.read('{"\\ud800": ["\\ud83d\\ude00", "\\udc00x"]}').value == {"\ufffd": ["😀", "\ufffdx"]}
    with pytest.raises(ValueError, match="found invalid Unicode character escape code"):
        yaml_reader.read('a: "\\ud800"')
