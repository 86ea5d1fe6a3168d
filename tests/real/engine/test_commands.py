"""Mistakes in the renderer, each of which vLLM finds."""

import pytest

from planning.serving import engine_arguments
from planning.variant import api_server, engine_environment
from tests.support.engine import prove, verdicts
from tests.support.engine.commands import distinct
from tests.support.engine.listing import VERSION
from tests.support.engine.shipped import ShippedContainer
from tests.support.known_flags import engines
from tests.support.stacks import rendered, tree

pytestmark = pytest.mark.engine
SERVICE = {"model": {"name": "Qwen/Qwen3-0.6B", "source": "kit://registry.example/qwen3:0.6b"}, "prefill": {}}


@pytest.fixture(scope="module")
def judge():
    with prove.loaded(VERSION) as judge:
        yield judge


def prefill():
    """Return the command of a prefill pod as it is rendered now."""
    containers = [ShippedContainer("stack", container) for container in engines(rendered(tree(qwen=SERVICE)))]
    return next(row for row in distinct(containers) if "--port=8000" in row.container["args"])


def seeded_flag(monkeypatch):
    monkeypatch.setattr(api_server, "SHUTDOWN_TIMEOUT", "--shutdown-timeuot")


def seeded_variable(monkeypatch):
    connection = engine_environment.connection
    seeded = {"VLLM_HTTP_TIMEOUT_KEEPALIVE": "3630"}
    monkeypatch.setattr(engine_environment, "connection", lambda *arguments: connection(*arguments) | seeded)


def seeded_json_value(monkeypatch):
    write = engine_arguments._json
    monkeypatch.setattr(engine_arguments, "_json", lambda value: write(value).replace("kv_both", "kv_all"))


def seeded_port(monkeypatch):
    values = engine_arguments._flag_values
    monkeypatch.setattr(
        engine_arguments,
        "_flag_values",
        lambda context: ((flag, 8001 if flag == "port" else value) for flag, value in values(context)),
    )


def test_vllm_starts_the_command_as_it_is_rendered(judge):
    verdict = judge.verdict(prefill())
    assert (verdict.verdict, verdict.refusals) == (verdicts.STARTED, ())


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (seeded_flag, "unrecognized arguments: --shutdown-timeuot="),
        (seeded_variable, "unknown variable VLLM_HTTP_TIMEOUT_KEEPALIVE"),
        (seeded_json_value, "kv_role"),
        (seeded_port, "vLLM listens on 8001, and the startupProbe asks 8000"),
    ],
    ids=["flag", "variable", "JSON value", "port"],
)
def test_vllm_finds_a_mistake_in_the_renderer(judge, monkeypatch, seed, words):
    command = prefill()
    seed(monkeypatch)
    containers = [ShippedContainer("stack", container) for container in engines(rendered(tree(qwen=SERVICE)))]
    seeded = [row for row in distinct(containers) if row.sha256 != command.sha256]
    refusals = [text for row in seeded for text in judge.verdict(row).refusals]
    assert any(words in text for text in refusals), refusals
