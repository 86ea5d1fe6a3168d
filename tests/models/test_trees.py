import pytest

from models import trees
from models.paths import Path


@pytest.mark.parametrize("value", [None, "text", 3, ["a"], ("a",)])
def test_a_value_that_is_no_mapping_reads_as_an_empty_one(value):
    assert trees.mapping(value) == {}


@pytest.mark.parametrize("value", [None, "text", 3, {"a": 1}])
def test_a_value_that_is_no_list_reads_as_an_empty_one(value):
    assert trees.sequence(value) == ()


def test_a_mapping_and_a_list_are_returned_as_they_are():
    tree, items = {"a": 1}, [1, 2]
    assert trees.mapping(tree) is tree
    assert trees.sequence(items) is items


@pytest.mark.parametrize(
    ("keys", "value"), [((), {"a": {"b": 1}}), (("a", "b"), 1), (("a", "c"), None), (("a", "b", "c"), None)]
)
def test_nested_keys_lead_to_a_value_or_to_none(keys, value):
    assert trees.at({"a": {"b": 1}}, *keys) == value


def test_fields_without_a_value_are_left_out():
    assert trees.without_none({"a": None, "b": 0, "c": ""}) == {"b": 0, "c": ""}


def test_leaves_have_their_paths_in_mappings_and_lists():
    tree = {"a": [1, {"b": None}], "c": {}, "d": ("e",)}
    expected = {"top.a[0]": 1, "top.a[1].b": None, "top.d[0]": "e"}
    assert {str(at): value for at, value in trees.leaves(tree, Path("top"))} == expected
