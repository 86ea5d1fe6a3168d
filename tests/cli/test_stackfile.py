"""A stack file is read as the engine reads it, and what looks like one thing and is another is told."""

import json

import pytest

from cli import stackfile
from models.load import load
from models.paths import Path
from models.problems import ConfigError, Problem, echo
from tests.support.stacks.yaml_values import VALUES


@pytest.fixture
def file(tmp_path):
    """Make a stack file whose tree has the one given line."""

    def make(line):
        path = tmp_path / "stack.yaml"
        path.write_text(f"config:\n  inference-stacks:stack:\n    {line}\n", encoding="utf-8")
        return path

    return make


@pytest.mark.parametrize(("written", "value"), VALUES.items(), ids=str)
def test_a_value_is_what_the_engine_makes_of_it(file, written, value):
    tree = stackfile.parse(file(f"key: {written}")).tree
    assert json.dumps(tree) == json.dumps({"key": value})


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("yes", "is a boolean in YAML 1.1"),
        ("OFF", "is a boolean in YAML 1.1"),
        ("1:30", "is a number in YAML 1.1"),
        ("12:30:45.5", "is a number in YAML 1.1"),
        ("2026-01-01", "is a date"),
        ("2026-1-1T10:00:00Z", "is a date"),
        ("2026-13-45", "is a date"),
        (".inf", "is no number that JSON has"),
    ],
)
def test_text_that_another_reader_takes_for_something_else_is_refused_with_the_quoted_form(file, written, what):
    with pytest.raises(ConfigError) as error:
        stackfile.read(file(f"key: {written}"))
    assert str(error.value) == f'key: {what} ({written}); write it quoted: "{written}"'
    assert stackfile.read(file(f'key: "{written}"')) == {"key": written}


@pytest.mark.parametrize("written", ["2026-01-01-rc1", "1:75", "v1.50", "yes please", "a:1:30", "0:30x", "n", "."])
def test_text_that_every_reader_takes_for_text_is_left_alone(file, written):
    assert stackfile.read(file(f"key: {written}")) == {"key": written}


@pytest.mark.parametrize("written", ["012", "09", "00", "-01", "+07", "0_1", "0_12_"])
def test_a_number_with_a_leading_zero_is_refused(file, written):
    """See defects H22. YAML 1.1 reads 012 as 10, YAML 1.2 as 12."""
    with pytest.raises(ConfigError) as error:
        stackfile.read(file(f"key: {written}"))
    what = f"is a number with a leading zero ({written})"
    assert str(error.value) == f'key: {what}; write it without the zero, or quoted: "{written}"'
    assert stackfile.read(file(f'key: "{written}"')) == {"key": written}


@pytest.mark.parametrize(
    ("written", "value"), [("0", 0), ("-0", 0), ("0.5", 0.5), ("00.5", 0.5), ("0x1F", 31), ("0o17", 15)]
)
def test_a_number_that_readers_agree_on_is_read(file, written, value):
    assert stackfile.read(file(f"key: {written}")) == {"key": value}


@pytest.mark.parametrize("line", ['a: "\\ud800"', 'a: "\\ud83d\\ude00"', '"\\udc00": 1', 'a: ["\\uDFFF é"]'])
def test_the_escape_of_half_a_character_is_refused_as_go_does(file, line):
    """See defects H16. go-yaml refuses such an escape also in pairs (yaml.v3 v3.0.1, scannerc.go)."""
    with pytest.raises(ConfigError, match="an escape is half a character: write the character itself"):
        stackfile.read(file(line))


@pytest.mark.parametrize("key", ["5", "true", "on", "~", "2026-01-01", "1:30", "1.50"])
def test_a_key_that_is_no_text_is_refused_with_the_quoted_form(file, key):
    with pytest.raises(ConfigError) as error:
        stackfile.read(file(f"{key}: x"))
    assert str(error.value).startswith(f"{key}: is a key that is ")
    assert str(error.value).endswith(f'({key}); write it quoted: "{key}"')
    assert stackfile.read(file(f'"{key}": x')) == {key: "x"}


