"""The merge of configuration layers: what wins, where it was written, and one message for what many inherit."""

import copy
import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.schema import schema
from models.layers import INHERITED_BY_CANARY, INHERITED_BY_PREFILL, Layer, Origin, effective, merge
from models.load import ROOT, load
from models.problems import ConfigError, Problem, dotted

LOW, HIGH = ("low",), ("high",)
NULL = "has no value (null) and nothing is inherited that it could remove"
SERVICE = {
    "model": {"name": "org/model", "source": "kit://registry.example/org/model:v1"},
    "accelerator": "nvidia",
}
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


def stack(*, defaults=None, **services):
    given = {"services": {key: SERVICE | one for key, one in services.items()}}
    return {"namespace": "models"} | given | ({} if defaults is None else {"defaults": defaults})


def messages(tree, *further):
    with pytest.raises(ConfigError) as error:
        load(tree).finish(further)
    return str(error.value).splitlines()


def service(tree, key="qwen"):
    return load(tree).finish().services[key]


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
    assert [(one.path, one.what) for one in result.problems] == [
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


@pytest.mark.parametrize("path", [("services", "gateway"), ("caches", "tls"), ("sidecar", "tls"), ("services", "env")])
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


def test_arguments_merge_by_flag_only_where_both_are_lists_of_text():
    args = ["--a=1", "--b=2"]
    assert merged({"engine": {"args": args}}, {"engine": {"args": ["--a=3"]}})["engine"]["args"] == ["--a=3", "--b=2"]
    assert merged({"engine": {"args": args}}, {"engine": {"args": [1]}})["engine"]["args"] == [1]
    assert merged({"engine": {"args": args}}, {"engine": {"args": "--a"}})["engine"]["args"] == "--a"
    assert merged({"other": {"args": args}}, {"other": {"args": ["--c"]}})["other"]["args"] == ["--c"]


def test_environment_and_arguments_have_the_most_specific_layers_value_once():
    """Aim-engine's layered example: there AIM_METRIC and AIM_MODEL_ID come twice and a lower layer wins."""
    config = {
        "env": {"AIM_METRIC": "latency", "VLLM_ENABLE_METRICS": "false"},
        "args": ['--c={"a":1,"n":{"x":1}}'],
    }
    template = {"env": {"AIM_METRIC": "throughput", "AIM_MODEL_ID": "user"}, "args": ['--c={"b":2,"n":{"y":2}}']}
    secret = {"secretKeyRef": {"name": "s", "key": "z"}}
    own = {"env": {"Z": secret, "AIM_MODEL_ID": "Org/M"}, "args": ['--c={"a":3,"n":{"x":9}}']}
    engine = merged(merged({"engine": config}, {"engine": template}), {"engine": own})["engine"]
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
        layer, *written = result.origin.written(path)
        source = trees[layer]
        for part in written:
            source = source[part]
        assert source == value


def test_a_merged_value_remembers_its_layer_through_several_merges():
    lowest = Layer({"a": {"x": 1, "y": 2, "z": 3}, "b": {"l": [{"m": 1}]}}, Origin(("one",)))
    middle = merge(lowest, Layer({"a": {"y": 4}, "c": {"d": 1}}, Origin(("two",))))
    top = merge(middle, Layer({"a": {"z": 5}, "e": {}}, Origin(("three",))))
    paths = ["a.x", "a.y", "a.z", "b.l[0].m", "c.d", "a", "e.missing"]
    written = [dotted(top.origin.written(top.path_of(path)[0])) for path in paths]
    assert written == ["one.a.x", "two.a.y", "three.a.z", "one.b.l[0].m", "two.c.d", "three.a", "three.e.missing"]


def test_a_merged_argument_remembers_its_place_in_its_own_list():
    low, high = ["--a", "1", "--b=2", "--c=3"], ["--d", "--b", "5"]
    result = layers({"engine": {"args": low}}, {"engine": {"args": high}})
    written = [result.origin.written(("engine", "args", index)) for index in range(6)]
    assert result.tree["engine"]["args"] == ["--a", "1", "--b", "5", "--c=3", "--d"]
    assert [(layer, index) for layer, _, _, index in written] == [
        ("low", 0), ("low", 1), ("high", 1), ("high", 2), ("low", 3), ("high", 0),
    ]  # fmt: skip


def test_broken_json_that_should_merge_is_an_error_instead_of_a_silent_replacement():
    result = layers({"engine": {"args": ["--a", "--c", "{broken"]}}, {"engine": {"args": ['--c={"a":1}']}})
    (problem,) = result.problems
    assert problem.path == "low.engine.args[2]"
    assert problem.what == "is not valid JSON (--c: line 1 column 2)"
    assert layers({"engine": {"args": ["--c={broken"]}}, {"engine": {"args": ["--c=plain"]}}).problems == ()


def test_a_path_is_found_again_among_keys_with_dots():
    tree = {"requests": {"nvidia.com/gpu": "1", "nvidia": {"com/gpu": "2"}}, "list": [{"a.b": [1]}]}
    layer = Layer(tree, Origin(()))
    assert layer.path_of("requests.nvidia.com/gpu") == (("requests", "nvidia.com/gpu"), True)
    assert layer.path_of("list[0].a.b[0]") == (("list", 0, "a.b", 0), True)
    assert layer.path_of("list[1].a") == (("list", 1, "a"), False)
    assert layer.path_of("requests.cpu") == (("requests", "cpu"), False)


def test_a_service_stands_on_the_defaults():
    defaults = {"engine": {"args": ["--a=1", "--b"], "env": {"A": "1"}}, "labels": {"team": "x"}, "replicas": 3}
    own = {"engine": {"args": ["--a=2"], "env": {"B": "2"}}, "replicas": 0, "labels": {"team": None, "owner": "y"}}
    found = service(stack(defaults=defaults, qwen=own))
    assert found.engine.args == ("--a=2", "--b")
    assert list(found.engine.env.items()) == [("A", "1"), ("B", "2")]
    assert found.labels == {"owner": "y"}
    assert found.replicas == 0


def test_the_stack_keeps_the_defaults_as_they_were_written_and_the_users_tree_is_left_alone():
    tree = stack(defaults={"replicas": 3, "prefill": {"replicas": 2}}, qwen={"replicas": None, "prefill": None})
    before = copy.deepcopy(tree)
    loaded = load(tree)
    assert loaded.finish().defaults == before["defaults"]
    assert loaded.stack.services["qwen"].prefill is None
    assert tree == before


def test_what_is_required_may_come_from_the_defaults():
    tree = {"namespace": "models", "defaults": SERVICE, "services": {"a": {}, "b": {"accelerator": "amd"}}}
    services = load(tree).finish().services
    assert [services[key].accelerator for key in "ab"] == ["nvidia", "amd"]


def test_a_mistake_in_the_defaults_is_reported_there_and_once():
    defaults = {
        "acelerator": "amd",
        "health": {"intervall": "1s", "timeout": 5},
        "engine": {"args": ["--a", 7]},
        "prefill": {"route": {}, "replicas": "2"},
    }
    remedy = "write a number with h, m, s or ms, such as 10s"
    found = messages(stack(defaults=defaults, a={"health": {"failureThreshold": 4}}, b={"prefill": {}}))
    assert sorted(found) == [
        "defaults.acelerator: unknown key (acelerator); did you mean accelerator?",
        "defaults.engine.args[1]: is a number; write it quoted",
        "defaults.health.intervall: unknown key (intervall); did you mean interval?",
        f"defaults.health.timeout: is not a duration (5); {remedy}",
        "defaults.prefill.replicas: is text (2); write the number without quotes",
        "defaults.prefill.route: unknown key (route); did you mean rollout?",
    ]


def test_a_service_that_overrides_a_mistaken_default_silences_it():
    defaults = {"replicas": "2", "prefill": {"replicas": "2"}, "health": {"intervall": "1s"}}
    own = {"replicas": 2, "prefill": {"replicas": 1}, "health": {"intervall": None}}
    assert load(stack(defaults=defaults, a=own, b=own)).problems == ()
    assert len(messages(stack(defaults=defaults, a=own, b={}))) == 3


def test_what_a_merged_group_lacks_is_the_services_to_add():
    tree = {"namespace": "models", "defaults": {"model": {"secrets": ["s"]}}, "services": {"a": {}, "b": SERVICE}}
    found = messages(tree)
    assert sorted(line.partition(";")[0] for line in found) == [
        "services.a.accelerator: is missing",
        "services.a.model.source: is missing",
    ]


def test_what_is_lacking_in_a_default_that_is_only_replaced_whole_is_the_defaults_to_add():
    defaults = {"engine": {"env": {"A": {"secretKeyRef": {"name": "s"}}}}}
    (line,) = messages(stack(defaults=defaults, a={}, b={}))
    assert line.startswith("defaults.engine.env.A.secretKeyRef.key: is missing")


def test_a_rule_over_values_of_both_layers_is_the_services():
    (line,) = messages(stack(defaults={"health": {"interval": "1s"}}, a={"health": {"timeout": "9s"}}))
    assert line.startswith("services.a.health: a probe may take longer")
    (line,) = messages(stack(defaults={"health": {"interval": "1s"}}, a={}, b={}))
    assert line.startswith("defaults.health: a probe may take longer")


@pytest.mark.parametrize(("defaults", "shown"), [(["replicas"], ""), ("replicas", " (replicas)"), (0, " (0)")])
def test_defaults_are_a_mapping_and_the_services_are_still_judged(defaults, shown):
    assert messages(stack(defaults=defaults, a={"replicas": "2"})) == [
        f"defaults: is not a mapping{shown}; write keys with values below it",
        "services.a.replicas: is text (2); write the number without quotes",
    ]


def test_a_null_is_reported_where_it_stands_and_what_rests_on_it_is_not():
    tree = stack(defaults={"pod": None}, a={"accelerator": None, "health": None})
    tree["checks"] = None
    assert [line.partition(":")[0] for line in messages(tree)] == [
        "checks",
        "defaults.pod",
        "services.a.accelerator",
        "services.a.health",
    ]


def test_mistaken_items_of_a_list_are_all_reported_with_the_number_that_was_written():
    pod = {"tolerations": [5, {"ky": "x"}, {"key": 3}]}
    found = messages(stack(defaults={"pod": pod}, a={}, b={"prefill": {}}))
    assert [line.partition(":")[0] for line in found] == [
        "defaults.pod.tolerations[0]",
        "defaults.pod.tolerations[1].ky",
        "defaults.pod.tolerations[2].key",
    ]


def test_a_verdict_over_a_repaired_value_is_not_reported():
    (line,) = messages(stack(a={"health": {"timeout": "20s", "interval": 30}}))
    assert line.startswith("services.a.health.interval: is not a duration (30)")


def test_prefill_stands_on_its_service():
    own = {key: {"x": 1} for key in INHERITED_BY_PREFILL}
    extra = {"replicas": 3, "patch": {"spec": {}}, "autoscaling": {"type": "hpa"}, "model": {}, "labels": {"a": "b"}}
    tree = {"services": {"a": {**own, **extra, "prefill": {"replicas": 2, "pod": {"y": 2}}}}}
    assert effective(tree).tree["services"]["a"]["prefill"] == {**own, "pod": {"x": 1, "y": 2}, "replicas": 2}


def test_prefill_merges_the_defaults_prefill_between_service_and_its_own_keys():
    defaults = {"engine": {"port": 1, "args": ["--d=1"]}, "prefill": {"engine": {"port": 2, "args": ["--p"]}}}
    own = {"engine": {"port": 3}, "prefill": {"engine": {"args": ["--d=2"]}}}
    found = effective({"defaults": defaults, "services": {"a": own, "b": {}}})
    prefill = found.tree["services"]["a"]["prefill"]
    assert prefill["engine"] == {"port": 2, "args": ["--d=2", "--p"]}
    assert found.tree["services"]["b"]["prefill"]["engine"] == {"port": 2, "args": ["--d=1", "--p"]}
    at = ("services", "a", "prefill", "engine")
    assert found.origin.written((*at, "port")) == ("defaults", "prefill", "engine", "port")
    assert found.origin.written((*at, "args", 0)) == ("services", "a", "prefill", "engine", "args", 0)
    assert found.origin.written((*at, "args", 1)) == ("defaults", "prefill", "engine", "args", 0)


def test_null_removes_what_prefill_inherits_from_defaults_or_service_and_never_fails_in_the_defaults():
    tree = {
        "defaults": {"prefill": {"pod": None, "replicas": 2}},
        "services": {
            "a": {"pod": {"x": 1}, "prefill": {"replicas": None}},
            "b": {},
            "c": {"prefill": {"health": None}},
        },
    }
    found = effective(tree)
    assert [found.tree["services"][key]["prefill"] for key in "abc"] == [{}, {"replicas": 2}, {"replicas": 2}]
    assert [one.path for one in found.problems] == ["services.c.prefill.health"]


@pytest.mark.parametrize(
    ("defaults", "own", "expected", "problems"),
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
def test_prefill_is_switched_on_by_its_group_and_off_by_null(defaults, own, expected, problems):
    found = effective({"defaults": defaults, "services": {"a": own}})
    assert found.tree["services"]["a"].get("prefill") == expected
    assert [one.path for one in found.problems] == problems


def test_a_mistake_that_prefill_inherits_is_reported_once_where_it_was_written():
    own = {"health": {"interval": 10}, "prefill": {"pod": {"fsGroup": 0}}}
    found = messages(stack(defaults={"engine": {"prt": 1}}, a=own))
    assert sorted(line.partition(":")[0] for line in found) == [
        "defaults.engine.prt",
        "services.a.health.interval",
        "services.a.prefill.pod.fsGroup",
    ]
    tree = {"namespace": "models", "services": {"a": {"model": SERVICE["model"], "prefill": {}}}}
    assert messages(tree) == ["services.a.accelerator: is missing; add it, such as nvidia"]


def test_further_problems_are_reported_where_their_values_were_written_and_once():
    defaults = {"engine": {"args": ["--a", "--b"]}, "pod": {"fsGroup": 5}}
    tree = stack(defaults=defaults, a={"engine": {"args": ["--c", "--b=2"]}, "prefill": {}}, b={})
    expected = {
        "services.a.engine.args[0]": "defaults.engine.args[0]",
        "services.a.prefill.engine.args[1]": "services.a.engine.args[1]",
        "services.a.engine.args[2]": "services.a.engine.args[0]",
        "services.b.engine.args[0]": "defaults.engine.args[0]",
        "services.a.prefill.pod.fsGroup": "defaults.pod.fsGroup",
        "services.b.pod.fsGroup": "defaults.pod.fsGroup",
        "services.b.pod.runAsUser": "services.b.pod.runAsUser",
        "services.b.pod": "defaults.pod",
        "services.a": "services.a",
        "release": "release",
    }
    found = messages(tree, *[Problem(path, "is wrong", "write it right") for path in expected])
    assert found == [f"{path}: is wrong; write it right" for path in dict.fromkeys(expected.values())]


def test_a_further_problem_that_rests_on_a_mistaken_default_is_not_reported():
    tree = stack(defaults={"parallelism": {"tensor": "4"}}, a={}, b={"prefill": {}})
    rests = ["services.a.parallelism.tensor", "services.b.prefill.parallelism.tensor", "defaults.parallelism.tensor"]
    further = [Problem("services.a", "is wrong", "", (path,)) for path in rests]
    assert messages(tree, *further, Problem("services.b.parallelism.tensor", "is wrong", "")) == [
        "defaults.parallelism.tensor: is text (4); write the number without quotes",
    ]


def valid(tree):
    return jsonschema_rs.validator_for(schema()).is_valid({"config": {ROOT: tree}})


def test_the_schema_wants_whole_services_only_where_nothing_is_beneath_them():
    whole = stack(qwen={"prefill": {"replicas": 2}})
    partial = {"namespace": "models", "services": {"qwen": {"engine": {"env": {"A": "1"}}}}}
    assert valid(whole)
    assert not valid(partial)
    assert valid(partial | {"defaults": {"model": {"secrets": ["registry"]}, "rollout": {"maxSurge": 1}}})


@pytest.mark.parametrize("defaults", [{"acelerator": "amd"}, {"pod": {"fsGroup": "1"}}, {"prefill": {"route": {}}}, []])
def test_the_schema_refuses_in_defaults_what_a_service_may_not_say(defaults):
    assert not valid(stack(qwen={}) | {"defaults": defaults})


def test_a_patch_keeps_its_nulls_and_is_replaced_whole():
    beneath = {"patch": {"spec": {"minReadySeconds": 5}}}
    own = {"patch": {"spec": {"progressDeadlineSeconds": None}}}
    merged = effective({"defaults": beneath, "services": {"a": own, "b": {}, "patch": {"engine": None}}})
    assert merged.tree["services"]["a"] == own
    assert merged.tree["services"]["b"] == beneath
    assert [problem.path for problem in merged.problems] == ["services.patch.engine"]


# --- a canary


HUB = {"source": "hf://org/model", "size": "10Gi", "secrets": ["hf"]}


def canary(service, defaults=None):
    found = effective({"defaults": defaults or {}, "services": {"a": service}})
    return found.tree["services"]["a"].get("canary"), found


def test_a_canary_stands_on_its_service_which_stands_on_the_defaults():
    defaults = {"labels": {"team": "x"}, "engine": {"args": ["--a=1"], "env": {"A": "1", "B": "1"}}}
    service = {"engine": {"port": 1, "env": {"B": "2"}}, "pod": {"fsGroup": 7}}
    own = {"weight": 5, "engine": {"args": ["--b"], "env": {"A": None, "C": "3"}}, "labels": {"track": "next"}}
    assert canary({**service, "canary": own}, defaults)[0] == {
        "labels": {"team": "x", "track": "next"},
        "engine": {"port": 1, "args": ["--a=1", "--b"], "env": {"B": "2", "C": "3"}},
        "pod": {"fsGroup": 7},
        "weight": 5,
    }


def test_a_canary_takes_over_every_key_of_a_variant_but_numbers_and_roles():
    every = {key: {"x": 1} for key in INHERITED_BY_CANARY}
    service = {**every, "prefill": {}, "replicas": 3, "autoscaling": {"type": "hpa"}}
    service |= {"name": "n", "namespace": "m", "route": {"hostnames": []}, "interceptor": {"resourceId": "r"}}
    found, _ = canary({**service, "canary": {"weight": 1}})
    assert set(INHERITED_BY_CANARY) >= {*INHERITED_BY_PREFILL, "patch", "model", "storage", "kvCache", "labels"}
    assert found == {**every, "weight": 1, "prefill": {key: {"x": 1} for key in INHERITED_BY_PREFILL}}


def test_a_canary_has_one_replica_unless_it_says_otherwise_itself():
    every = {"replicas": 4, "prefill": {"replicas": 3}}
    both = stack(defaults=every, a={"canary": {"weight": 1}}, b={"canary": {"weight": 1, "replicas": 2}})
    one, other = (load(both).finish().services[key].canary for key in "ab")
    assert (one.replicas, one.prefill.replicas) == (1, 1)
    assert (other.replicas, other.prefill.replicas) == (2, 1)
    own = {"weight": 1, "prefill": {"replicas": 5}}
    assert service(stack(qwen={**every, "canary": own})).canary.prefill.replicas == 5


def test_an_autoscaler_of_the_service_is_not_the_canarys():
    scaling = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
    every = {"autoscaling": scaling, "prefill": {"autoscaling": scaling}, "canary": {"weight": 1}}
    found = service(stack(qwen=every))
    assert found.autoscaling is not None
    assert found.prefill.autoscaling is not None
    assert (found.canary.autoscaling, found.canary.prefill.autoscaling) == (None, None)


def test_a_canarys_prefill_is_the_services_layers_over_the_canarys_role():
    defaults = {"prefill": {"pod": {"fsGroup": 1}, "patch": {"spec": {"a": 1}}}}
    own = {
        "engine": {"port": 1, "args": ["--a=1"]},
        "prefill": {"engine": {"args": ["--p=1"]}, "replicas": 3},
        "canary": {"weight": 1, "engine": {"args": ["--a=2"]}, "prefill": {"engine": {"args": ["--p=2"]}}},
    }
    found, layer = canary(own, defaults)
    assert found["prefill"] == {
        "engine": {"port": 1, "args": ["--a=2", "--p=2"]},
        "pod": {"fsGroup": 1},
        "patch": {"spec": {"a": 1}},
    }
    at = ("services", "a", "canary", "prefill")
    written = [layer.origin.written((*at, "engine", "args", index)) for index in range(2)]
    assert written[0] == ("services", "a", "canary", "engine", "args", 0)
    assert written[1] == ("services", "a", "canary", "prefill", "engine", "args", 0)
    assert layer.origin.written((*at, "engine", "port")) == ("services", "a", "engine", "port")
    assert layer.origin.written((*at, "pod", "fsGroup")) == ("defaults", "prefill", "pod", "fsGroup")


@pytest.mark.parametrize(
    ("defaults", "own", "tried", "expected", "problems"),
    [
        ({}, {}, {}, None, []),
        ({}, {}, {"prefill": {}}, {}, []),
        ({}, {"prefill": {}}, {}, {}, []),
        ({}, {"prefill": {}}, {"prefill": None}, None, []),
        ({"prefill": {}}, {}, {"prefill": None}, None, []),
        ({"prefill": {}}, {"prefill": None}, {}, None, []),
        ({"prefill": {}}, {"prefill": None}, {"prefill": {}}, {}, []),
        ({}, {}, {"prefill": None}, None, ["services.a.canary.prefill"]),
        ({"prefill": {"pod": {"x": 1}}}, {"prefill": None}, {"prefill": {"pod": {"y": 2}}}, {"pod": {"y": 2}}, []),
    ],
)
def test_a_canarys_prefill_goes_with_null_and_comes_with_its_group(defaults, own, tried, expected, problems):
    found, layer = canary({**own, "canary": {"weight": 1, **tried}}, defaults)
    assert found.get("prefill") == expected
    assert [one.path for one in layer.problems] == problems


def test_a_sidecar_goes_with_the_inherited_prefill_and_a_canarys_own_stays_to_be_refused():
    sidecar = {"logLevel": "debug"}
    own = {"prefill": {}, "sidecar": sidecar}
    assert "sidecar" not in canary({**own, "canary": {"weight": 1, "prefill": None}})[0]
    assert canary({**own, "canary": {"weight": 1}})[0]["sidecar"] == sidecar
    assert canary({"canary": {"weight": 1, "sidecar": sidecar}})[0]["sidecar"] == sidecar


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({}, HUB),
        ({"source": "hf://org/next"}, {**HUB, "source": "hf://org/next", "size": None}),
        ({"source": "hf://org/next", "size": "20Gi"}, {**HUB, "source": "hf://org/next", "size": "20Gi"}),
        ({"size": "20Gi"}, {**HUB, "size": "20Gi"}),
    ],
)
def test_another_source_keeps_all_of_the_model_but_the_size(model, expected):
    found, _ = canary({"model": HUB, "canary": {"weight": 1, "model": model}})
    assert found["model"] == {key: value for key, value in expected.items() if value is not None}


