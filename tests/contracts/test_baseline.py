"""The measuring of the suite: mutants are found where their function has moved, and what is less is told."""

import ast

import pytest

from tests.baseline import compare, mutation
from tests.baseline.ids import folded, unfolded
from tests.baseline.recorder import has_control_words

SOURCE = """
class Box:
    def holds(self, limit, items=(1, 2)):
        '''Tell nothing.'''
        first = [item for item in items if item < limit or not item]
        return {"first": first, "more": len(first) + 1}
"""
MOVED = "import os\n" + SOURCE.replace("first = ", "kept = ").replace("first,", "kept,").replace(
    "len(first)", "len(kept)"
)
NAMES = compare.Map.of({"modules": {"old": "new.room", "old.inner": ["a", "b"]}, "tests": [["^tests/a", "tests/b"]]})


def changed():
    found = mutation.mutants("old", "Box.holds", mutation.functions(ast.parse(SOURCE))["Box.holds"])
    return [mutant for mutant, _ in found]


def test_every_kind_of_change_is_made():
    assert {mutant.after for mutant in changed()} == {
        "item < limit and (not item)",
        "not (item < limit or not item)",
        "item <= limit",
        "item",
        "{'more': len(first) + 1}",
        "{'first': first}",
        "'firstx'",
        "'morex'",
        "len(first) - 1",
        "2",
    }


@pytest.mark.parametrize("mutant", changed(), ids=lambda mutant: mutant.after)
def test_a_mutant_is_found_again_where_locals_are_renamed(mutant):
    there, here = (mutation.find(source, mutant) for source in (MOVED, SOURCE))
    assert there.apply(MOVED).count("\n") == here.apply(SOURCE).count("\n") + 1
    assert mutation.valid(MOVED, mutant)


def test_a_mutant_whose_node_is_gone_is_not_found():
    assert [mutation.find(SOURCE.replace("+ 1", "+ 2").replace("<", ">"), mutant) for mutant in changed()].count(
        None
    ) > 0
    assert mutation.find(SOURCE.replace("holds", "has"), changed()[0]) is None


def test_modules_are_renamed_by_the_longest_name():
    assert NAMES.module("old.other") == ["new.room.other"]
    assert NAMES.module("old.inner.x") == ["a.x", "b.x"]
    assert NAMES.module("older") == ["older"]


def test_an_id_is_found_by_rule_or_by_its_name():
    old = ["tests/a.py::test_x", "tests/c.py::test_y[1]", "tests/c.py::test_z"]
    new = ["tests/b.py::test_x", "tests/d.py::test_x", "tests/d.py::test_y[1]"]
    found = compare.paired(old, new, NAMES)
    assert found == dict(zip(old, ["tests/b.py::test_x", "tests/d.py::test_y[1]", "tests/c.py::test_z"], strict=True))
    assert unfolded(folded(old)) == old


def test_negative_controls_say_so_in_words():
    assert has_control_words("def test_without_its_pool_nothing_is_served(): pass")
    assert has_control_words("def test_x():\n    # The negative control: one rule more shows.\n    pass")
    assert not has_control_words("def test_notes_are_written():\n    assert 'without'")
