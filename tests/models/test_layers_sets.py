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


def test_a_set_of_decode_stands_on_its_service():
    sets = {"a": {"pod": {"z": 3}}, "b": {"replicas": 2}}
    found = merged({}, a={"pod": {"x": 1}, "decode": {"sets": sets}}).tree["services"]["a"]["decode"]
    assert found == {"sets": {"a": {"pod": {"x": 1, "z": 3}}, "b": {"pod": {"x": 1}, "replicas": 2}}}


def test_a_service_with_sets_of_decode_inherits_no_key_of_a_workload():
    defaults = {"replicas": 3, "patch": {"spec": {}}, "pod": {"x": 1}}
    found = merged(defaults, a={"decode": {"sets": {"b": {}}}}, c={}).tree["services"]
    assert found == {"a": {"pod": {"x": 1}, "decode": {"sets": {"b": {"pod": {"x": 1}}}}}, "c": defaults}


def test_a_key_of_a_workload_beside_sets_of_decode_stays_where_it_is_written():
    found = merged({}, a={"replicas": 2, "decode": {"sets": {"b": {}}}}).tree["services"]["a"]
    assert found["replicas"] == 2


def test_a_canary_takes_the_sets_of_decode_without_their_numbers_or_removes_them():
    service = {"decode": {"sets": {"b": {"replicas": 2, "pod": {"x": 1}}}}}
    for canary, expected in (({}, {"sets": {"b": {"pod": {"x": 1}}}}), ({"decode": None}, None)):
        found = merged({}, a=service | {"canary": {"weight": 1, **canary}}).tree["services"]["a"]["canary"]
        assert found.get("decode") == expected


def test_a_canary_with_sets_of_decode_alone_drops_the_sidecar_of_its_service():
    service = {"prefill": {}, "sidecar": {"logLevel": "debug"}, "decode": {"sets": {"b": {}}}}
    found = merged({}, a=service | {"canary": {"weight": 1, "prefill": None}}).tree["services"]["a"]["canary"]
    assert found.keys() == {"weight", "decode"}


def test_sets_of_decode_in_the_defaults_reach_each_service():
    found = merged({"decode": {"sets": {"b": {"replicas": 2}}}}, a={"decode": {"sets": {"b": {"pod": {"x": 1}}}}}, c={})
    assert found.tree["services"]["a"]["decode"] == {"sets": {"b": {"replicas": 2, "pod": {"x": 1}}}}
    assert found.tree["services"]["c"]["decode"] == {"sets": {"b": {"replicas": 2}}}
    assert found.problems == ()