def test_a_canarys_own_source_drops_no_size_of_the_service():
    _, layer = canary({"model": HUB, "canary": {"weight": 1, "model": {"source": "hf://org/next"}}})
    assert layer.tree["services"]["a"]["model"] == HUB


@pytest.mark.parametrize("group", ["storage", "rollout", "autoscaling"])
def test_a_canarys_group_of_another_type_keeps_nothing_of_the_services(group):
    own = {group: {"type": "a", "x": 1}, "canary": {"weight": 1, group: {"type": "b", "y": 2}}}
    assert canary(own)[0][group] == {"type": "b", "y": 2}


def test_a_canarys_patch_replaces_the_services_whole():
    own = {"patch": {"spec": {"a": 1}}, "canary": {"weight": 1, "patch": {"spec": {"b": None}}}}
    assert canary(own)[0]["patch"] == {"spec": {"b": None}}


@pytest.mark.parametrize(("tried", "expected"), [(7, 7), ([], []), ("x", "x"), ({}, {"pod": {"x": 1}})])
def test_a_canary_that_is_no_mapping_is_left_for_the_specs_to_refuse(tried, expected):
    assert canary({"pod": {"x": 1}, "canary": tried})[0] == expected


def test_a_canary_cannot_be_taken_away_because_none_is_inherited():
    found, layer = canary({"canary": None})
    assert found is None
    assert [(one.path, one.what) for one in layer.problems] == [("services.a.canary", NULL)]


