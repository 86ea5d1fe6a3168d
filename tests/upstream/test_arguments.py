"""Declarations of flags are found in source code."""

import ast

from upstream import arguments

SOURCE = """
class Fields:
    port: int = 1
    def method(self): pass
group.add_argument("--port", "-p", type=int)
group.add_argument("positional")
"""


def test_options_are_those_of_calls_and_no_positional_arguments():
    assert list(arguments.options(ast.parse(SOURCE))) == ["--port", "-p"]


def test_fields_are_annotated_names():
    assert [name for name, _ in arguments.fields(ast.parse(SOURCE).body[0])] == ["port"]


def test_texts_are_those_of_a_list_or_of_one_text():
    assert [*arguments.texts(ast.parse("['a', 1]", mode="eval").body)] == ["a"]
    assert [*arguments.texts(ast.parse("'a'", mode="eval").body)] == ["a"]
    assert [*arguments.texts(None)] == []
