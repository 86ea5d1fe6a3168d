"""Each pod gets an engine at its address, with a link to the small model, and a list of what differs."""

import io
from types import SimpleNamespace

import pytest

from local.report import Report
from local.vllm import families, installation, model_servers
from local.vllm.deployments import EngineDeployment
from local.vllm.model_servers import ModelServers

ENGINE = EngineDeployment(
    "models",
    "chat",
    {"app": "chat"},
    1,
    "vllm/vllm-openai:v0.30.0",
    installation.version("0.30.0"),
    families.family("Qwen/Qwen3-0.6B"),
    "services.chat.engine.image",
)


@pytest.fixture
def started(monkeypatch):
    """Return the engines that are started and the models that are written; none of them is real."""
    rows = []
    monkeypatch.setattr(model_servers.EngineServer, "start", lambda server: rows.append((server,)))
    monkeypatch.setattr(model_servers.families, "write_model", lambda *arguments: rows.append(arguments))
    return rows


def pod(model="/models"):
    container = {
        "name": "vllm",
        "command": ["vllm", "serve"],
        "args": [model, "--port=8000"],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "volumeMounts": [{"name": "model", "mountPath": "/models"}],
    }
    return {
        "metadata": {"name": "chat-1", "namespace": "models"},
        "spec": {"containers": [container]},
        "status": {"podIP": "127.0.0.5"},
    }


@pytest.mark.parametrize(("model", "place"), [("/models", "root/models"), ("org/model", "org/model")])
def test_an_engine_is_started_at_the_address_of_its_pod(tmp_path, started, model, place):
    output = io.StringIO()
    servers = ModelServers(tmp_path)
    servers.start(ENGINE, [pod(model)], None, Report(output))
    (directory, family, version), (server,) = started
    assert (family, version) == (ENGINE.family, ENGINE.version)
    assert server.directory == tmp_path / "models.chat-1"
    assert (server.directory / place).readlink() == directory
    assert "--port=8000" in server.command.arguments
    assert "--host=127.0.0.5" in server.command.arguments
    assert server.command.environment["POD_IP"] == "127.0.0.5"
    printed = output.getvalue()
    for line in (
        "  --host=127.0.0.5: all pods of this machine share one network",
        f"{model_servers.MARK}: `make down`",
    ):
        assert line in printed
    assert printed.count("--enforce-eager") == 1
    assert "--port" not in printed


def test_a_variable_whose_optional_key_does_not_exist_is_left_out(tmp_path, started, quiet):
    row = pod()
    ref = {"name": "hub", "key": "token", "optional": True}
    label = {"fieldRef": {"fieldPath": "metadata.labels['absent']"}}
    row["spec"]["containers"][0]["env"] += [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": ref}},
        {"name": "LABEL", "valueFrom": label},
    ]
    ModelServers(tmp_path).start(ENGINE, [row], SimpleNamespace(get=lambda _: (404, b"{}")), quiet)
    environment = started[-1][0].command.environment
    assert "HF_TOKEN" not in environment
    assert environment["LABEL"] == ""
    assert environment["POD_IP"] == "127.0.0.5"


def test_files_of_an_earlier_run_are_replaced(tmp_path, started, quiet):
    for _ in range(2):
        ModelServers(tmp_path).start(ENGINE, [pod()], None, quiet)
        (tmp_path / "models.chat-1" / "engine.log").touch()
    assert len(started) == 4


def test_an_engine_is_named_in_the_explanation_of_an_answer(tmp_path, started, quiet, monkeypatch):
    monkeypatch.setattr(model_servers.EngineServer, "pid", 7)
    servers = ModelServers(tmp_path)
    servers.start(ENGINE, [pod()], None, quiet)
    (line,) = servers.explanation("127.0.0.5")
    assert line == f"Engine       vLLM 0.30.0, pid 7, log {tmp_path}/models.chat-1/engine.log"
    assert servers.explanation("127.0.0.6") == []


def test_the_memory_of_engines_of_an_earlier_run_is_that_of_their_processes(tmp_path, monkeypatch):
    rows = {tmp_path: [SimpleNamespace(megabytes=lambda: 2000.0), SimpleNamespace(megabytes=lambda: 500.0)]}
    monkeypatch.setattr(model_servers, "engine_processes", rows.__getitem__)
    assert ModelServers(tmp_path).megabytes() == 2500.0
