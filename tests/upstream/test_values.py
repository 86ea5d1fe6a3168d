"""Values of expressions are told without running the code."""

import ast

import pytest

from upstream.values import UnknownValueError, Values


def values_of(source):
    values = Values({})
    values.assign(ast.parse(source).body)
    return values.known


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2.5]", [1, 2.5]),
        ("(1, 'a')", [1, "a"]),
        ("[2 ** (10 + i) for i in range(1, 6, 2)]", [2**11, 2**13, 2**15]),
        ("tuple(2 * i for i in range(2))", [0, 2]),
        ("list((1, 2))", [1, 2]),
        ("{'a': [1]}", {"a": [1]}),
        ("known + ['c']", ["a", "b", "c"]),
        ("known[1:]", ["b"]),
        ("known[:]", ["a", "b"]),
        ("self.name", "b"),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(expression, value):
    assert values_of(f"known = ['a', 'b']\nself.name = 'b'\nx = {expression}")["x"] == value


@pytest.mark.parametrize("expression", ["call()", "unknown", "[unknown]", "1 - 1", "[x for x in known]", "known[0]"])
def test_an_expression_is_unknown_that_depends_on_more_than_assignments(expression):
    values = Values({})
    values.known["known"] = ["a"]
    with pytest.raises(UnknownValueError):
        values.of(ast.parse(expression, mode="eval").body)


def test_the_last_assignment_counts_and_an_unknown_one_ends_a_known_one():
    known = values_of("a = 1\na = 2\nb: list[int] = [1]\nb = call()")
    assert known == {"a": 2}


def test_a_constant_of_another_module_is_known_where_it_is_imported():
    trees = {"vllm/base.py": ast.parse("LABEL = 'tier'\nOTHER = 1")}
    values = Values({})
    values.import_from(ast.parse("from vllm.base import LABEL, Missing\nfrom vllm.other import OTHER"), trees)
    assert values.known == {"LABEL": "tier"}
