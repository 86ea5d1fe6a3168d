"""A canary takes some keys from its service, others never, and one message serves both."""

import pytest

from models.layers import INHERITED_BY_CANARY, INHERITED_BY_PREFILL
from models.load import load
from models.problems import Problem
from models.stack_layers import merge_stack
from tests.support.stacks import SERVICE, place
from tests.support.stacks.layers import NULL, messages, service, stack

HUB = {"source": "hf://org/model", "size": "10Gi", "secrets": ["hf"]}


def canary(service, defaults=None):
    found = merge_stack({"defaults": defaults or {}, "services": {"a": service}})
    return found.tree["services"]["a"].get("canary"), found


def test_a_canary_stands_on_its_service_which_stands_on_the_defaults():
    defaults = {"labels": {"team": "x"}, "engine": {"args": ["--a=1"], "env": {"A": "1", "B": "1"}}}
    service = {"engine": {"port": 1, "env": {"B": "2"}}, "pod": {"fsGroup": 7}}
    canary_keys = {"weight": 5, "engine": {"args": ["--b"], "env": {"A": None, "C": "3"}}, "labels": {"track": "next"}}
    assert canary({**service, "canary": canary_keys}, defaults)[0] == {
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
    first, other = (load(both).finish().services[key].canary for key in "ab")
    assert (first.replicas, first.prefill.replicas) == (1, 1)
    assert (other.replicas, other.prefill.replicas) == (2, 1)
    canary_keys = {"weight": 1, "prefill": {"replicas": 5}}
    assert service(stack(qwen={**every, "canary": canary_keys})).canary.prefill.replicas == 5


def test_an_autoscaler_of_the_service_is_not_the_canarys():
    scaling = {"type": "hpa", "maxReplicas": 4, "metrics": [{"type": "queue-size", "target": 5}]}
    every = {"autoscaling": scaling, "prefill": {"autoscaling": scaling}, "canary": {"weight": 1}}
    found = service(stack(qwen=every))
    assert found.autoscaling is not None
    assert found.prefill.autoscaling is not None
    assert (found.canary.autoscaling, found.canary.prefill.autoscaling) == (None, None)


def test_a_canarys_prefill_is_the_services_layers_over_the_canarys_role():
    defaults = {"prefill": {"pod": {"fsGroup": 1}, "patch": {"spec": {"a": 1}}}}
    keys = {
        "engine": {"port": 1, "args": ["--a=1"]},
        "prefill": {"engine": {"args": ["--p=1"]}, "replicas": 3},
        "canary": {"weight": 1, "engine": {"args": ["--a=2"]}, "prefill": {"engine": {"args": ["--p=2"]}}},
    }
    found, layer = canary(keys, defaults)
    assert found["prefill"] == {
        "engine": {"port": 1, "args": ["--a=2", "--p=2"]},
        "pod": {"fsGroup": 1},
        "patch": {"spec": {"a": 1}},
    }
    at = ("services", "a", "canary", "prefill")
    written = [layer.origin.locate((*at, "engine", "args", index)) for index in range(2)]
    assert written[0] == ("services", "a", "canary", "engine", "args", 0)
    assert written[1] == ("services", "a", "canary", "prefill", "engine", "args", 0)
    assert layer.origin.locate((*at, "engine", "port")) == ("services", "a", "engine", "port")
    assert layer.origin.locate((*at, "pod", "fsGroup")) == ("defaults", "prefill", "pod", "fsGroup")


@pytest.mark.parametrize(
    ("defaults", "keys", "canary_keys", "expected", "problems"),
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
def test_a_canarys_prefill_goes_with_null_and_comes_with_its_group(defaults, keys, canary_keys, expected, problems):
    found, layer = canary({**keys, "canary": {"weight": 1, **canary_keys}}, defaults)
    assert found.get("prefill") == expected
    assert [str(problem.path) for problem in layer.problems] == problems


def test_a_sidecar_goes_with_the_inherited_prefill_and_a_canarys_own_stays_to_be_refused():
    sidecar = {"logLevel": "debug"}
    keys = {"prefill": {}, "sidecar": sidecar}
    assert "sidecar" not in canary({**keys, "canary": {"weight": 1, "prefill": None}})[0]
    assert canary({**keys, "canary": {"weight": 1}})[0]["sidecar"] == sidecar
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
    keys = {group: {"type": "a", "x": 1}, "canary": {"weight": 1, group: {"type": "b", "y": 2}}}
    assert canary(keys)[0][group] == {"type": "b", "y": 2}


def test_a_canarys_patch_replaces_the_services_whole():
    keys = {"patch": {"spec": {"a": 1}}, "canary": {"weight": 1, "patch": {"spec": {"b": None}}}}
    assert canary(keys)[0]["patch"] == {"spec": {"b": None}}


@pytest.mark.parametrize(("value", "expected"), [(7, 7), ([], []), ("x", "x"), ({}, {"pod": {"x": 1}})])
def test_a_canary_that_is_no_mapping_is_left_for_the_specs_to_refuse(value, expected):
    assert canary({"pod": {"x": 1}, "canary": value})[0] == expected


def test_a_canary_cannot_be_taken_away_because_none_is_inherited():
    found, layer = canary({"canary": None})
    assert found is None
    assert [(str(problem.path), problem.what) for problem in layer.problems] == [("services.a.canary", NULL)]


def test_defaults_have_no_canary_and_no_service_gets_it():
    found, layer = canary({}, {"canary": {"weight": 1}})
    assert found is None
    assert [str(problem.path) for problem in layer.problems] == ["defaults.canary"]


def test_what_a_canary_inherits_is_told_once_and_its_own_beside_it():
    keys = {
        "health": {"interval": 10},
        "prefill": {"pod": {"fsGroup": 0}},
        "canary": {"weight": 1, "engine": {"prt": 1}, "prefill": {"pod": {"runAsUser": 0}}},
    }
    found = messages(stack(defaults={"parallelism": {"tensor": "2"}}, a=keys))
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
    keys = {"engine": {"args": ["--a"]}, "prefill": {}, "canary": {"weight": 1}}
    tree = stack(defaults={"pod": {"fsGroup": 5}}, a=keys)
    paths = {
        "services.a.engine.args[0]": "services.a.engine.args[0]",
        "services.a.canary.engine.args[0]": "services.a.engine.args[0]",
        "services.a.canary.prefill.engine.args[0]": "services.a.engine.args[0]",
        "services.a.pod.fsGroup": "defaults.pod.fsGroup",
        "services.a.canary.pod.fsGroup": "defaults.pod.fsGroup",
        "services.a.canary.weight": "services.a.canary.weight",
        "services.a.canary": "services.a.canary",
    }
    found = messages(tree, *[Problem(place(path), "is wrong", "write it right") for path in paths])
    assert found == [f"{path}: is wrong; write it right" for path in dict.fromkeys(paths.values())]


def test_a_verdict_that_only_a_canary_earns_is_told_at_the_canary_once():
    both = {key: {"prefill": {}, "canary": {"weight": 1}} for key in "ab"}
    tree = stack(defaults={"engine": {"port": 1}}, **both)
    at = [f"services.{key}.canary{role}.engine.port" for key in "ab" for role in ("", ".prefill")]
    found = messages(tree, *[Problem(place(path), "is taken", "choose another") for path in at])
    assert found == [f"services.{key}.canary.engine.port: is taken; choose another" for key in "ab"]


def test_what_has_no_effect_is_a_mistake_only_where_it_is_said():
    def problem(path):
        return Problem(place(path), "has no effect", "remove it", explicit_only=True)

    tree = stack(defaults={"pod": {"fsGroup": 5}}, a={"engine": {"port": 1}, "canary": {"weight": 1}})
    inherited = ["services.a.pod.fsGroup", "services.a.canary.pod.fsGroup", "services.a.canary.engine.port"]
    assert load(tree).finish([problem(path) for path in inherited]).services["a"].canary.engine.port == 1
    assert messages(tree, problem("services.a.engine.port")) == ["services.a.engine.port: has no effect; remove it"]
