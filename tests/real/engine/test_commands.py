"""Mistakes in the renderer, each of which vLLM finds."""

import os
from pathlib import Path

import pytest

from local.vllm import server
from planning.releases.engine_versions import EngineVersion
from planning.serving import engine_arguments
from planning.variant import engine_environment
from tests.support.engine import mounts, prove, verdicts
from tests.support.engine.commands import distinct
from tests.support.engine.engines import free_address
from tests.support.engine.listing import VERSION
from tests.support.engine.preloaded import Preloaded
from tests.support.engine.shipped import ShippedContainer
from tests.support.known_flags import engines
from tests.support.stacks import rendered, tree
from tests.support.waits import eventually

pytestmark = pytest.mark.engine
SERVICE = {"model": {"name": "Qwen/Qwen3-0.6B", "source": "kit://registry.example/qwen3:0.6b"}, "prefill": {}}


@pytest.fixture(scope="module")
def judge():
    with prove.loaded(VERSION) as judge:
        yield judge


def prefill():
    """Return the command of a prefill pod as it is rendered now."""
    container = engines(rendered(tree(qwen=SERVICE)))[-1]
    (command,) = distinct([ShippedContainer("stack", container)])
    return command


def shared_memory(directory):
    """Return the paths of the memory that the processes of a judge share."""
    maps = [Path(f"/proc/{process.pid}/maps") for process in server.engine_processes(directory)]
    lines = [line for path in maps if path.exists() for line in path.read_text().splitlines()]
    return {Path(line.split()[-1]) for line in lines if "/dev/shm/psm_" in line and "(deleted)" not in line}


def test_nothing_of_a_killed_engine_stays_behind(tmp_path):
    command = prefill()
    process = command.process(VERSION, tmp_path / "root", free_address(8200))
    mounts.fill(process.arguments[2:], command.family, VERSION, tmp_path / "root")
    environment = {"PATH": f"{VERSION.program.parent}:{os.defpath}", **process.environment}
    Path(environment["HOME"]).mkdir(parents=True)
    directory = tmp_path / "judge"
    with Preloaded(VERSION, directory) as preloaded:
        temporary = Path(preloaded.mark["TMPDIR"])
        pid = preloaded.start([*process.arguments[2:]], environment, tmp_path, tmp_path / "engine.log")
        eventually(lambda: shared_memory(directory) and [*temporary.iterdir()], pause=0.05)
        memory = shared_memory(directory)
        preloaded.kill(pid)
        assert [path for path in memory if path.exists()] == []
    assert not temporary.exists()
    assert server.engine_processes(directory) == []


def trust_renderer(monkeypatch):
    """Let no table of names refuse or leave out what is rendered, so that vLLM alone can find it."""
    for name in ("knows_flag", "knows_variable", "knows_value"):
        monkeypatch.setattr(EngineVersion, name, lambda *_: True)


def seed_flag(monkeypatch):
    seed_arguments(monkeypatch, lambda text: text.replace("utilization", "utilisation"))


def seed_port(monkeypatch):
    seed_arguments(monkeypatch, lambda text: "--port=8001" if text.startswith("--port=") else text)


def seed_arguments(monkeypatch, change):
    arguments = engine_arguments._arguments
    monkeypatch.setattr(
        engine_arguments, "_arguments", lambda context, **further: map(change, arguments(context, **further))
    )


def seed_variable(monkeypatch):
    connection = engine_environment.connection
    seeded = {"VLLM_HTTP_TIMEOUT_KEEPALIVE": "3630"}
    monkeypatch.setattr(engine_environment, "connection", lambda *arguments: connection(*arguments) | seeded)


def seed_json_value(monkeypatch):
    write = engine_arguments._json
    monkeypatch.setattr(engine_arguments, "_json", lambda value: write(value).replace("kv_both", "kv_all"))


def test_vllm_starts_the_command_as_it_is_rendered(judge):
    verdict = judge.verdict(prefill())
    assert (verdict.verdict, verdict.refusals) == (verdicts.STARTED, ())


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (seed_flag, "unrecognized arguments: --gpu-memory-utilisation=0.9"),
        (seed_variable, "unknown variable VLLM_HTTP_TIMEOUT_KEEPALIVE"),
        (seed_json_value, "kv_role"),
        (seed_port, "vLLM listens on 8001, and the startupProbe asks 8000"),
    ],
    ids=["flag", "variable", "JSON value", "port"],
)
def test_vllm_finds_a_mistake_in_the_renderer(judge, monkeypatch, seed, words):
    trust_renderer(monkeypatch)
    seed(monkeypatch)
    verdict = judge.verdict(prefill())
    assert verdict.verdict == verdicts.REFUSED
    assert words in "; ".join(verdict.refusals)
