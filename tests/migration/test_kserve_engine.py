"""Engines of LLMInferenceServices."""

import json
from typing import Any

import pytest

from cli.convert import PrintedConfiguration
from tests.support.migration import llm_service, objects, only_service, places, stack

SECRET = "hunter2-Correct"


def test_claims_of_devices_become_a_class() -> None:
    """KServe claims devices by annotations of the service."""
    annotations = (
        "{serving.kserve.io/exp-dra-device-class: gpu.nvidia.com, serving.kserve.io/exp-dra-device-count: '2', "
        "serving.kserve.io/exp-dra-cel-selector: \"device.attributes['gpu.nvidia.com']['type'] == 'A100'\"}"
    )
    configuration = stack(objects(llm_service("  model: {uri: 'hf://acme/chat'}\n", annotations=annotations)))
    assert configuration["services"]["chat"]["accelerator"] == "chat-devices"
    assert configuration["services"]["chat"]["parallelism"] == {"tensor": 2}
    assert configuration["accelerators"]["chat-devices"]["allocation"]["selectors"] == [
        "device.attributes['gpu.nvidia.com']['type'] == 'A100'"
    ]


def test_workers_that_differ_from_the_first_pod_are_noted() -> None:
    """Here all pods of a replica have one template."""
    spec = """
  model: {uri: "hf://acme/chat"}
  parallelism: {data: 2, dataLocal: 1}
  template:
    containers:
      - name: main
        env: [{name: A, value: "1"}, {name: B, value: "1"}]
        resources: {limits: {nvidia.com/gpu: 1}}
  worker:
    containers:
      - name: main
        env: [{name: B, value: "2"}, {name: A, value: "1"}]
        resources: {limits: {nvidia.com/gpu: 1}}
"""
    assert places(objects(llm_service(spec)), "cannot") == {"spec.worker.containers[0].env[0].value"}


def test_an_unknown_program_runs_as_it_is() -> None:
    """A simulator of engines is no vLLM."""
    spec = """
  model: {uri: "hf://acme/chat"}
  template:
    containers: [{name: main, image: "ghcr.io/acme/sim:v1", command: [/app/sim], args: ["--block-size", "16"]}]
"""
    service = stack(objects(llm_service(spec)))["services"]["chat"]
    assert service["engine"]["type"] == "custom"
    assert service["engine"]["args"] == ["--block-size", "16"]


def test_tiers_of_the_cache_get_volumes() -> None:
    """The second tier is a folder that ends with the pod, and the third one a claim."""
    spec = """
  model: {uri: "hf://acme/chat"}
  kvCacheOffloading:
    cpu: 10Gi
    secondary: [{fileSystem: {emptyDir: {size: 1Gi}}}, {fileSystem: {pvc: {ref: {name: blocks, path: chat}}}}]
  template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
    service = stack(objects(llm_service(spec)))["services"]["chat"]
    assert service["kvCache"]["tiers"] == [
        {"type": "cpu", "size": "10Gi"},
        {"type": "file-system", "volume": "kv-cache-0"},
        {"type": "file-system", "volume": "kv-cache-1"},
    ]
    assert service["pod"]["volumes"]["kv-cache-1"] == {
        "mountPath": "/mnt/kv-cache-1",
        "type": "claim",
        "claimName": "blocks",
        "subPath": "chat",
    }


def test_an_engine_that_calls_kserves_picker_is_asked_about() -> None:
    """The Service goes with KServe's object. Events of the cache are a key."""
    arguments = "--kv-events-config '{}' --reporter tcp://chat-epp-service:5557"
    spec = f"""
  model: {{uri: "hf://acme/chat"}}
  template: {{containers: [{{name: main, env: [{{name: VLLM_ADDITIONAL_ARGS, value: "{arguments}"}}]}}]}}
"""
    printed = objects(llm_service(spec))
    assert stack(printed)["services"]["chat"]["kvCache"] == {"events": True}
    assert any("chat-epp-service" in note.reason for note in printed.notes if note.fate == "ask")


def program(*command: str, arguments: list[Any] | None = None, **variables: str) -> PrintedConfiguration:
    """Convert a service whose engine has a command, arguments and variables."""
    env = [{"name": name, "value": value} for name, value in variables.items()]
    engine = {"name": "main", "image": "acme/vllm:v1", "command": list(command), "args": arguments or [], "env": env}
    spec = {"model": {"uri": "hf://acme/chat", "name": "chat"}, "template": {"containers": [engine]}}
    return objects(llm_service("".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items())))


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (["vllm", "serve", "acme/chat"], ["--seed", "1"]),
        (["/usr/local/bin/vllm", "serve", "acme/chat", "--seed", "1"], []),
        (["python", "-m", "vllm.entrypoints.openai.api_server"], ["--model", "acme/chat", "--seed", "1"]),
        (["/opt/venv/bin/python3.12", "-m", "vllm.entrypoints.openai.api_server", "--seed", "1"], []),
        (["/bin/bash", "-ec", "exec vllm serve acme/chat \\\n  --seed $SEED"], []),
    ],
)
def test_a_command_that_starts_vllm_is_read(command: list[str], arguments: list[str]) -> None:
    """It does so by any path, and by a script of one command."""
    printed = program(*command, arguments=arguments, SEED="1")
    assert only_service(printed)["engine"]["args"] == ["--seed", "1"]
    assert "type" not in only_service(printed)["engine"]
    assert places(printed, "cannot") == set()


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ('vllm serve "$@"', ["--", "--seed", "1"]),
        ("vllm serve acme/chat", ["--seed", "1"]),
        ("vllm serve acme/chat --chat-template=$FOLDER/chat.jinja", []),
        ("vllm serve acme/chat --seed $UNKNOWN", []),
        ("warm-up; vllm serve acme/chat", []),
    ],
)
def test_a_script_that_a_shell_has_to_expand_stays_a_script(script: str, arguments: list[str]) -> None:
    """Its words are not arguments yet, and words after the script are its own."""
    engine = only_service(program("sh", "-c", script, arguments=arguments, FOLDER="/files"))["engine"]
    assert engine["type"] == "custom"
    assert [*engine["command"], *engine.get("args", [])] == ["sh", "-c", script, *arguments]


