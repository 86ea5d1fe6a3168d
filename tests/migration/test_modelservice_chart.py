"""Values of the Helm chart llm-d-modelservice as configuration."""

from pathlib import Path as File
from typing import Any

import yaml

from cli.convert import PrintedConfiguration, convert
from migration import modelservice_chart, pods
from migration.files import documents

SAMPLE = File(__file__).with_name("samples") / "chart-values.yaml"


def _convert(text: str) -> PrintedConfiguration:
    return convert(documents(text, "values.yaml"), [], modelservice_chart.NAME, "ml")


def _stack(printed: PrintedConfiguration) -> dict[str, Any]:
    return yaml.safe_load(printed.text)["config"]["inference-stacks:stack"]


def _only(printed: PrintedConfiguration) -> dict[str, Any]:
    (service,) = _stack(printed)["services"].values()
    return service


def _values(model: str, container: str, rest: str = "") -> str:
    return f"modelArtifacts: {model}\n{rest}\nprefill: {{create: false}}\ndecode: {{containers: [{container}]}}\n"


def test_roles_and_model_are_carried() -> None:
    """The written sample has a value of nearly every kind."""
    stack = _stack(_convert(SAMPLE.read_text(encoding="utf-8")))
    service = stack["services"]["chat"]
    assert service["model"] == {
        "name": "acme/chat-7b",
        "source": "hf://acme/chat-7b",
        "secrets": ["hub"],
        "maxModelLen": 4096,
    }
    assert service["storage"] == {"type": "ephemeral", "sizeLimit": "20Gi", "mountPath": "/model-cache"}
    assert service["parallelism"] == {"tensor": 2, "data": 4, "dataLocal": 2}
    assert service["engine"]["args"] == ["--enforce-eager", "--collect-detailed-traces", "all"]
    assert service["sidecar"] == {"enginePort": 8300, "logLevel": "info", "flags": {"zap-encoder": "json"}}
    assert service["rollout"] == {"type": "RollingUpdate", "maxSurge": 1}
    pod = service["pod"]
    assert pod["claims"] == {"imex": {"template": "imex"}}
    assert pod["runtimeClassName"] == "nvidia"
    assert pod["fsGroup"] == 2000
    assert pod["schedulerName"] == "gang"
    assert "priorityClassName" not in pod
    assert "volumes" not in pod
    assert pod["containers"] == {"exporter": {"image": "ghcr.io/acme/exporter:v1"}}
    assert pod["affinity"]["nodeAffinity"]
    assert service["health"]["startupTimeout"] == "1800s"
    assert service["metrics"] == {"picker": False, "interval": "15s", "prefill": False}
    assert stack["observability"]["metrics"] == {"type": "prometheus-operator", "labels": {"release": "prometheus"}}
    assert stack["observability"]["tracing"]["endpoint"] == "http://collector:4317"
    assert service["prefill"]["parallelism"] == {"tensor": 4, "data": None, "dataLocal": None}
    assert service["prefill"]["engine"]["env"] == {"LEVEL": None}


def test_what_is_lost_is_noted_at_its_place() -> None:
    """A percentage, groups of pods, TLS of the sidecar, a time of the monitor, objects of others."""
    printed = _convert(SAMPLE.read_text(encoding="utf-8"))
    assert {str(note.path) for note in printed.notes if note.fate == "cannot"} == {
        "decode.strategy.rollingUpdate.maxUnavailable",
        "decode.subGroupPolicy",
        "decode.monitoring.podmonitor.scrapeTimeout",
        "routing.proxy.secure",
        "extraObjects",
    }
    assert {str(note.path) for note in printed.notes if note.fate == "ask"} == {"", "decode.autoscaling.enabled"}


