"""LLMInferenceServices as configuration."""

from pathlib import Path as File
from typing import Any

import yaml

from cli.convert import PrintedConfiguration, convert
from migration.files import documents

SAMPLES = File(__file__).with_name("samples")
CONFIG = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: shared}
spec:
  template:
    containers:
      - name: main
        image: ghcr.io/acme/vllm:v0.25.0
        command: [/bin/sh, -c]
        args:
          - >-
            vllm serve /mnt/models --served-model-name "{{ .Spec.Model.Name }}" --max-num-seqs 64 $VLLM_ADDITIONAL_ARGS
        env: [{name: LEVEL, value: info}]
  router:
    scheduler: {config: {ref: {name: picker, key: config}}}
"""
PICKER = """
apiVersion: v1
kind: ConfigMap
metadata: {name: picker}
data:
  config: |
    plugins: [{type: single-profile-handler}, {type: queue-scorer}, {type: max-score-picker}]
    schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}, {pluginRef: max-score-picker}]}]
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: inferenceservice-config, namespace: kserve}
data:
  ingress: '{"kserveIngressGateway": "kserve/ingress-gateway"}'
"""


def _service(spec: str, name: str = "chat", annotations: str = "{}") -> str:
    return (
        "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\n"
        f"metadata: {{name: {name}, namespace: ml, annotations: {annotations}}}\nspec:\n{spec}"
    )


def _convert(text: str, *companions: str) -> PrintedConfiguration:
    beside = [document for companion in companions for document in documents(companion, "beside.yaml")]
    return convert(documents(text, "chat.yaml"), beside)


def _stack(printed: PrintedConfiguration) -> dict[str, Any]:
    return yaml.safe_load(printed.text)["config"]["inference-stacks:stack"]


def _fates(printed: PrintedConfiguration, fate: str) -> set[str]:
    return {str(note.path) for note in printed.notes if note.fate == fate}


def test_roles_placement_and_privileges_are_carried() -> None:
    """The written sample has a field of nearly every kind."""
    printed = convert(documents((SAMPLES / "kserve-roles.yaml").read_text(encoding="utf-8"), "chat.yaml"))
    stack = _stack(printed)
    service = stack["services"]["chat"]
    assert stack["namespace"] == "ml"
    assert stack["gateway"] == {"name": "public", "namespace": "gateways", "sectionName": "https", "provider": "none"}
    assert stack["observability"]["tracing"]["endpoint"] == "http://collector:4317"
    assert service["route"]["matches"] == [{"path": "/ml/chat"}]
    assert service["model"] == {
        "source": "hf://acme/chat-7b",
        "name": "acme/chat",
        "maxModelLen": 4096,
        "secrets": [{"name": "hub", "key": "token"}],
        "lora": {
            "adapters": {"sql": {"source": "hf://acme/sql"}},
            "maxRank": 32,
            "maxAdapters": 2,
            "maxCpuAdapters": 4,
        },
    }
    assert service["engine"] == {
        "image": "ghcr.io/acme/vllm:v0.26.0",
        "args": ["--enforce-eager"],
        "env": {"LEVEL": "debug"},
    }
    assert service["resources"] == {"limits": {"cpu": "8", "memory": "64Gi", "rdma/nic": "1"}}
    pod = service["pod"]
    assert pod["sharedMemory"] == "16Gi"
    assert pod["volumes"]["files"] == {
        "type": "config-map",
        "name": "files",
        "mountPath": "/etc/files",
        "readOnly": True,
    }
    assert pod["containers"]["beside"]["image"] == "docker.io/library/busybox:1.36"
    assert pod["initContainers"]["wait"]["args"] == ["--until", "ready"]
    assert pod["privileges"] == {"reason": "taken over from LLMInferenceService chat", "capabilities": ["IPC_LOCK"]}
    assert pod["labels"] == {"team": "search"}
    assert pod["annotations"] == {"note": "one", "k8s.v1.cni.cncf.io/networks": "fast"}
    assert service["kvCache"]["tiers"] == [
        {"type": "cpu", "size": "10Gi"},
        {"type": "file-system", "volume": "kv-cache-0"},
        {"type": "file-system", "volume": "kv-cache-1"},
    ]
    assert service["health"]["liveness"]["timeout"] == "10s"
    assert service["health"]["startupTimeout"] == "600s"
    assert service["health"]["startup"]["type"] == "tcp"
    assert service["rollout"] == {"type": "RollingUpdate", "maxSurge": 1}
    assert service["drainTimeout"] == "90s"
    picker = service["endpointPicker"]
    assert picker["flags"] == {"drain-timeout": "60s"}
    assert picker["resources"] == {"requests": {"cpu": "2"}}
    assert picker["containers"] == {"beside": {"image": "ghcr.io/acme/beside:v1"}}


def test_what_is_lost_is_noted_at_its_place() -> None:
    """An adapter in a claim, a percentage, a script for network cards, NFS, a command as a probe, other devices."""
    printed = convert(documents((SAMPLES / "kserve-roles.yaml").read_text(encoding="utf-8"), "chat.yaml"))
    lost = _fates(printed, "cannot")
    assert {path for path in lost if path.startswith("spec")} == {
        "spec.model.lora.adapters[1]",
        "spec.rolloutStrategy.maxUnavailable",
        "spec.template.containers[1].env[2]",
        "spec.template.containers[1].readinessProbe",
        "spec.template.containers[1].volumeMounts[2]",
        "spec.template.volumes[3]",
        "spec.prefill.template.containers[0].resources.limits.nvidia.com/gpu",
    }
    assert not printed.is_whole


def test_prefill_has_nothing_of_decode_alone() -> None:
    """Roles of KServe have nothing in common but the model."""
    printed = convert(documents((SAMPLES / "kserve-roles.yaml").read_text(encoding="utf-8"), "chat.yaml"))
    prefill = _stack(printed)["services"]["chat"]["prefill"]
    assert prefill["engine"] == {"image": "ghcr.io/acme/vllm:v0.26.0", "args": None, "env": {"LEVEL": None}}
    assert prefill["parallelism"] == {"tensor": 1}
    assert prefill["pod"]["privileges"]["capabilities"] is None
    assert "kv-cache-0" not in prefill["pod"]["volumes"]


def test_configs_are_merged_below_the_service() -> None:
    """The script of a config starts vLLM, and the service's variable adds arguments to it."""
    spec = """
  baseRefs: [{name: shared}]
  model: {uri: "pvc://weights/chat", name: acme/chat}
  router: {scheduler: {}}
  template:
    containers:
      - name: main
        env: [{name: VLLM_ADDITIONAL_ARGS, value: --enforce-eager}]
        resources: {limits: {amd.com/gpu: 1}}
"""
    service = _stack(_convert(_service(spec), CONFIG, PICKER))["services"]["chat"]
    assert service["engine"] == {
        "image": "ghcr.io/acme/vllm:v0.25.0",
        "maxNumSeqs": 64,
        "args": ["--enforce-eager"],
        "env": {"LEVEL": "info"},
    }
    assert service["accelerator"] == "amd"
    assert service["endpointPicker"]["preset"] == "custom"
    assert [plugin["type"] for plugin in service["endpointPicker"]["config"]["plugins"]][1] == "queue-scorer"
    asked = _fates(_convert(_service(spec)), "ask")
    assert "spec.baseRefs[0]" in asked


