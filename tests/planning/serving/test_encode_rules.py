"""Encode pods: arguments, memory and flows, and the versions of vLLM that know them."""

import pytest

from models.flags import json_object, parse
from models.problems import ConfigError
from tests.support.stacks import plan, rendered, tree

EC = "--ec-transfer-config"


def workloads(service):
    return {workload.role: workload for workload in plan(tree(qwen=service)).services[0].primary.workloads}


def transfer(workload):
    """Return the role of an engine in the transfer of outputs of encoders; None if it takes no part."""
    found = [json_object(flag) for flag in parse(workload.engine.arguments) if flag.switch == EC]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ({"encode": {}}, {"decode": "ec_consumer", "encode": "ec_producer"}),
        ({"encode": {}, "prefill": {}}, {"decode": None, "prefill": "ec_consumer", "encode": "ec_producer"}),
        ({"prefill": {}}, {"decode": None, "prefill": None}),
    ],
)
def test_encode_pods_send_to_the_pods_that_process_prompts(service, expected):
    roles = {name: transfer(workload) for name, workload in workloads(service).items()}
    assert {name: role and role["ec_role"] for name, role in roles.items()} == expected


def test_both_ends_keep_the_same_bytes_in_shared_memory():
    made = workloads({"encode": {"encoderCache": {"bytes": "6Gi"}}})
    for workload in made.values():
        assert transfer(workload)["ec_connector_extra_config"] == {"ec_enable_nixl": True, "ec_cpu_bytes": 6 * 2**30}
        assert workload.shared_memory == "14Gi"
    assert workloads({"prefill": {}})["decode"].shared_memory == "8Gi"


def test_encode_pods_run_the_encoder_alone_and_exchange_no_kv_cache():
    encode = workloads({"encode": {}, "prefill": {}, "kvCache": {"events": True}})["encode"]
    flags = {flag.switch for flag in parse(encode.engine.arguments)}
    assert "--mm-encoder-only" in flags
    assert not flags & {"--kv-transfer-config", "--kv-events-config"}
    assert encode.engine.events_ports == ()
    variables = {variable.name for variable in encode.engine.env}
    assert "VLLM_EC_SIDE_CHANNEL_HOST" in variables
    assert "VLLM_NIXL_SIDE_CHANNEL_HOST" not in variables


def test_decode_pods_have_a_sidecar_with_encode_alone():
    sidecar = workloads({"encode": {}})["decode"].sidecar
    assert sidecar is not None
    assert "--ec-connector=ec-nixl" in sidecar.arguments
    assert workloads({"encode": {}})["encode"].sidecar is None
    assert "--ec-connector=ec-nixl" not in workloads({"prefill": {}})["decode"].sidecar.arguments


@pytest.mark.parametrize(("tag", "is_accepted"), [("v0.29.0", False), ("v0.30.0", True), ("v0.32.0", True)])
def test_the_connector_needs_a_version_of_vllm(tag, is_accepted):
    stack = tree(qwen={"engine": {"image": f"registry.example/vllm-openai:{tag}"}, "encode": {}})
    if is_accepted:
        plan(stack)
        return
    with pytest.raises(ConfigError, match=r"is not known to vLLM 0\.29\.0 \(ec-nixl\); use an image of vLLM 0\.30\.0"):
        plan(stack)


def test_an_engine_of_unknown_version_tells_its_address_too():
    stack = tree(qwen={"engine": {"image": "registry.example/vllm:nightly"}, "encode": {}}) | {"release": "llm-d-0.8"}
    encode = plan(stack).services[0].primary.roles["encode"]
    assert "VLLM_EC_SIDE_CHANNEL_HOST" in {variable.name for variable in encode.engine.env}


def test_network_policies_let_prompts_pods_read_from_encode_pods():
    stack = tree(qwen={"encode": {}, "prefill": {}}) | {"networkPolicies": {}}
    policies = {
        manifest["spec"]["podSelector"]["matchLabels"].get("inference-stacks.io/role"): manifest["spec"]
        for manifest in rendered(stack)
        if manifest["kind"] == "NetworkPolicy"
    }
    sources = {
        peer["podSelector"]["matchLabels"].get("inference-stacks.io/role")
        for rule in policies["encode"]["ingress"]
        for peer in rule.get("from", ())
        if "podSelector" in peer
    }
    assert {"decode", "prefill"} <= sources


def test_a_scraper_reads_encode_pods_unless_the_service_says_no():
    scraped = {"observability": {"metrics": {"type": "prometheus-operator"}}}
    for metrics, expected in (({}, True), ({"encode": False}, False)):
        manifests = rendered(tree(qwen={"encode": {}, "metrics": metrics}) | scraped)
        monitors = [item["metadata"]["name"] for item in manifests if item["kind"] == "PodMonitor"]
        assert any(name.endswith("-encode") for name in monitors) is expected
