"""Nested levels and values that aliases repeat are bounded, as in go-yaml."""

import time

import pytest
import yaml

from models import engine_yaml, yaml_limits
from models.problems import ConfigError
from planning.picker import yaml_reader


def aliases(count, width=9):
    """Return lists of lists of lists, each of which repeats the one before."""
    first = f"a0: &a0 [{', '.join('x' * width)}]\n"
    return first + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]\n" for n in range(1, count + 1))


def refusal(text):
    """Return why a text is refused as a stack file, and as a configuration of the picker; None if it is read."""
    try:
        engine_yaml.parse(text, "file")
        engine = None
    except ConfigError as error:
        engine = str(error)
    try:
        yaml_reader.read(text)
        picker = None
    except ValueError as error:
        picker = str(error)
    return engine, picker


@pytest.mark.parametrize("count", [3, 5, 8, 30])
@pytest.mark.parametrize(
    "around", ["{}", "b: {{}}\n{}", "{}<<: [*a0, *a0]\n", "m: &m {{k: 1}}\n{}z: {{<<: [*m, *m]}}\n"]
)
def test_aliases_that_repeat_too_much_are_refused(count, around):
    """See defects H6."""
    engine, picker = refusal(around.format(aliases(count)))
    assert engine == (
        "file: repeats too many values by aliases, so that Pulumi's engine cannot read it; "
        "write values in place of aliases, such as *a"
    )
    assert picker.endswith("its aliases repeat too many values, write values in place of aliases")


# gopkg.in/yaml.v3 v3.0.1 reads or refuses each of these: yaml.Unmarshal into an interface, run on 2026-11-25.
@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        (aliases(2), True),
        (aliases(2, 12), True),
        (aliases(3, 6), True),
        (aliases(3), False),
        (f"a: &a [{', '.join('x' * 20)}]\nb: [{', '.join(['*a'] * 500)}]\n", True),
        (f"a: &a [{', '.join('x' * 97)}]\nb: [{', '.join(['*a'] * 200)}]\n", True),
        (f"a: &a [{', '.join('x' * 200)}]\nb: [{', '.join(['*a'] * 200)}]\n", False),
        (f"a: &a [{', '.join('x' * 200)}]\nb: [{', '.join(['*a'] * 200)}]\nc: [{', '.join('y' * 500)}]\n", False),
        (f"c: [{', '.join('y' * 500)}]\na: &a [{', '.join('x' * 200)}]\nb: [{', '.join(['*a'] * 200)}]\n", True),
    ],
    ids=range(9),
)
def test_what_go_reads_is_read_and_what_go_refuses_is_refused(text, is_read):
    """See defects H6."""
    assert [reason is None for reason in refusal(text)] == [is_read, is_read]


@pytest.mark.parametrize(("opening", "closing", "count"), [("[", "]", 100), ("[{a: ", "}]", 50)], ids=["list", "both"])
def test_levels_up_to_the_maximum_are_read(opening, closing, count):
    """See defects H6."""
    assert refusal(opening * count + closing * count) == (None, None)
    engine, picker = refusal(opening * (count + 1) + closing * (count + 1))
    assert engine == "file: is nested too deeply; write at most 100 levels"
    assert picker == "is no YAML: it is nested too deeply, write at most 100 levels"


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "a: !x " + "[" * 100_000, "{a: " * 50_000, "- " * 50_000, "? " * 50_000]
)
def test_how_deep_a_text_goes_beyond_the_maximum_does_not_matter(text):
    """See defects H6."""
    begin = time.process_time()
    assert "is nested too deeply" in refusal(text[:4000])[0]
    few = time.process_time() - begin
    begin = time.process_time()
    assert "is nested too deeply" in refusal(text)[0]
    many = time.process_time() - begin
    # A text of 25 times the size takes 625 times as long where the time grows with the square of the levels.
    assert many < 60 * few + 0.05


def test_indented_levels_are_bounded():
    """See defects H6."""
    text = "\n".join(f"{' ' * level}a:" for level in range(99))
    assert refusal(text) == (None, None)
    assert "is nested too deeply" in refusal("\n".join(f"{' ' * level}a:" for level in range(2000)))[0]


def test_an_alias_adds_the_levels_of_what_it_repeats():
    """See defects H6."""
    deep = "\n".join(f"a{n}: &a{n} {'[' * 20}{'x' if n == 0 else f'*a{n - 1}'}{']' * 20}" for n in range(6))
    assert all("nested too deeply" in reason for reason in refusal(deep))


def test_plain_values_have_at_most_as_many_levels():
    """See defects H6."""
    value = []
    for _ in range(yaml_limits.MAX_LEVELS - 1):
        value = [value]
    assert not yaml_limits.is_too_deep(value)
    assert yaml_limits.is_too_deep([value])
    assert yaml_limits.is_too_deep({"a": {"b": value}})
    assert not yaml_limits.is_too_deep("x")


def test_the_mixin_stops_the_loader_in_python_alone():
    """See defects H6."""
    with pytest.raises(yaml_limits.TooManyLevelsError):
        yaml.compose("[" * 200, engine_yaml._Loader)
