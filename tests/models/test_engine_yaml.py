"""YAML is read as the engine reads it, by libyaml and by the Python code alike."""

from pathlib import Path as File

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from models import engine_yaml
from models.paths import Path
from models.problems import ConfigError, Problem
from tests.support.examples import share

PIECES = st.sampled_from(
    [*"ab:-#[]{}|>&*!?,%@`\"' \n01.~<=", ": ", "- ", "\n  ", "\n- ", "? ", "<<: ", "|\n ", "# ", "..."]
)


def nodes(node):
    """Return a node with its tag, its place and all that is below it."""
    # No message names the place of an empty value, and libyaml puts it elsewhere.
    place = (node.tag, *((node.start_mark.line, node.start_mark.column) if node.value else ()))
    if isinstance(node, yaml.ScalarNode):
        return place, node.value
    below = [nodes(inner) for item in node.value for inner in (item if isinstance(item, tuple) else (item,))]
    return place, below


def composed(text, loader):
    """Return the nodes of a text; None if it is no YAML."""
    try:
        root = yaml.compose(text, Loader=loader)
        return None if root is None else nodes(root)
    except (yaml.YAMLError, RecursionError):
        return None


@settings(max_examples=share(60))
@given(st.lists(PIECES, max_size=25).map("".join))
def test_libyaml_reads_a_simple_text_like_the_python_code(text):
    assume(not engine_yaml._SPECIAL.search(text))
    fast = composed(text, engine_yaml._FastLoader)
    assert fast is None or fast == composed(text, engine_yaml._Loader)


@pytest.mark.parametrize("path", [File("Pulumi.dev.yaml"), *sorted(File("examples").glob("*.yaml"))], ids=str)
def test_libyaml_reads_stack_files_like_the_python_code(path):
    text = path.read_text(encoding="utf-8")
    assert composed(text, engine_yaml._FastLoader) == composed(text, engine_yaml._Loader) is not None


def test_values_and_their_spelling_are_read():
    document = engine_yaml.parse("a: {version: 1.50, name: x}\nb: 0x1F\n", "stack.yaml", Path("a"))
    assert document.tree == {"a": {"version": 1.5, "name": "x"}, "b": 31}
    assert document.original_texts == {Path("version"): ("1.5", "1.50")}


def test_a_merge_key_gives_way_to_keys_of_the_mapping_and_earlier_mappings_win():
    text = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nall: {<<: [*one, *two], a: 3}\n"
    assert engine_yaml.parse(text, "stack.yaml").tree["all"] == {"a": 3, "b": 1, "c": 2}


def test_a_repeated_key_is_refused_at_its_line():
    with pytest.raises(ConfigError) as error:
        engine_yaml.parse("a: 1\nb: 2\na: 3\n", "stack.yaml")
    assert str(error.value) == "stack.yaml:3: is not valid YAML (key a is repeated); correct that line"


def test_ambiguities_follow_problems_except_at_the_same_path():
    document = engine_yaml.parse("a: yes\nb: off\n", "base.yaml", file="base.yaml")
    wrong = Problem(Path("a"), "is no bird", "write wren", file="base.yaml")
    assert [str(problem) for problem in document.complete([wrong])] == [
        "a: is no bird (from base.yaml); write wren",
        'b: is a boolean in YAML 1.1 (off, from base.yaml); write it quoted: "off"',
    ]


@pytest.mark.parametrize(
    ("value", "is_secret"),
    [
        ({"secure": "AAAB"}, True),
        ([{"a": {"secure": "AAAB"}}], True),
        ({"secure": 1}, False),
        ({"secure": "a", "b": 1}, False),
    ],
)
def test_a_value_that_pulumi_encrypted_is_a_secret_at_any_depth(value, is_secret):
    assert engine_yaml.holds_secret(value) is is_secret
