"""Arguments of engines in renderings."""

from typing import Any

import pytest

from migration import command_lines

SCRIPT = """
LEVEL=debug
eval "exec vllm serve /mnt/models \\
  --served-model-name "acme/chat" "publishers/ml/models/acme/chat" \\
  --port ${PORT:-8000} \\--enable-ssl-refresh \\ ${LOG_ARGS} ${VLLM_ADDITIONAL_ARGS} $@"
"""


def arguments(**container: Any) -> list[str]:
    return sorted(command_lines.arguments(container))


def test_arguments_have_one_form() -> None:
    """A value after a flag, one after `=`, and JSON with other spaces and another order are the same."""
    spaced = arguments(command=["vllm", "serve"], args=["/models", "--port", "8000", "--config", '{"b": 1, "a": 2}'])
    assert spaced == arguments(args=["/models", '--config={"a":2,"b":1}', "--port=8000"])
    assert spaced == ['--config={"a":2,"b":1}', "--port=8000", "/models"]


def test_the_line_of_the_engine_in_a_script_is_read() -> None:
    """Variables with values are their values, `$@` is what follows the script, and other variables stay."""
    env = [{"name": "VLLM_ADDITIONAL_ARGS", "value": "--enforce-eager --seed 1"}]
    assert arguments(command=["/bin/bash", "-c", SCRIPT, "--"], args=["--max-num-seqs", "64"], env=env) == [
        "$LOG_ARGS",
        "--enable-ssl-refresh",
        "--enforce-eager",
        "--max-num-seqs=64",
        "--port=8000",
        "--seed=1",
        "--served-model-name=acme/chat",
        "--served-model-name=publishers/ml/models/acme/chat",
        "/mnt/models",
    ]


def test_a_change_in_a_script_is_a_change_of_the_arguments() -> None:
    """The control of the test above."""
    before = arguments(command=["sh", "-c", SCRIPT])
    assert arguments(command=["sh", "-c", SCRIPT.replace("PORT:-8000", "PORT:-8001")]) != before


def test_a_word_after_the_value_of_a_flag_belongs_to_no_flag() -> None:
    """Images of zerfoo have the model behind the port."""
    assert arguments(args=["serve", "--port", "8080", "acme/chat"]) == ["--port=8080", "acme/chat"]


def test_adapters_have_names() -> None:
    """Their folders are those of the system that fetches them."""
    quoted = ["--lora-modules", '\'{"name":"sql","path":"/mnt/lora/sql"}\'', '\'{"name":"code","path":"/mnt/b"}\'']
    assert arguments(args=quoted) == ["--lora-modules=code", "--lora-modules=sql"]
    assert arguments(args=["--lora-modules=sql=/adapters/sql"]) == ["--lora-modules=sql"]


def test_a_value_with_json_is_one_word_of_a_script() -> None:
    """A shell does not split what is in quotes, and a line may go on after its end."""
    script = 'exec vllm serve /models \\\n  --kv-events-config "$EVENTS"'
    env = [{"name": "EVENTS", "value": '{"a": 1, "b": 2}'}]
    assert arguments(command=["sh", "-c", script], env=env) == ['--kv-events-config={"a":1,"b":2}', "/models"]


@pytest.mark.parametrize(
    ("words", "is_engine", "is_picker"),
    [
        (["vllm", "serve", "/models"], True, False),
        (["--pool-name=chat", "--v=1"], False, True),
        (["--poolName", "chat"], False, True),
        (["sleep", "infinity"], False, False),
    ],
)
def test_words_tell_engines_from_pickers(words: list[str], is_engine: bool, is_picker: bool) -> None:  # noqa: FBT001
    """A container with the name of an engine may be a picker."""
    assert command_lines.is_engine({"args": words}) is is_engine
    assert command_lines.is_picker({"args": words}) is is_picker
