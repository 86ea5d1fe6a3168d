"""Sets take keys from prefill, and encode takes keys from its service."""

from models.layers import INHERITED_BY_POOLS
from models.stack_layers import merge_stack


def merged(defaults, **services):
    return merge_stack({"defaults": defaults, "services": services})


def test_a_set_stands_on_prefill_and_prefill_on_its_service():
    prefill = {"pod": {"y": 2}, "replicas": 3, "sets": {"a": {"pod": {"z": 3}}, "b": {"replicas": 2}}}
    found = merged({}, a={"pod": {"x": 1}, "prefill": prefill}).tree["services"]["a"]["prefill"]
    assert found["sets"] == {"a": {"pod": {"x": 1, "y": 2, "z": 3}}, "b": {"pod": {"x": 1, "y": 2}, "replicas": 2}}


def test_encode_takes_every_key_but_the_numbers_and_the_wishes_of_its_service():
    groups = {key: {"x": 1} for key in INHERITED_BY_POOLS}
    service = {**groups, "selection": {}, "replicas": 3, "patch": {}, "encode": {"pod": {"y": 2}}}
    assert merged({}, a=service).tree["services"]["a"]["encode"] == {**groups, "pod": {"x": 1, "y": 2}}


def test_sets_of_the_defaults_and_of_a_service_merge_by_name_and_a_null_removes_one():
    defaults = {"prefill": {"sets": {"a": {"replicas": 2}, "b": {"replicas": 3}}}}
    found = merged(defaults, a={"prefill": {"sets": {"a": {"replicas": 4}, "b": None}}})
    assert found.tree["services"]["a"]["prefill"]["sets"] == {"a": {"replicas": 4}}
    assert found.problems == ()
    assert found.origin.locate(("services", "a", "prefill", "sets", "a", "replicas")) == (
        *("services", "a", "prefill", "sets", "a"),
        "replicas",
    )


def test_a_canary_takes_the_sets_of_its_service_without_their_numbers():
    service = {"prefill": {"sets": {"a": {"replicas": 2, "pod": {"x": 1}}}}, "canary": {"weight": 1}}
    found = merged({}, a=service).tree["services"]["a"]["canary"]["prefill"]
    assert found == {"sets": {"a": {"pod": {"x": 1}}}}


def test_a_null_in_a_set_that_removes_nothing_is_a_problem():
    found = merged({}, a={"prefill": {"sets": {"a": {"pod": None}, "b": None}}})
    assert sorted(str(problem.path) for problem in found.problems) == [
        "services.a.prefill.sets.a.pod",
        "services.a.prefill.sets.b",
    ]
