"""The part of a configuration that loads and plans."""

import pytest

from cli import trial
from migration.printing import CommentedOut
from models.paths import Path

TOKEN = "hf_" + "aB3dE6gH9j" * 4
CHAT = {"model": {"name": "m", "source": "hf://acme/m"}, "accelerator": "nvidia"}


def trial_of(**services):
    return trial.run({"namespace": "ml", "services": services})


def test_a_configuration_that_plans_stays_as_it_is():
    result = trial_of(chat=CHAT)
    assert (result.tree, result.refused) == ({"namespace": "ml", "services": {"chat": CHAT}}, ())
    assert {"Deployment", "Service"} <= {manifest["kind"] for manifest in result.objects}


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ({"engine": {"port": 99999}}, Path("services", "chat", "engine", "port"), 99999),
        ({"invented": {"a": 1}}, Path("services", "chat", "invented"), {"a": 1}),
        ({"engine": {"args": ["--seed=1", "--port=1"]}}, Path("services", "chat", "engine", "args", 1), "--port=1"),
    ],
)
def test_a_refused_value_is_taken_out_and_nothing_else(change, path, value):
    result = trial_of(chat={**CHAT, **change})
    (refused,) = result.refused
    assert (refused.path, refused.value) == (path, value)
    assert refused.reason
    assert result.objects


def test_a_service_that_lacks_something_is_taken_out_whole_and_others_stay():
    result = trial_of(chat=CHAT, code={"accelerator": "nvidia"})
    assert list(result.tree["services"]) == ["chat"]
    assert [refused.path for refused in result.refused] == [Path("services", "code")]


def test_without_a_service_everything_is_taken_out():
    result = trial_of(code={"accelerator": "nvidia"})
    assert result.tree == {}
    assert [refused.path for refused in result.refused] == [Path("namespace"), Path("services", "code")]


def test_a_credential_is_removed_and_kept_nowhere():
    result = trial_of(chat={**CHAT, "engine": {"env": {"HF_TOKEN": TOKEN, "LEVEL": "1"}}})
    assert result.credentials == (Path("services", "chat", "engine", "env", "HF_TOKEN"),)
    assert result.tree["services"]["chat"]["engine"]["env"] == {"LEVEL": "1"}
    assert not any(isinstance(refused, CommentedOut) and TOKEN in repr(refused) for refused in result.refused)


def test_two_refused_items_of_a_list_are_both_taken_out():
    result = trial_of(chat={**CHAT, "engine": {"args": ["--port=1", "--seed=1", "--host=a"]}})
    assert result.tree["services"]["chat"]["engine"]["args"] == ["--seed=1"]


def test_a_value_around_an_earlier_refused_one_gets_it_back():
    canary = {"model": {"source": "hf://acme/n"}, "weight": 10}
    result = trial_of(chat={**CHAT, "canary": canary})
    (refused,) = result.refused
    assert (refused.path, refused.value) == (Path("services", "chat", "canary"), canary)
    assert "gateway" in refused.reason
    assert result.objects


@pytest.mark.parametrize(
    ("arguments", "rest", "refused"),
    [
        (["--enforce-eager", "--seed", "1", "--seed", "2"], ["--enforce-eager", "--seed", "1"], ["--seed", "2"]),
        (["--seed", "1", "--max-model-len", "auto"], ["--seed", "1"], ["--max-model-len", "auto"]),
        (["--port=1", "--seed", "1", "--host=x"], ["--seed", "1"], ["--port=1", "--host=x"]),
    ],
)
def test_a_flag_is_taken_out_with_its_values(arguments, rest, refused):
    result = trial_of(chat={**CHAT, "engine": {"args": arguments}})
    assert result.tree["services"]["chat"]["engine"]["args"] == rest
    assert [value.value for value in result.refused] == refused


def test_the_reason_names_what_is_missing():
    (*_, refused) = trial.run({"namespace": "Bad_NS", "services": {"chat": CHAT}}).refused
    assert (refused.path, refused.reason.partition(";")[0]) == (Path("services"), "namespace is missing")
