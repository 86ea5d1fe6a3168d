"""OtterScale's ModelService, its serving pods: what we adopt of them, and where we deviate.

Names begin with the section that is adopted (3.2 to 3.10). `docs/deviations.md` lists where we differ on purpose.
"""

import re

import pytest

from tests.support.stacks import PIN, find, rendered, tree
from tests.support.stacks.otterscale import deployment, kind, pod
from tests.support.stacks.shapes import (
    EVERY,
    containers,
    engine,
    every_rendering,
    fetching,
    flag,
    serving,
    sidecars,
    templates,
    told,
    values,
)


def test_3_2_names_and_ports_are_theirs():
    everything = rendered(tree(qwen={"prefill": {}}))
    pool = find(everything, "InferencePool", "qwen")
    base = pool["metadata"]["name"]
    assert re.fullmatch(r"qwen-[0-9a-f]{5}", base)
    assert {workload["metadata"]["name"] for workload in kind(everything, "Deployment")} == {
        f"{base}-decode", f"{base}-prefill", f"{base}-epp",
    }  # fmt: skip
    assert {workload["metadata"]["name"] for workload in kind(rendered(tree()), "Deployment")} == {
        "qwen-decode",
        "qwen-epp",
    }
    assert pool["spec"]["targetPorts"] == [{"number": 8000}]
    decode, prefill = (pod({"prefill": {}}, role) for role in ("decode", "prefill"))
    assert [port["containerPort"] for port in engine(prefill)["ports"]] == [8000]
    assert [port["containerPort"] for port in sidecars(decode)[0]["ports"]] == [8000]
    assert [port["containerPort"] for port in engine(decode)["ports"]] == [8200]
    assert sidecars(prefill) == []


def test_3_2_selectors_hold_our_identity_where_theirs_hold_the_model():
    workload = deployment({"labels": {"team": "search"}})
    assert workload["spec"]["selector"]["matchLabels"] == {
        "inference-stacks.io/service": "qwen",
        "inference-stacks.io/variant": "primary",
        "inference-stacks.io/role": "decode",
    }
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert labels["llm-d.ai/role"] == "decode"
    assert labels["llm-d.ai/inferenceServing"] == labels["llm-d.ai/inference-serving"] == "true"


def test_3_4_kit_unpacks_before_everything_else_and_only_the_model():
    template = pod({"prefill": {}})
    assert [container["name"] for container in template["spec"]["initContainers"]] == ["model-unpack", "routing-proxy"]
    (kit,) = fetching(template)
    mount = engine(template)["volumeMounts"][0]
    assert kit["command"] == [
        "kit", "unpack", f"registry.example/org/model@{PIN}", "-o", "-d", mount["mountPath"], "--filter=model",
    ]  # fmt: skip
    assert mount == {"name": "model", "mountPath": "/models", "readOnly": True}
    assert engine(template)["args"][0] == "/models"


def test_3_4_no_volume_is_left_that_nothing_fills():
    """See otterscale 3.5."""
    for name in ("claim", "inside-the-image"):
        (template,) = serving(rendered(EVERY[name]))
        mounted = {mount["name"] for mount in engine(template)["volumeMounts"]}
        assert {volume["name"] for volume in template["spec"]["volumes"]} == mounted


def test_3_7_the_sidecar_is_a_native_one_with_probe_and_resources():
    (proxy,) = sidecars(pod({"prefill": {}}))
    assert proxy["restartPolicy"] == "Always"
    assert proxy["startupProbe"]["httpGet"]["port"] == 8000
    assert {"requests", "limits"} == proxy["resources"].keys()
    assert proxy["args"][:4] == [
        "--port=8000", "--model-server-port=8200", "--kv-connector=nixlv2", "--secure-proxy=false",
    ]  # fmt: skip
    assert [port["name"] for port in proxy["ports"]] == ["http"]


def test_3_8_arguments_are_single_tokens_and_parallelism_is_said_above_one_only():
    container = engine(pod({}))
    assert container["command"] == ["vllm", "serve"]
    assert container["name"] == "vllm"
    assert flag(container, "--served-model-name") == "org/model"
    assert flag(container, "--port") == "8000"
    assert not any("parallel" in argument for argument in container["args"])
    spread = engine(pod({"parallelism": {"tensor": 2, "data": 3}}))
    assert (flag(spread, "--tensor-parallel-size"), flag(spread, "--data-parallel-size")) == ("2", "3")
    assert all(argument.startswith("--") for argument in spread["args"][1:])


def test_3_8_the_users_arguments_and_variables_come_last():
    container = engine(pod({"engine": {"args": ["--enforce-eager", "--seed=1"], "env": {"A": "1", "B": "2"}}}))
    assert container["args"][-2:] == ["--enforce-eager", "--seed=1"]
    assert [variable["name"] for variable in container["env"]][-2:] == ["A", "B"]
    assert not {"TP_SIZE", "DP_SIZE", "DP_SIZE_LOCAL"} & values(container).keys()


def test_3_8_the_side_channel_is_the_pods_own_address_and_no_port_of_it_is_said():
    container = engine(pod({"prefill": {}, "engine": {"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5600"}}}))
    assert values(container)["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$(POD_IP)"
    assert [port["name"] for port in container["ports"]] == ["engine"]


@every_rendering
def test_3_8_every_container_is_restricted(everything):
    for template in templates(everything):
        context = template["spec"]["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(template):
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            sealed = container["securityContext"].get("readOnlyRootFilesystem", False)
            assert sealed == (container["name"] not in {"vllm", "engine"})


@pytest.mark.parametrize(
    ("accelerator", "resource"),
    [
        ("nvidia", "nvidia.com/gpu"),
        ("amd", "amd.com/gpu"),
        ("intel-gaudi", "habana.ai/gaudi"),
        ("google", "google.com/tpu"),
        ("cpu", None),
    ],
)
def test_3_9_devices_are_in_requests_and_limits_and_never_the_users_to_say(accelerator, resource):
    service = {"accelerator": accelerator, "engine": {"image": "registry.example/engine:v1"}}
    resources = engine(pod({**service, "parallelism": {"tensor": 2}}))["resources"]
    devices = {name: resources[group][name] for group in resources for name in resources[group] if "/" in name}
    assert devices == ({} if resource is None else {resource: "2"})
    assert resources["requests"].keys() - {"cpu", "memory"} == devices.keys()
    if resource is not None:
        assert resources["requests"][resource] == resources["limits"][resource]
        (message,) = told(tree(qwen={**service, "resources": {"limits": {resource: "4"}}}))
        assert message.startswith(f"services.qwen.resources.limits: sets a device that parallelism decides ({resource}")


def test_3_10_nodes_of_the_class_are_asked_for_and_their_taint_tolerated():
    template = pod({"accelerator": "nvidia-h100-80gb", "pod": {"tolerations": [{"key": "mine", "operator": "Exists"}]}})
    assert [toleration["key"] for toleration in template["spec"]["tolerations"]] == ["nvidia.com/gpu", "mine"]
    required = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"][0]["key"] == "nvidia.com/gpu.product"
