"""Roles in values of the Helm chart llm-d-modelservice."""

from migration import pods
from tests.support.migration import chart, chart_values, only_service, stack


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
