"""The check of names, docstrings and documents finds what it is for, and nothing in this project."""

from pathlib import Path

import pytest

from tests import english


def test_sources_and_tests_have_no_such_names(capsys):
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


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def refused(own): pass", ["the name own"]),
        ("[str(one) for one in ()]", ["the name one"]),
        ('def told():\n    """What is said."""', ["the docstring 'What' …"]),
        ("def told(): pass", []),
    ],
)
def test_tests_may_have_participles_for_functions_and_nothing_else(source, expected):
    assert [finding for _, finding in english.findings_of_tests(source)] == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("# 7. What runs where\n", [(1, "the heading 'What runs where'"), (1, "the sentence 'What runs where …'")]),
        ("Text.\n\n## Nothing else\n", [(3, "the heading 'Nothing else'")]),
        ("A page. What\nis asked, is answered.", [(1, "the sentence 'What is asked, is answered. …'")]),
        ("- **Who may list.** More text.", [(1, "the sentence 'Who may list. …'")]),
        ("| Key | Where it lies |", [(1, "the sentence 'Where it lies | …'")]),
        (f"{'a ' * 60}a", [(1, "a line of 121 characters")]),
    ],
)
def test_a_riddle_or_a_wide_line_of_a_document_is_found(page, expected):
    assert [*english.findings_of_documents(page)] == expected


@pytest.mark.parametrize(
    "page",
    [
        "Pods wait. What does a run change?",
        "Nodes say what they have, and where.",
        "```sh\n# What is this\n```\n",
        f"|{'a ' * 80}|",
        f"- {'a' * 130}",
        "## Whatever is built\n",
    ],
)
def test_questions_code_and_tables_are_not(page):
    assert [*english.findings_of_documents(page)] == []