def test_defaults_have_no_canary_and_no_service_gets_it():
    found, layer = canary({}, {"canary": {"weight": 1}})
    assert found is None
    assert [one.path for one in layer.problems] == ["defaults.canary"]


def test_what_a_canary_inherits_is_told_once_and_its_own_beside_it():
    own = {
        "health": {"interval": 10},
        "prefill": {"pod": {"fsGroup": 0}},
        "canary": {"weight": 1, "engine": {"prt": 1}, "prefill": {"pod": {"runAsUser": 0}}},
    }
    found = messages(stack(defaults={"parallelism": {"tensor": "2"}}, a=own))
    assert sorted(line.partition(":")[0] for line in found) == [
        "defaults.parallelism.tensor",
        "services.a.canary.engine.prt",
        "services.a.canary.prefill.pod.runAsUser",
        "services.a.health.interval",
        "services.a.prefill.pod.fsGroup",
    ]


def test_what_a_canary_lacks_is_the_services_to_add():
    tree = {"namespace": "models", "services": {"a": {"model": SERVICE["model"], "canary": {"weight": 1}}}}
    assert messages(tree) == ["services.a.accelerator: is missing; add it, such as nvidia"]


def test_a_verdict_on_what_a_canary_inherits_is_the_services_where_the_service_makes_the_mistake_too():
    own = {"engine": {"args": ["--a"]}, "prefill": {}, "canary": {"weight": 1}}
    tree = stack(defaults={"pod": {"fsGroup": 5}}, a=own)
    paths = {
        "services.a.engine.args[0]": "services.a.engine.args[0]",
        "services.a.canary.engine.args[0]": "services.a.engine.args[0]",
        "services.a.canary.prefill.engine.args[0]": "services.a.engine.args[0]",
        "services.a.pod.fsGroup": "defaults.pod.fsGroup",
        "services.a.canary.pod.fsGroup": "defaults.pod.fsGroup",
        "services.a.canary.weight": "services.a.canary.weight",
        "services.a.canary": "services.a.canary",
    }
    found = messages(tree, *[Problem(path, "is wrong", "write it right") for path in paths])
    assert found == [f"{path}: is wrong; write it right" for path in dict.fromkeys(paths.values())]


def test_a_verdict_that_only_a_canary_earns_is_told_at_the_canary_once():
    both = {key: {"prefill": {}, "canary": {"weight": 1}} for key in "ab"}
    tree = stack(defaults={"engine": {"port": 1}}, **both)
    at = [f"services.{key}.canary{role}.engine.port" for key in "ab" for role in ("", ".prefill")]
    found = messages(tree, *[Problem(path, "is taken", "choose another") for path in at])
    assert found == [f"services.{key}.canary.engine.port: is taken; choose another" for key in "ab"]


def test_what_has_no_effect_is_a_mistake_only_where_it_is_said():
    def problem(path):
        return Problem(path, "has no effect", "remove it", said=True)

    tree = stack(defaults={"pod": {"fsGroup": 5}}, a={"engine": {"port": 1}, "canary": {"weight": 1}})
    inherited = ["services.a.pod.fsGroup", "services.a.canary.pod.fsGroup", "services.a.canary.engine.port"]
    assert load(tree).finish([problem(path) for path in inherited]).services["a"].canary.engine.port == 1
    assert messages(tree, problem("services.a.engine.port")) == ["services.a.engine.port: has no effect; remove it"]
