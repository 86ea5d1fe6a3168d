"""Services stand on the defaults, with a schema for both and one message for what many inherit."""

import copy
from functools import cache

import jsonschema_rs
import pytest

import planning
from cli.schema import schema
from models.config_keys import ROOT
from models.load import load
from models.problems import Problem
from models.stack_layers import merge_stack
from tests.support.stacks import NAME, SERVICE, place, tree
from tests.support.stacks.layers import messages, service, stack


def test_a_service_stands_on_the_defaults():
    defaults = {"engine": {"args": ["--a=1", "--b"], "env": {"A": "1"}}, "labels": {"team": "x"}, "replicas": 3}
    keys = {"engine": {"args": ["--a=2"], "env": {"B": "2"}}, "replicas": 0, "labels": {"team": None, "owner": "y"}}
    found = service(stack(defaults=defaults, qwen=keys))
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
    keys = {"replicas": 2, "prefill": {"replicas": 1}, "health": {"intervall": None}}
    assert load(stack(defaults=defaults, a=keys, b=keys)).problems == ()
    assert len(messages(stack(defaults=defaults, a=keys, b={}))) == 3


def test_a_mistaken_default_that_no_service_inherits_is_a_warning():
    """See defects H18."""
    defaults = {"replicas": "2", "health": {"intervall": "1s", "timeout": "5s"}, "storage": {"size": "1Gi"}}
    keys = {"replicas": 2, "health": {"intervall": None}}
    loaded = load(stack(defaults=defaults | {"engine": None}, a=keys, b=keys | {"storage": {"type": "ephemeral"}}))
    unnoticed = "unnoticed because no service inherits it"
    assert [str(warning) for warning in loaded.warnings] == [
        f"defaults.replicas: is text (2), {unnoticed}; write the number without quotes",
        f"defaults.health.intervall: unknown key (intervall), {unnoticed}; did you mean interval?",
    ]


def test_a_mistaken_default_that_a_service_inherits_is_an_error_and_no_warning():
    """See defects H18."""
    loaded = load(stack(defaults={"replicas": "2"}, a={"replicas": 2}, b={}))
    assert loaded.warnings == ()
    assert [str(problem) for problem in loaded.problems] == [
        "defaults.replicas: is text (2); write the number without quotes"
    ]


def test_a_warning_about_defaults_is_one_of_the_plan():
    """See defects H18."""
    warnings = planning.plan(load(tree(qwen={"replicas": 1}) | {"defaults": {"replicas": "2"}}), NAME).warnings
    assert [str(warning.path) for warning in warnings if warning.path[0] == "defaults"] == ["defaults.replicas"]


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
    found = messages(tree, *[Problem(place(path), "is wrong", "write it right") for path in expected])
    services = {"defaults.pod": ", for services.b"}
    paths = dict.fromkeys(expected.values())
    assert found == [f"{path}: is wrong{services.get(path, '')}; write it right" for path in paths]


def test_a_further_problem_that_rests_on_a_mistaken_default_is_not_reported():
    tree = stack(defaults={"parallelism": {"tensor": "4"}}, a={}, b={"prefill": {}})
    rests = ["services.a.parallelism.tensor", "services.b.prefill.parallelism.tensor", "defaults.parallelism.tensor"]
    further = [Problem(place("services.a"), "is wrong", "", (place(path),)) for path in rests]
    assert messages(tree, *further, Problem(place("services.b.parallelism.tensor"), "is wrong", "")) == [
        "defaults.parallelism.tensor: is text (4); write the number without quotes",
    ]


@cache
def validator():
    return jsonschema_rs.validator_for(schema())


def valid(tree):
    return validator().is_valid({"config": {ROOT: tree}})


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
    keys = {"patch": {"spec": {"progressDeadlineSeconds": None}}}
    merged = merge_stack({"defaults": beneath, "services": {"a": keys, "b": {}, "patch": {"engine": None}}})
    assert merged.tree["services"]["a"] == keys
    assert merged.tree["services"]["b"] == beneath
    assert [str(problem.path) for problem in merged.problems] == ["services.patch.engine"]
