"""The merge of configuration layers: what wins, and where it was written."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.layers import Layer, Origin, merge
from models.paths import Path
from tests.support.stacks import place
from tests.support.stacks.layers import NULL

LOW, HIGH = Path("low"), Path("high")
KEYS = st.sampled_from(["a", "b", "c", "env", "tls", "type", "services"])
LEAVES = st.integers(0, 3) | st.booleans() | st.sampled_from(["", "x"]) | st.lists(st.integers(0, 3), max_size=2)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=5,
)
SHAPED = LEAVES
for _ in range(3):
    SHAPED = st.fixed_dictionaries({}, optional={"a": LEAVES, "b": LEAVES} | dict.fromkeys(["env", "tls", "x"], SHAPED))
"""Trees in which a key always has the same kind of value, as it has in a specification."""


def layers(low, high):
    return merge(Layer(low, Origin(LOW)), Layer(high, Origin(HIGH)))


def merged(low, high):
    return layers(low, high).tree


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"x": 1}}, {"a": 2}, {"a": 2}),
        ({"a": 2}, {"a": {"x": 1}}, {"a": {"x": 1}}),
        ({"a": {"x": 1}}, {"a": {}}, {"a": {"x": 1}}),
        ({"a": True, "b": 1, "c": "x", "d": [1]}, {"a": False, "b": 0, "c": "", "d": []}, None),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": None}}, {"a": {"y": 2}}),
    ],
)
def test_maps_merge_by_key_and_an_explicit_value_wins_however_empty(low, high, expected):
    assert merged(low, high) == (high if expected is None else expected)


def test_the_order_is_the_lower_layers_with_new_keys_behind():
    env = merged({"env": {"A": "1", "B": "2"}}, {"env": {"C": "3", "B": "4", "D": "5"}})["env"]
    assert list(env.items()) == [("A", "1"), ("B", "4"), ("C", "3"), ("D", "5")]


def test_null_where_nothing_is_inherited_is_reported_where_it_stands_and_taken_away():
    result = layers({"a": {"x": 1}}, {"a": {"y": None}, "b": {"c": {"d": None}}, "e": None})
    assert result.tree == {"a": {"x": 1}, "b": {"c": {}}}
    assert [(str(problem.path), problem.what) for problem in result.problems] == [
        (path, NULL) for path in ("high.a.y", "high.b.c.d", "high.e")
    ]


@pytest.mark.parametrize(
    "group",
    [
        ("gateway",),
        ("route", "gateway"),
        ("model", "verify"),
        ("accelerators", "h100", "allocation"),
        ("cluster", "facts"),
        ("ioLog", "tenants"),
        ("endpointPicker", "tls"),
        ("engine", "env", "TOKEN"),
        ("fill", "env", "TOKEN"),
    ],
)
def test_a_reference_is_replaced_whole(group):
    low, high = {"name": "a", "port": 1}, {"name": "b"}
    for part in reversed(group):
        low, high = {part: low}, {part: high}
    assert merged(low, high) == high


NAMED = [
    *(("services", "gateway"), ("services", "env"), ("caches", "tls"), ("sidecar", "tls")),
    *(("volumes", "patch"), ("initContainers", "gateway"), ("claims", "facts")),
]


@pytest.mark.parametrize("path", NAMED)
def test_a_name_that_sounds_like_a_reference_is_none(path):
    first, second = path
    assert merged({first: {second: {"a": {"x": 1}}}}, {first: {second: {"a": {"y": 2}}}}) == {
        first: {second: {"a": {"x": 1, "y": 2}}}
    }


@pytest.mark.parametrize("group", ["storage", "rollout", "autoscaling"])
def test_a_group_keeps_nothing_of_another_type_and_merges_within_one(group):
    low = {group: {"type": "a", "x": 1}}
    assert merged(low, {group: {"type": "b", "y": 2}}) == {group: {"type": "b", "y": 2}}
    assert merged(low, {group: {"type": "a", "y": 2}}) == {group: {"type": "a", "x": 1, "y": 2}}
    assert merged(low, {group: {"y": 2}}) == {group: {"type": "a", "x": 1, "y": 2}}
    assert merged({group: {"x": 1}}, {group: {"type": "b"}}) == {group: {"x": 1, "type": "b"}}


def test_a_volume_keeps_nothing_of_another_type_and_merges_within_one():
    low = {"volumes": {"files": {"type": "a", "x": 1}}}
    assert merged(low, {"volumes": {"files": {"type": "b"}}}) == {"volumes": {"files": {"type": "b"}}}
    assert merged(low, {"volumes": {"files": {"y": 2}}}) == {"volumes": {"files": {"type": "a", "x": 1, "y": 2}}}


def test_arguments_merge_by_flag_only_where_both_are_lists_of_text():
    args = ["--a=1", "--b=2"]
    assert merged({"engine": {"args": args}}, {"engine": {"args": ["--a=3"]}})["engine"]["args"] == ["--a=3", "--b=2"]
    assert merged({"engine": {"args": args}}, {"engine": {"args": [1]}})["engine"]["args"] == [1]
    assert merged({"engine": {"args": args}}, {"engine": {"args": "--a"}})["engine"]["args"] == "--a"
    assert merged({"other": {"args": args}}, {"other": {"args": ["--c"]}})["other"]["args"] == ["--c"]


def test_environment_and_arguments_have_the_most_specific_layers_value_once():
    """Aim-engine's layered example: there AIM_METRIC and AIM_MODEL_ID come twice and a lower layer wins.

    See aim-engine 7.3, B60.
    """
    config = {
        "env": {"AIM_METRIC": "latency", "VLLM_ENABLE_METRICS": "false"},
        "args": ['--c={"a":1,"n":{"x":1}}'],
    }
    template = {"env": {"AIM_METRIC": "throughput", "AIM_MODEL_ID": "user"}, "args": ['--c={"b":2,"n":{"y":2}}']}
    secret = {"secretKeyRef": {"name": "s", "key": "z"}}
    user = {"env": {"Z": secret, "AIM_MODEL_ID": "Org/M"}, "args": ['--c={"a":3,"n":{"x":9}}']}
    engine = merged(merged({"engine": config}, {"engine": template}), {"engine": user})["engine"]
    assert engine == {
        "env": {
            "AIM_METRIC": "throughput",
            "VLLM_ENABLE_METRICS": "false",
            "AIM_MODEL_ID": "Org/M",
            "Z": secret,
        },
        "args": ['--c={"a":3,"n":{"x":9,"y":2},"b":2}'],
    }


@given(TREES)
def test_nothing_over_a_tree_changes_nothing(tree):
    assert merged(tree, {}) == merged({}, tree) == tree


@given(SHAPED, SHAPED, SHAPED)
def test_the_merge_is_associative_without_nulls_and_types(low, middle, high):
    assert merged(merged(low, middle), high) == merged(low, merged(middle, high))


@given(TREES, TREES)
def test_the_merge_is_deterministic_changes_no_layer_and_shares_nothing_with_them(low, high):
    before = copy.deepcopy((low, high))
    first, second = merged(low, high), merged(low, high)
    assert json.dumps(first) == json.dumps(second)
    for value in first.values():
        if isinstance(value, dict | list):
            value.clear()
    assert (low, high) == before


@given(TREES, TREES)
def test_every_leaf_knows_where_it_was_written(low, high):
    result = layers(low, high)
    trees = {"low": low, "high": high}
    pending = [((key,), value) for key, value in result.tree.items()]
    for path, value in pending:
        if isinstance(value, dict):
            pending += [((*path, key), inner) for key, inner in value.items()]
            continue
        layer, *written = result.origin.locate(path)
        source = trees[layer]
        for part in written:
            source = source[part]
        assert source == value


def test_a_merged_value_remembers_its_layer_through_several_merges():
    lowest = Layer({"a": {"x": 1, "y": 2, "z": 3}, "b": {"l": [{"m": 1}]}}, Origin(Path("one")))
    middle = merge(lowest, Layer({"a": {"y": 4}, "c": {"d": 1}}, Origin(Path("two"))))
    top = merge(middle, Layer({"a": {"z": 5}, "e": {}}, Origin(Path("three"))))
    paths = ["a.x", "a.y", "a.z", "b.l[0].m", "c.d", "a", "e.missing"]
    written = [str(top.origin.locate(place(path))) for path in paths]
    assert written == ["one.a.x", "two.a.y", "three.a.z", "one.b.l[0].m", "two.c.d", "three.a", "three.e.missing"]


def test_a_merged_argument_remembers_its_place_in_its_own_list():
    low, high = ["--a", "1", "--b=2", "--c=3"], ["--d", "--b", "5"]
    result = layers({"engine": {"args": low}}, {"engine": {"args": high}})
    written = [result.origin.locate(Path("engine", "args", index)) for index in range(6)]
    assert result.tree["engine"]["args"] == ["--a", "1", "--b", "5", "--c=3", "--d"]
    assert [(layer, index) for layer, _, _, index in written] == [
        ("low", 0), ("low", 1), ("high", 1), ("high", 2), ("low", 3), ("high", 0),
    ]  # fmt: skip


def test_broken_json_that_should_merge_is_an_error_instead_of_a_silent_replacement():
    result = layers({"engine": {"args": ["--a", "--c", "{broken"]}}, {"engine": {"args": ['--c={"a":1}']}})
    (problem,) = result.problems
    assert problem.path == Path("low", "engine", "args", 2)
    assert problem.what == "is not valid JSON (--c: line 1 column 2)"
    assert layers({"engine": {"args": ["--c={broken"]}}, {"engine": {"args": ["--c=plain"]}}).problems == ()


def test_a_path_is_found_again_among_keys_with_dots():
    tree = {"requests": {"nvidia.com/gpu": "1", "nvidia": {"com/gpu": "2"}}, "list": [{"a.b": [1]}]}
    layer = Layer(tree, Origin(Path()))
    assert layer.holds(Path("requests", "nvidia.com/gpu"))
    assert layer.holds(Path("requests", "nvidia", "com/gpu"))
    assert layer.holds(Path("list", 0, "a.b", 0))
    assert not layer.holds(Path("list", 0, "a", "b", 0))
    assert not layer.holds(Path("list", 1, "a"))
    assert not layer.holds(Path("requests", "cpu"))