def test_a_value_of_a_script_may_hold_what_kubernetes_expands() -> None:
    """No shell expands it, so the script is read: here with events of the KV cache, which become a key."""
    events = '{"enable_kv_cache_events": true, "topic": "kv@$(POD_IP)@chat"}'
    service = only_service(program("sh", "-c", 'vllm serve acme/chat --kv-events-config "$EVENTS"', EVENTS=events))
    assert "type" not in service["engine"]
    assert service["kvCache"]["events"] is True


def test_a_model_in_the_command_that_is_another_one_is_lost_with_a_note() -> None:
    """One that is the same needs no note."""
    assert places(program("vllm", "serve", "acme/code"), "cannot") == {"spec.template.containers[0].command[2]"}
    assert places(program("sh", "-c", "vllm serve acme/code"), "cannot") != set()
    assert places(program("sh", "-c", "vllm serve acme/chat"), "cannot") == set()


@pytest.mark.parametrize(
    ("command", "arguments", "shown"),
    [
        (["serve.py"], ["--api-key", SECRET, "--seed", "1"], ["serve.py", "--seed", "1"]),
        (["serve.py"], ["--seed", "1", f"--api-key={SECRET}"], ["serve.py", "--seed", "1"]),
        (["sh", "-c", f"warm-up; serve --api-key {SECRET}"], ["--", "x"], []),
        (["sh", "-c"], [f"warm-up; serve --api-key {SECRET}"], []),
    ],
)
def test_a_flag_goes_with_its_credential(command: list[str], arguments: list[str], shown: list[str]) -> None:
    """A program of which a part is a credential goes as a whole."""
    printed = program(*command, arguments=arguments)
    engine = only_service(printed)["engine"]
    assert [*engine.get("command", []), *engine.get("args", [])] == shown
    assert SECRET not in "\n".join([printed.text, *map(str, printed.notes)])
    assert places(printed, "cannot") != set()


SERVERS = "env: [{name: VLLM_API_SERVER_COUNT, value: VALUE}], resources: {limits: {nvidia.com/gpu: 1}}"
SCRIPT = 'command: [bash, -c, "eval \\"vllm serve /m --served-model-name a REST ${VLLM_ADDITIONAL_ARGS}\\""], '
COUNT = "--api-server-count ${VLLM_API_SERVER_COUNT:-8}"


def servers(value: str, parallelism: str, command: str = "") -> PrintedConfiguration:
    """Convert a service with workers whose engine has the variable for the number of HTTP servers."""
    container = f"{{name: main, {command}{SERVERS.replace('VALUE', value)}}}"
    return objects(
        llm_service(
            f"  model: {{uri: 'hf://acme/chat'}}\n  parallelism: {{{parallelism}}}\n"
            f"  template: {{containers: [{container}]}}\n  worker: {{containers: [{container}]}}\n"
        )
    )


@pytest.mark.parametrize(
    ("parallelism", "command"), [("data: 2, dataLocal: 1", ""), ("pipeline: 2", SCRIPT.replace("REST", COUNT))]
)
def test_the_number_of_servers_is_an_argument_as_in_the_script_of_kserve(parallelism: str, command: str) -> None:
    """KServe takes the script for data parallelism, or a config states it."""
    printed = servers("'3'", parallelism, command)
    assert only_service(printed)["engine"] == {"args": ["--api-server-count=3"]}
    assert places(printed, "cannot") == set()


@pytest.mark.parametrize("command", ["", SCRIPT.replace("REST", "")])
def test_the_number_of_servers_means_nothing_to_other_scripts(command: str) -> None:
    """No other script reads the variable, and vLLM does not either."""
    printed = servers("'3'", "pipeline: 2", command)
    assert "engine" not in only_service(printed)
    assert "spec.template.containers[0].env[0]" in places(printed, "dropped")


def test_a_number_of_servers_that_is_none_is_lost_with_a_note() -> None:
    """The engine would refuse it."""
    printed = servers("many", "data: 2, dataLocal: 1")
    assert "spec.template.containers[0].env[0]" in places(printed, "cannot")
    assert "engine" not in only_service(printed)
