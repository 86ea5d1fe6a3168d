"""Layers of several files: what wins, what null removes, and where each value was written."""

import pytest

from models.layers import Place, Source
from models.load import load
from models.paths import Path
from models.problems import ConfigError, Problem
from models.stack_layers import merge_stack
from tests.support.stacks import SERVICE, tree

BASE = Source("base.yaml", tree() | {"labels": {"team": "search", "tier": "gold"}, "release": "llm-d-0.8"})


def merged(*trees):
    """Merge trees, the lowest first, of files called 0, 1 and so on; the highest is the stack file."""
    *below, highest = trees
    return merge_stack(highest, [Source(str(index), below) for index, below in enumerate(below)])


def test_the_stack_file_is_above_its_bases_which_are_in_order():
    layer = merged({"a": 1, "b": 1, "c": {"x": 1, "y": 1}}, {"b": 2, "c": {"x": 2}}, {"c": {"z": 3}})
    assert layer.tree == {"a": 1, "b": 2, "c": {"x": 2, "y": 1, "z": 3}}
    places = {path: layer.locate(Path(*path), absent=False) for path in [("a",), ("b",), ("c", "x"), ("c", "y")]}
    assert [place.file for place in places.values()] == ["0", "1", "1", "0"]
    assert layer.locate(Path("c", "z"), absent=False) == Place(Path("c", "z"))


@pytest.mark.parametrize("value", [False, 0, ""])
def test_false_zero_and_empty_text_win(value):
    assert merged({"a": 1, "services": {"q": {"b": 1}}}, {"a": value, "services": {"q": {"b": value}}}).tree == {
        "a": value,
        "services": {"q": {"b": value}},
    }


def test_null_removes_what_lower_files_say():
    removed = {"labels": None, "gateway": None, "services": {"qwen": {"replicas": None}, "bert": None}}
    base = BASE.tree | {"services": {"qwen": SERVICE | {"replicas": 2}, "bert": SERVICE}}
    layer = merged(base, removed)
    assert layer.problems == ()
    assert {*layer.tree} == {"namespace", "release", "services"}
    assert layer.tree["services"] == {"qwen": SERVICE}


@pytest.mark.parametrize("above", [{"services": None}, {"defaults": None}])
def test_null_removes_a_whole_layer(above):
    layer = merged({"defaults": {"replicas": 2}, "services": {"q": {}}}, above)
    assert layer.problems == ()
    assert layer.tree == {"services": {"q": {}}} if "defaults" in above else {"defaults": {"replicas": 2}}


def test_null_of_a_service_removes_what_files_and_defaults_say():
    base = {"defaults": {"replicas": 2}, "services": {"q": {"replicas": 3}, "r": {"replicas": None}}}
    layer = merged(base, {"services": {"q": {"replicas": None}}})
    assert layer.problems == ()
    assert layer.tree["services"] == {"q": {}, "r": {}}


def test_what_is_set_again_above_a_null_inherits_nothing_from_below_it():
    base = {"defaults": {"storage": {"size": "1Gi", "type": "dedicated"}}}
    layer = merged(
        base, {"services": {"q": {"storage": None}}}, {"services": {"q": {"storage": {"type": "dedicated"}}}}
    )
    assert layer.problems == ()
    assert layer.tree["services"]["q"]["storage"] == {"type": "dedicated"}


def test_defaults_of_every_file_are_below_the_services_of_every_file():
    base = {"services": {"q": {"replicas": 3}}, "defaults": {"pod": {"x": 1}}}
    layer = merged(base, {"defaults": {"replicas": 2, "pod": {"y": 2}}, "services": {"r": {}}})
    assert layer.tree["services"] == {"q": {"replicas": 3, "pod": {"x": 1, "y": 2}}, "r": layer.tree["defaults"]}
    assert layer.locate(Path("services", "q", "pod", "x"), absent=False) == Place(Path("defaults", "pod", "x"), "0")


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ({"prefill": {"replicas": 2}}, {"prefill": {"pod": {}}}, {"replicas": 2, "pod": {}}),
        ({"prefill": {"replicas": 2}}, {"prefill": None}, None),
        ({"canary": {"weight": 1, "x": 1}}, {"canary": {"weight": 2}}, {"weight": 2, "x": 1}),
        ({"canary": {"weight": 1}}, {"canary": None}, None),
    ],
)
def test_prefill_and_canary_merge_over_files(below, above, expected):
    layer = merged({"services": {"q": below}}, {"services": {"q": above}})
    assert layer.problems == ()
    assert layer.tree["services"]["q"].get(next(iter(below))) == expected


def test_a_prefill_of_lower_defaults_is_the_lowest():
    layer = merged(
        {"defaults": {"prefill": {"a": 1, "b": 1}}},
        {"defaults": {"prefill": {"a": 2}}, "services": {"q": {"prefill": {"b": 2}}, "r": {}}},
    )
    services = layer.tree["services"]
    assert [services[key]["prefill"] for key in "qr"] == [{"a": 2, "b": 2}, {"a": 2, "b": 1}]
    assert layer.tree["defaults"]["prefill"] == {"a": 2, "b": 1}


def test_a_gateway_is_replaced_whole_and_arguments_merge_by_flag():
    base = {"gateway": {"name": "g", "port": 80}, "services": {"q": {"engine": {"args": ["--a=1", "--b=1"]}}}}
    layer = merged(base, {"gateway": {"name": "h"}, "services": {"q": {"engine": {"args": ["--a=2"]}}}})
    assert layer.tree["gateway"] == {"name": "h"}
    assert sorted(layer.tree["services"]["q"]["engine"]["args"]) == ["--a=2", "--b=1"]


def test_a_stack_of_a_base_and_a_few_keys_is_the_stack_of_both():
    assert (
        load({"release": "llm-d-0.10", "extends": ["base.yaml"]}, (), [BASE]).finish()
        == load({**BASE.tree, "release": "llm-d-0.10", "extends": ["base.yaml"]}).finish()
    )


def test_a_key_without_effect_is_an_error_of_the_stack_file_alone():
    stack = tree(qwen={"interceptor": {"resourceId": "a"}})
    problem = Problem(Path("services", "qwen", "interceptor", "resourceId"), "x", "y", explicit_only=True)
    with pytest.raises(ConfigError, match="resourceId: x; y"):
        load(stack).finish([problem])
    assert load({"extends": ["b"]}, (), [Source("b", stack)]).finish([problem])
