"""The check of names and docstrings finds what it is for, and nothing in the sources."""

from pathlib import Path

import pytest

from tests import english


def test_the_sources_have_no_such_names(capsys):
    assert english.main(Path()) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("one = 1", "the name one"),
        ("for own in (): pass", "the name own"),
        ("def cost(told): pass", "the name told"),
        ("class Spec:\n    wanted: int", "the name wanted"),
        ("try: pass\nexcept OSError as said: pass", "the name said"),
        ("def _kept(): pass", "the function _kept"),
        ("def merged(): pass", "the function merged"),
        ("async def _beside(): pass", "the function _beside"),
        ('"""What is served."""', "the docstring 'What' …"),
        ('def name():\n    """Whose name it is."""', "the docstring 'Whose' …"),
        ('class Spec:\n    key: str\n    """Where it lies."""', "the docstring 'Where' …"),
    ],
)
def test_a_name_or_docstring_of_the_list_is_found(source, finding):
    assert [what for _, what in english.findings(source)] == [finding]


@pytest.mark.parametrize(
    "source",
    ["labels = 1", "def need(): pass", "def merged_labels(): pass", '"""Whether it is served."""', "call(one)"],
)
def test_other_names_and_docstrings_are_not(source):
    assert [*english.findings(source)] == []
