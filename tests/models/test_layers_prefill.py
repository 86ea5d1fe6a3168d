"""Prefill takes keys from its service and from the defaults, and goes with a null."""

import pytest

from models.layers import INHERITED_BY_PREFILL
from models.stack_layers import merge_stack
from tests.support.stacks import SERVICE
from tests.support.stacks.layers import messages, stack


def test_prefill_stands_on_its_service():
    groups = {key: {"x": 1} for key in INHERITED_BY_PREFILL}
    extra = {"replicas": 3, "patch": {"spec": {}}, "autoscaling": {"type": "hpa"}, "model": {}, "labels": {"a": "b"}}
    tree = {"services": {"a": {**groups, **extra, "prefill": {"replicas": 2, "pod": {"y": 2}}}}}
    assert merge_stack(tree).tree["services"]["a"]["prefill"] == {**groups, "pod": {"x": 1, "y": 2}, "replicas": 2}


def test_prefill_merges_the_defaults_prefill_between_service_and_its_own_keys():
    defaults = {"engine": {"port": 1, "args": ["--d=1"]}, "prefill": {"engine": {"port": 2, "args": ["--p"]}}}
    keys = {"engine": {"port": 3}, "prefill": {"engine": {"args": ["--d=2"]}}}
    found = merge_stack({"defaults": defaults, "services": {"a": keys, "b": {}}})
    prefill = found.tree["services"]["a"]["prefill"]
    assert prefill["engine"] == {"port": 2, "args": ["--d=2", "--p"]}
    assert found.tree["services"]["b"]["prefill"]["engine"] == {"port": 2, "args": ["--d=1", "--p"]}
    at = ("services", "a", "prefill", "engine")
    assert found.origin.locate((*at, "port")) == ("defaults", "prefill", "engine", "port")
    assert found.origin.locate((*at, "args", 0)) == ("services", "a", "prefill", "engine", "args", 0)
    assert found.origin.locate((*at, "args", 1)) == ("defaults", "prefill", "engine", "args", 0)


def test_null_removes_what_prefill_inherits_from_defaults_or_service_and_never_fails_in_the_defaults():
    tree = {
        "defaults": {"prefill": {"pod": None, "replicas": 2}},
        "services": {
            "a": {"pod": {"x": 1}, "prefill": {"replicas": None}},
            "b": {},
            "c": {"prefill": {"health": None}},
        },
    }
    found = merge_stack(tree)
    assert [found.tree["services"][key]["prefill"] for key in "abc"] == [{}, {"replicas": 2}, {"replicas": 2}]
    assert [str(problem.path) for problem in found.problems] == ["services.c.prefill.health"]


@pytest.mark.parametrize(
    ("defaults", "keys", "expected", "problems"),
    [
        ({}, {}, None, []),
        ({}, {"prefill": {}}, {}, []),
        ({"prefill": {}}, {}, {}, []),
        ({"prefill": {}}, {"prefill": None}, None, []),
        ({}, {"prefill": None}, None, ["services.a.prefill"]),
        ({"prefill": None}, {}, None, ["defaults.prefill"]),
        ({"prefill": 1}, {"prefill": {}}, {}, []),
        ({"prefill": 1}, {}, 1, []),
        ({"prefill": {}}, {"prefill": True}, True, []),
    ],
)
def test_prefill_is_switched_on_by_its_group_and_off_by_null(defaults, keys, expected, problems):
    found = merge_stack({"defaults": defaults, "services": {"a": keys}})
    assert found.tree["services"]["a"].get("prefill") == expected
    assert [str(problem.path) for problem in found.problems] == problems


def test_a_mistake_that_prefill_inherits_is_reported_once_where_it_was_written():
    keys = {"health": {"interval": 10}, "prefill": {"pod": {"fsGroup": 0}}}
    found = messages(stack(defaults={"engine": {"prt": 1}}, a=keys))
    assert sorted(line.partition(":")[0] for line in found) == [
        "defaults.engine.prt",
        "services.a.health.interval",
        "services.a.prefill.pod.fsGroup",
    ]
    tree = {"namespace": "models", "services": {"a": {"model": SERVICE["model"], "prefill": {}}}}
    assert messages(tree) == ["services.a.accelerator: is missing; add it, such as nvidia"]
