"""Roles in values of the Helm chart llm-d-modelservice."""

import pytest

from cli.convert import compare
from migration import pods
from migration.files import documents
from tests.support.migration import chart, chart_values, only_service, places, stack


def test_devices_of_another_vendor_get_a_class() -> None:
    """The chart knows a resource of the vendor that this program does not know."""
    container = '{image: "ghcr.io/acme/vllm:v1", modelCommand: imageDefault}'
    text = chart_values(container, "accelerator: {type: rebellions-atom}")
    configuration = stack(chart(text))
    assert configuration["accelerators"]["rebellions-atom"] == {
        "vendor": "rebellions-atom",
        "allocation": {"type": "extended-resource", "resourceName": "rebellions.ai/ATOM"},
    }


def test_claims_of_devices_become_a_class() -> None:
    """Dynamic Resource Allocation names a device class and selectors."""
    claims = "{nvidia: {class: mig.nvidia.com, selectors: [{cel: {expression: 'true'}}], count: 3}}"
    container = '{image: "ghcr.io/acme/vllm:v0.26.0", modelCommand: vllmServe}'
    rest = f"accelerator: {{type: nvidia, dra: true, resourceClaimTemplates: {claims}}}"
    printed = chart(chart_values(container, rest))
    allocation = stack(printed)["accelerators"]["nvidia-claims"]["allocation"]
    assert allocation == {"type": "resource-claim", "deviceClassName": "mig.nvidia.com", "selectors": ["true"]}
    assert [str(note.path) for note in printed.notes if note.fate == "cannot"] == [
        "accelerator.resourceClaimTemplates.nvidia.count"
    ]


def test_a_simulator_gets_the_arguments_of_thechart() -> None:
    """Arguments are generated for vLLM alone, and a simulator has no devices."""
    container = '{image: "ghcr.io/llm-d/llm-d-inference-sim:latest", modelCommand: imageDefault, args: [--mode, echo]}'
    service = only_service(chart(chart_values(container)))
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
    engine = only_service(chart(chart_values(container)))["engine"]
    assert engine["maxNumSeqs"] == 8
    assert engine["args"] == ["--enforce-eager"]
    container = container.replace("exec vllm", "sleep 1; exec vllm")
    engine = only_service(chart(chart_values(container)))["engine"]
    assert engine["type"] == "custom"


VALUES = """
modelArtifacts: {name: acme/chat, uri: "pvc://weights/chat"}
accelerator: {type: nvidia}
routing: {proxy: {enabled: false}}
prefill: {create: false}
decode:
  replicas: 2
  nodeSelector: {zone: a}
  parallelism: {tensor: 2}
  containers:
    - image: ghcr.io/acme/vllm:v0.26.0
      modelCommand: vllmServe
      args: [--enforce-eager]
      env: [{name: LEVEL, value: debug}]
      extraConfig: {livenessProbe: {httpGet: {path: /alive, port: 8000}}}
"""
RENDERED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat-llm-d-modelservice-decode}
spec:
  replicas: 2
  template:
    metadata: {labels: {llm-d.ai/role: decode}}
    spec:
      nodeSelector: {zone: a}
      containers:
        - name: vllm
          image: ghcr.io/acme/vllm:v0.26.0
          command: [vllm, serve]
          args:
            - /model-cache/chat
            - --port
            - "8000"
            - --tensor-parallel-size
            - "2"
            - --served-model-name
            - acme/chat
            - --enforce-eager
          env:
            - {name: LEVEL, value: debug}
            - {name: DP_SIZE, value: "1"}
            - {name: TP_SIZE, value: "2"}
            - {name: DP_SIZE_LOCAL, value: "1"}
          livenessProbe: {httpGet: {path: /alive, port: 8000}}
          resources: {limits: {nvidia.com/gpu: "2"}}
"""


def _unannounced(rendered: str) -> list[str]:
    """Return the differences from what the chart renders that no note and no table announces."""
    compared = compare(chart(VALUES), documents(rendered, "rendered.yaml"))
    return [str(difference) for difference in compared.surprising]


def test_pods_serve_as_those_of_the_chart() -> None:
    """Image, arguments, variables, devices, replicas, probes and placement are those that the chart renders."""
    assert _unannounced(RENDERED) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vllm:v0.26.0", "vllm:v0.27.0"),
        ("- --enforce-eager", "- --disable-cascade-attn"),
        ("value: debug", "value: info"),
        ('nvidia.com/gpu: "2"', 'nvidia.com/gpu: "4"'),
        ("replicas: 2", "replicas: 3"),
        ("path: /alive", "path: /health"),
        ("zone: a", "zone: b"),
    ],
)
def test_a_change_of_what_serves_is_found(before: str, after: str) -> None:
    """The control: a rendering with one other value is not the same."""
    assert before in RENDERED
    assert _unannounced(RENDERED.replace(before, after)) != []


def test_an_affinity_of_the_users_own_is_not_overwritten() -> None:
    """A pod has one affinity."""
    affinity = "{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}"
    types = "acceleratorTypes: {labelKey: product, labelValues: [A100]}"
    text = f"""
modelArtifacts: {{name: acme/chat}}
prefill: {{create: false}}
decode: {{{types}, extraConfig: {{affinity: {affinity}}}, containers: [{{name: vllm, modelCommand: vllmServe}}]}}
"""
    printed = chart(text)
    assert only_service(printed)["pod"]["affinity"] == {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}
    }
    assert "decode.acceleratorTypes" in places(printed, "cannot")


def test_a_selector_of_another_kind_is_lost_with_a_note() -> None:
    """Expressions of CEL are carried, and nothing else."""
    template = "{class: gpu.nvidia.com, selectors: [{cel: {expression: a}}, {other: b}]}"
    devices = f"accelerator: {{type: nvidia, dra: true, resourceClaimTemplates: {{nvidia: {template}}}}}"
    printed = chart(chart_values("{name: vllm, modelCommand: vllmServe}", devices))
    assert "accelerator.resourceClaimTemplates.nvidia.selectors[1].other" in places(printed, "cannot")


def test_the_monitors_of_both_roles_have_one_interval() -> None:
    """That of decode counts."""
    monitors = "monitoring: {podmonitor: {enabled: true, interval: %s}}, containers: [{modelCommand: vllmServe}]"
    text = (
        f"modelArtifacts: {{name: a/b}}\ndecode: {{{monitors % '10s'}}}\nprefill: {{replicas: 1, {monitors % '20s'}}}\n"
    )
    printed = chart(text)
    assert only_service(printed)["metrics"]["interval"] == "10s"
    assert "prefill.monitoring.podmonitor.interval" in places(printed, "cannot")