def test_a_hub_cache_in_a_claim_is_read_by_the_engine_of_each_role() -> None:
    """The chart mounts the claim and names the cache, and so does the configuration."""
    text = """
modelArtifacts: {name: acme/chat, uri: "pvc+hf://weights/cache/acme/chat"}
decode: {replicas: 1, containers: [{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}]}
prefill: {replicas: 1, containers: [{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}]}
"""
    service = _only(_convert(text))
    assert service["model"]["source"] == "hf://acme/chat"
    assert service["storage"] == {"type": "engine"}
    for role in (service, service["prefill"]):
        assert role["engine"]["env"] == {"HF_HUB_CACHE": "/model-cache/cache"}
        assert role["pod"]["volumes"]["model-storage"]["claimName"] == "weights"


def test_a_claim_has_the_weights_at_a_path() -> None:
    """Prefill without replicas is no role."""
    text = """
modelArtifacts: {name: chat, uri: "pvc://weights/chat", size: 5Mi}
decode: {containers: [{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}]}
"""
    service = _only(_convert(text))
    assert service["model"]["source"] == "pvc://weights/chat"
    assert "prefill" not in service
    assert "sidecar" not in service


def test_devices_of_another_vendor_get_a_class() -> None:
    """The chart knows a resource of the vendor that this program does not know."""
    container = '{image: "ghcr.io/acme/vllm:v1", modelCommand: imageDefault}'
    text = _values("{name: acme/chat}", container, "accelerator: {type: rebellions-atom}")
    stack = _stack(_convert(text))
    assert stack["accelerators"]["rebellions-atom"] == {
        "vendor": "rebellions-atom",
        "allocation": {"type": "extended-resource", "resourceName": "rebellions.ai/ATOM"},
    }


def test_claims_of_devices_become_a_class() -> None:
    """Dynamic Resource Allocation names a device class and selectors."""
    claims = "{nvidia: {class: mig.nvidia.com, selectors: [{cel: {expression: 'true'}}], count: 3}}"
    container = '{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}'
    rest = f"accelerator: {{type: nvidia, dra: true, resourceClaimTemplates: {claims}}}"
    printed = _convert(_values("{name: acme/chat}", container, rest))
    allocation = _stack(printed)["accelerators"]["nvidia-claims"]["allocation"]
    assert allocation == {"type": "resource-claim", "deviceClassName": "mig.nvidia.com", "selectors": ["true"]}
    assert [str(note.path) for note in printed.notes if note.fate == "cannot"] == [
        "accelerator.resourceClaimTemplates.nvidia.count"
    ]


def test_a_simulator_gets_the_arguments_of_the_chart() -> None:
    """Arguments are generated for vLLM alone, and a simulator has no devices."""
    container = '{image: "ghcr.io/llm-d/llm-d-inference-sim:latest", modelCommand: imageDefault, args: [--mode, echo]}'
    service = _only(_convert(_values("{name: acme/chat}", container)))
    assert service["accelerator"] == "cpu"
    assert service["engine"]["image"] == f"ghcr.io/llm-d/llm-d-inference-sim:{pods.TO_WRITE}"
    assert service["engine"]["args"] == [
        *("--model", "acme/chat", "--port", "8000", "--served-model-name", "acme/chat", "--mode", "echo")
    ]


def test_a_command_of_the_users_own_that_starts_vllm_is_read_as_flags() -> None:
    """A script of one command is a command."""
    container = (
        '{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: custom, command: [/bin/sh, -c], '
        "args: ['exec vllm serve acme/chat --max-num-seqs 8 --enforce-eager']}"
    )
    engine = _only(_convert(_values("{name: acme/chat}", container)))["engine"]
    assert engine["maxNumSeqs"] == 8
    assert engine["args"] == ["--enforce-eager"]
    container = container.replace("exec vllm", "sleep 1; exec vllm")
    engine = _only(_convert(_values("{name: acme/chat}", container)))["engine"]
    assert engine["type"] == "custom"


def test_a_requester_is_lost() -> None:
    """No key lets a small pod hold the place of an engine."""
    container = '{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}'
    printed = _convert(_values("{name: acme/chat}", container, "requester: {enable: true}"))
    assert [str(note.path) for note in printed.notes if note.fate == "cannot"] == ["requester"]
