"""The process of an engine gets what its container gets, but for the rows of the table, each with its reason."""

import tomllib

import pytest

from local.vllm import command, installation
from local.vllm.command import engine_command

VERSION = next(iter(installation.versions().values()))
ROWS = tomllib.loads(command.TABLE.read_text(encoding="utf-8"))
CONTAINER = {
    "name": "vllm",
    "command": ["vllm", "serve"],
    "args": ["/models/weights", "--port=8000", "--tensor-parallel-size=8", "--served-model-name=chat"],
    "env": [
        {"name": "HOME", "value": "/home/engine"},
        {"name": "LEVEL", "value": "debug"},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ],
    "volumeMounts": [
        {"name": "model", "mountPath": "/models"},
        {"name": "home", "mountPath": "/home/engine"},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ],
}


@pytest.fixture
def engine(tmp_path):
    return engine_command(CONTAINER, VERSION, tmp_path, address="127.0.0.5", read_variable=lambda item: item["name"])


def test_arguments_are_those_of_the_container_but_for_the_table(engine, tmp_path):
    assert engine.arguments == (
        str(VERSION.program),
        "serve",
        f"{tmp_path}/models/weights",
        "--port=8000",
        "--tensor-parallel-size=1",
        "--served-model-name=chat",
        "--host=127.0.0.5",
        "--enforce-eager",
    )
    assert str(engine.model) == f"{tmp_path}/models/weights"


def test_the_environment_is_that_of_the_container_but_for_the_table(engine, tmp_path):
    added = {row["name"]: row["value"] for row in ROWS["variable"] if "name" in row}
    expected = {"HOME": f"{tmp_path}/home/engine", "LEVEL": "debug", "POD_IP": "POD_IP"}
    assert engine.environment == expected | added
    assert added


def test_each_difference_has_a_reason(engine, tmp_path):
    texts = [row.text for row in engine.adjustments]
    assert f"{tmp_path}/models for /models" in texts
    assert {"--host=127.0.0.5", "--enforce-eager", "--tensor-parallel-size=1"} <= set(texts)
    assert not any("/dev/shm" in text or "--port" in text for text in texts)
    assert all(row.reason for row in engine.adjustments)


def test_a_flag_is_replaced_and_not_added_unless_the_table_says_so(tmp_path):
    container = CONTAINER | {"args": ["/models", "--host=0.0.0.0"]}
    arguments = engine_command(container, VERSION, tmp_path, address="127.0.0.5", read_variable=str).arguments
    assert arguments[3:] == ("--host=127.0.0.5", "--enforce-eager")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--host", "0.0.0.0", "--port=1"], ["--host=127.0.0.5", "--port=1", "--enforce-eager"]),
        (["-tp", "8"], ["--tensor-parallel-size=1", "--host=127.0.0.5", "--enforce-eager"]),
        (["--tensor_parallel_size=8"], ["--tensor-parallel-size=1", "--host=127.0.0.5", "--enforce-eager"]),
        (["--nnodes=2", "-n", "2"], ["--host=127.0.0.5", "--enforce-eager"]),
        (["--kv-transfer-config.kv_connector=A", "--kv-transfer-config.kv_role", "b"],
         ["--host=127.0.0.5", "--enforce-eager"]),
        (["--kv-events-config.endpoint", "tcp://*:1"],
         ["--kv-events-config.endpoint", "tcp://[::ffff:127.0.0.5]:1", "--host=127.0.0.5", "--enforce-eager"]),
        (["--load_format", "mistral"], ["--host=127.0.0.5", "--enforce-eager"]),
        (["--enforce-eager"], ["--enforce-eager", "--host=127.0.0.5"]),
    ],
)  # fmt: skip
def test_a_flag_is_adjusted_in_every_spelling(tmp_path, arguments, expected):
    container = CONTAINER | {"args": ["/models", *arguments]}
    engine = engine_command(container, VERSION, tmp_path, address="127.0.0.5", read_variable=str)
    assert [*engine.arguments[3:]] == expected


def test_references_to_variables_are_expanded_as_by_kubelet(tmp_path):
    arguments = ["/models", "--a=$(POD_IP) $(LATER) $(ABSENT) $$(POD_IP)"]
    variables = [CONTAINER["env"][2], {"name": "URL", "value": "$(POD_IP):1 $(LATER)"}, {"name": "LATER", "value": "x"}]
    container = CONTAINER | {"args": arguments, "env": variables}
    engine = engine_command(container, VERSION, tmp_path, address="127.0.0.5", read_variable=lambda _: "1.2.3.4")
    assert engine.arguments[3] == "--a=1.2.3.4 x $(ABSENT) $(POD_IP)"
    assert engine.environment["URL"] == "1.2.3.4:1 $(LATER)"


def test_events_of_the_cache_are_published_at_the_address_of_the_pod(tmp_path):
    argument = '--kv-events-config={"endpoint":"tcp://*:5556"}'
    container = CONTAINER | {"args": ["/models", argument]}
    engine = engine_command(container, VERSION, tmp_path, address="127.0.0.5", read_variable=str)
    expected = '--kv-events-config={"endpoint":"tcp://[::ffff:127.0.0.5]:5556"}'
    assert expected in engine.arguments
    assert expected in [row.text for row in engine.adjustments]


@pytest.mark.parametrize(
    ("argument", "is_left_out"),
    [
        ("--nnodes=2", True),
        ("--kv-offloading-size=64", True),
        ("--load-format=mistral", True),
        ("--load-format=runai_streamer", True),
        ("--load-format=fastsafetensors", True),
        ("--load-format=safetensors", False),
        ("--nnodes-of-others=2", False),
    ],
)
def test_a_flag_that_this_machine_cannot_serve_is_left_out_with_a_reason(tmp_path, argument, is_left_out):
    container = CONTAINER | {"args": ["/models", argument]}
    engine = engine_command(container, VERSION, tmp_path, address="127.0.0.5", read_variable=str)
    assert (argument not in engine.arguments) == is_left_out
    assert (f"without {argument}" in [row.text for row in engine.adjustments]) == is_left_out


def test_variables_of_devices_are_left_out_with_a_reason(tmp_path):
    variables = [{"name": "VLLM_ROCM_USE_AITER", "value": "1"}, {"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"}]
    container = CONTAINER | {"env": variables}
    engine = engine_command(container, VERSION, tmp_path, address="127.0.0.5", read_variable=str)
    assert "VLLM_ROCM_USE_AITER" not in engine.environment
    assert engine.environment["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert "without VLLM_ROCM_USE_AITER=1" in [row.text for row in engine.adjustments]
