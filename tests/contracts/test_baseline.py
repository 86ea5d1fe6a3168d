"""The measuring of the suite: mutants are found where their function has moved, and what is less is told."""

import ast

import pytest

from tests.baseline import compare, files, mutation
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


OBJECT = {"kind": "Service", "spec": {"ports": [{"name": "http", "port": 80}], "notes": "first\nsecond\n", "empty": {}}}


def test_a_leaf_has_the_names_of_list_items_and_a_text_is_leaves_by_line():
    assert [*files.leaves(OBJECT, "Service a")] == [
        'Service a.kind = "Service"',
        'Service a.spec.ports[http].name = "http"',
        "Service a.spec.ports[http].port = 80",
        "Service a.spec.notes: first",
        "Service a.spec.notes: second",
        "Service a.spec.empty = {}",
    ]


def test_a_leaf_that_is_new_is_no_loss_and_one_that_is_gone_or_another_is():
    before, names = [*files.leaves(OBJECT)], compare.Map.of({"leaves": {"a.yaml": [["= 80$", "= 8000"]]}})
    now = [*files.leaves(OBJECT | {"spec": {**OBJECT["spec"], "ports": [{"name": "http", "port": 8000, "more": 1}]}})]
    assert [*files.gone("a.yaml", before, now, names)] == []
    assert [*files.gone("b.yaml", before, now, names)] == ["b.yaml: .spec.ports[http].port = 80 is gone"]
    assert [*files.gone("a.yaml", [*before, *before], [*now, *now], names)] == []
    assert len([*files.gone("a.yaml", [*before, *before], now, names)]) == len(before)


def test_a_schema_that_also_takes_null_has_lost_nothing():
    text, null = {"type": "string", "maxLength": 7}, {"type": "null"}
    assert {*files.leaves({"anyOf": [text, null], "default": None})} >= {*files.leaves(text)}
    assert not {*files.leaves({"anyOf": [{"type": "string"}, null]})} >= {*files.leaves(text)}


def test_a_loss_without_a_reason_is_told_and_so_is_a_reason_without_a_loss():
    names = compare.Map.of({"changed": [["goldens: a.* is gone", "an ADR"], ["schema: .*", "another one"]]})
    assert [*names.unexplained(["goldens: a is gone", "goldens: b is gone"])] == [
        "goldens: b is gone",
        "names.yaml: nothing is lost that schema: .* explains",
    ]


def test_an_error_is_another_by_its_stack_or_by_its_message():
    before = {"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]}
    assert [*compare.other_errors(before, {"a": ["1", "3"], "b": ["0", "2"]})] == [
        "errors: a has another message",
        "errors: b has another stack",
        "errors: c is gone",
    ]