def test_the_gateway_of_the_installation_is_in_its_config_map() -> None:
    """`gateway: {}` means the Gateway of KServe's own settings."""
    spec = "  model: {uri: 'hf://acme/chat'}\n  router: {route: {}, gateway: {}, scheduler: {}}\n"
    assert "gateway" not in _stack(_convert(_service(spec)))
    assert _stack(_convert(_service(spec), SETTINGS))["gateway"] == {
        "name": "ingress-gateway",
        "namespace": "kserve",
        "provider": "none",
    }


def test_claims_of_devices_become_a_class() -> None:
    """KServe claims devices by annotations of the service."""
    annotations = (
        "{serving.kserve.io/exp-dra-device-class: gpu.nvidia.com, serving.kserve.io/exp-dra-device-count: '2', "
        "serving.kserve.io/exp-dra-cel-selector: \"device.attributes['gpu.nvidia.com']['type'] == 'A100'\"}"
    )
    stack = _stack(_convert(_service("  model: {uri: 'hf://acme/chat'}\n", annotations=annotations)))
    assert stack["services"]["chat"]["accelerator"] == "chat-devices"
    assert stack["services"]["chat"]["parallelism"] == {"tensor": 2}
    assert stack["accelerators"]["chat-devices"]["allocation"]["selectors"] == [
        "device.attributes['gpu.nvidia.com']['type'] == 'A100'"
    ]


def test_keda_scales_by_the_triggers_of_the_service() -> None:
    """Numbers of a formula are texts in KEDA's objects."""
    spec = """
  model: {uri: "hf://acme/chat"}
  scaling:
    minReplicas: 1
    maxReplicas: 4
    keda:
      pollingInterval: 15
      initialCooldownPeriod: 60
      triggers: [{type: prometheus, name: load, metadata: {serverAddress: "http://p:9090", query: up, threshold: "5"}}]
      fallback: {failureThreshold: 3, replicas: 2}
      advanced: {scalingModifiers: {formula: load + 1, target: "5"}}
"""
    printed = _convert(_service(spec))
    scaling = _stack(printed)["services"]["chat"]["autoscaling"]
    assert scaling["minReplicas"] == 1
    assert scaling["pollingInterval"] == "15s"
    assert scaling["metrics"][0]["spec"]["name"] == "load"
    assert scaling["scalingModifiers"] == {"formula": "load + 1", "target": 5.0}
    assert "spec.scaling.keda.initialCooldownPeriod" in _fates(printed, "cannot")


def test_a_stopped_service_has_no_pods() -> None:
    """KServe stops a service by an annotation."""
    text = _service("  model: {uri: 'hf://acme/chat'}\n  replicas: 3\n", annotations="{serving.kserve.io/stop: 'true'}")
    assert _stack(_convert(text))["services"]["chat"]["replicas"] == 0


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
    assert _fates(_convert(_service(spec)), "cannot") == {"spec.worker.containers[0].env[0].value"}


def test_an_unknown_program_runs_as_it_is() -> None:
    """A simulator of engines is no vLLM."""
    spec = """
  model: {uri: "hf://acme/chat"}
  template:
    containers: [{name: main, image: "ghcr.io/acme/sim:v1", command: [/app/sim], args: ["--block-size", "16"]}]
"""
    service = _stack(_convert(_service(spec)))["services"]["chat"]
    assert service["engine"]["type"] == "custom"
    assert service["engine"]["args"] == ["--block-size", "16"]


def test_an_unknown_field_is_noted() -> None:
    """A field that KServe itself drops is lost, too."""
    assert _fates(_convert(_service("  model: {uri: 'hf://acme/chat'}\n  workload: {cpu: 1}\n")), "cannot") == {
        "spec.workload.cpu"
    }