@pytest.mark.parametrize(
    "line",
    [
        "[a]: b",
        "? {a: b}\n    : c",
        "a: !!binary aGk=",
        "a: !product x",
        "a: &a [*a]",
        "a: 1\n    a: 2",
        "<<: x",
        "a: [",
        "a: *b",
    ],
)
def test_what_is_no_tree_of_plain_values_is_told_at_its_line(file, line):
    path = file(line)
    with pytest.raises(ConfigError) as error:
        stackfile.read(path)
    assert str(error.value).startswith(f"{path}:")
    assert "is not valid YAML (" in str(error.value)


def test_endless_nesting_is_told(file):
    with pytest.raises(ConfigError, match="is nested too deeply"):
        stackfile.read(file("a: " + "[" * 5000 + "]" * 5000))


def test_what_is_wrong_with_a_value_comes_before_how_it_is_read(file):
    written = stackfile.parse(file("{a: yes, b: 1.50, c: on}"))

    def refuse(_tree):
        raise ConfigError(
            [
                Problem(Path("a"), "is no bird (yes)", "write wren"),
                Problem(Path("b"), "is a number (1.5)", 'write it quoted: "1.5"'),
            ]
        )

    with pytest.raises(ConfigError) as error:
        written.apply(refuse)
    assert str(error.value).splitlines() == [
        "a: is no bird (yes); write wren",
        'b: is a number (1.50); write it quoted: "1.50"',
        'c: is a boolean in YAML 1.1 (on); write it quoted: "on"',
    ]


def test_values_outside_the_tree_are_nobody_s_business(tmp_path):
    path = tmp_path / "stack.yaml"
    path.write_text("encryptionsalt: yes\nconfig: {other:key: 2026-01-01, inference-stacks:stack: {a: b}}\n")
    assert stackfile.read(path) == {"a": "b"}


def test_a_secret_anywhere_in_the_tree_is_refused(file):
    with pytest.raises(ConfigError, match="holds a secret value"):
        stackfile.read(file("a: [{b: {secure: AAAB}}]"))


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        (("engine", "env", "OMP_NUM_THREADS"), 4, " (4)"),
        (("engine", "env", "VERBOSE"), True, " (true)"),
        (("engine", "env", "DB_PASSWORD"), 4, ""),
        (("engine", "env", "OMP_NUM_THREADS"), "4", ""),
        (("engine", "env", 0, "value"), 4, ""),
        (("engine", "args", 0), 4, ""),
        (("model", "source"), "s3://key:secret@bucket/x", ""),
    ],
)
def test_a_value_is_shown_only_where_it_is_no_credential(path, value, shown):
    assert echo(path, value) == shown


def test_a_message_is_one_line_of_printable_characters():
    assert str(Problem(Path("a\nb"), "is \x1b[31mred", "stop")) == "a?b: is ?[31mred; stop"


def test_a_kubeconfig_that_is_not_encrypted_is_a_mistake(tmp_path):
    """See defects H5."""
    path = tmp_path / "stack.yaml"
    for value, mistakes in (("{secure: AAAB}", 0), ("'kind: Config'", 1)):
        path.write_text(f"config:\n  inference-stacks:kubeconfig: {value}\n  inference-stacks:stack: {{a: b}}\n")
        assert len(stackfile.parse(path).mistaken_keys) == mistakes
    with pytest.raises(ConfigError, match=r"^inference-stacks:kubeconfig: is not encrypted; run pulumi config set"):
        stackfile.read(path)


def test_an_unknown_key_beside_the_stack_is_reported_with_the_mistakes_in_it(tmp_path):
    """See defects B5."""
    path = tmp_path / "stack.yaml"
    path.write_text(
        "config:\n  kubernetes:context: prod\n  inference-stacks:kubeconfg: {secure: AAAB}\n"
        "  inference-stacks:stack: {namespace: models, services: {qwen: {replica: yes}}}\n"
    )
    with pytest.raises(ConfigError) as error:
        stackfile.parse(path).apply(load)
    lines = str(error.value).splitlines()
    assert lines[0] == "inference-stacks:kubeconfg: unknown key; did you mean inference-stacks:kubeconfig?"
    assert any(line.startswith("services.qwen.replica: ") for line in lines)
    path.write_text("config:\n  inference-stacks:kubeconfg: {secure: AAAB}\n  inference-stacks:stack: {a: b}\n")
    with pytest.raises(ConfigError, match=r"^inference-stacks:kubeconfg: unknown key"):
        stackfile.read(path)
