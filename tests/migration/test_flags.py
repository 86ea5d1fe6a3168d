"""Arguments of an engine as keys."""

import pytest

from migration import fields, flags
from migration.accounts import Original
from models.paths import Path
from models.trees import EMPTY


def read(*arguments, model=EMPTY):
    document = Original("a.yaml", {"spec": {"engine": {"args": list(arguments)}}}, fields.table("modelservice"))
    paths = tuple(document.items(Path("spec", "engine", "args")))
    return flags.read(document, paths, model), document


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (["--tensor-parallel-size=2"], ("parallelism", "tensor"), 2),
        (["-tp", "4"], ("parallelism", "tensor"), 4),
        (["--max_model_len", "8k"], ("model", "maxModelLen"), 8000),
        (["--max-model-len=8K"], ("model", "maxModelLen"), 8192),
        (["--gpu-memory-utilization=.85"], ("engine", "gpuMemoryUtilization"), 0.85),
        (["--enable-expert-parallel"], ("parallelism", "expert"), True),
        (["--no-enable-expert-parallel"], ("parallelism", "expert"), False),
        (["--kv-offloading-size", "32"], ("kvCache", "cpuOffload"), "32Gi"),
    ],
)
def test_a_flag_that_a_key_decides_becomes_the_key(arguments, key, value):
    result, _ = read(*arguments)
    assert (result.keys, result.rest) == ({key: value}, [])


@pytest.mark.parametrize(
    "arguments",
    [["--enforce-eager"], ["--max-model-len=auto"], ["--max-num-seqs=many"], ["--compilation-config", '{"level": 3}']],
)
def test_other_flags_stay_arguments(arguments):
    result, document = read(*arguments)
    assert (result.keys, result.rest) == ({}, arguments)
    assert set(document.fates().values()) == {"carried"}


def test_a_flag_that_something_else_decides_is_dropped_with_its_value():
    result, document = read("--port", "8000", "--host=0.0.0.0", "--seed=1")
    assert result.rest == ["--seed=1"]
    assert list(document.fates().values()) == ["dropped", "dropped", "dropped", "carried"]


def test_a_flag_with_a_credential_is_left_out():
    token = "aB3dE6gH9j" * 4
    result, document = read("--api-key", token, "--seed", "1")
    assert result.rest == ["--seed", "1"]
    assert not any(token in str(note) for note in document.notes())


def test_every_key_with_a_form_has_a_flag():
    assert list(flags.unused_forms()) == []


def test_an_argument_that_is_no_text_is_lost():
    result, document = read("--seed", 1)
    assert result.rest == ["--seed"]
    assert document.fates()[Path("spec", "engine", "args", 1)] == "cannot"


def test_of_a_repeated_flag_the_last_value_counts():
    result, document = read("--seed", "1", "--max-model-len=4k", "--seed", "2", "--max-model-len", "auto")
    assert (result.keys, result.rest) == ({}, ["--seed", "2", "--max-model-len", "auto"])
    assert list(document.fates().values()) == [*["dropped"] * 3, *["carried"] * 4]


def test_a_flag_that_adds_to_earlier_ones_is_left_as_it_is():
    assert read("--middleware", "a", "--middleware", "b")[0].rest == ["--middleware", "a", "--middleware", "b"]


@pytest.mark.parametrize(
    ("value", "fate"),
    [("acme/chat", "dropped"), ("chat", "dropped"), ("/models", "dropped"), ("$(NAME)", "dropped"), ("b", "cannot")],
)
def test_another_model_than_that_of_the_service_is_lost(value, fate):
    for flag in ("--model", "--served-model-name"):
        _, document = read(flag, value, model={"source": "hf://acme/chat", "name": "chat"})
        assert set(document.fates().values()) == {fate}
    assert set(read("--served-model-name", "chat", "b", model={"name": "chat"})[1].fates().values()) == {"cannot"}


def test_a_flag_beside_a_credential_keeps_its_value():
    result, _ = read("--seed", "1", "--api-key=hunter2-Correct", "--enforce-eager")
    assert result.rest == ["--seed", "1", "--enforce-eager"]
