"""Roles exchange their cache by a protocol that sidecar and engines know."""

import pytest

from planning.releases import channel, channels
from tests.support.stacks import rendered, tree
from tests.support.stacks.engine_kinds import SGLANG
from tests.support.stacks.shapes import engine, told

CUSTOM = {"engine": {"type": "custom", "image": "registry.example/server:v1", "args": ["--mine"]}}
SIDECARS = [name for name in channels() if channel(name).sidecar is not None and channel(name).retired is None]


def template(stack, role):
    templates = [item["spec"]["template"] for item in rendered(stack) if item["kind"] == "Deployment"]
    return next(item for item in templates if item["metadata"]["labels"].get("llm-d.ai/role") == role)


def sidecar(stack):
    containers = template(stack, "decode")["spec"]["initContainers"]
    return next(item for item in containers if item["name"] == "routing-proxy")["args"]


@pytest.mark.parametrize("release", SIDECARS)
def test_roles_of_sglang_have_modes_and_the_sidecar_their_protocol(release):
    stack = {**tree(qwen={**SGLANG, "prefill": {}}), "release": release}
    assert any(argument.endswith("connector=sglang") for argument in sidecar(stack))
    assert "--disaggregation-mode=decode" in engine(template(stack, "decode"))["args"]
    prefill = engine(template(stack, "prefill"))["args"]
    assert {"--disaggregation-mode=prefill", "--disaggregation-bootstrap-port=8998"} <= set(prefill)
    assert not any("kv-transfer-config" in argument for argument in prefill)


def test_the_users_backend_of_the_transfer_wins():
    backend = "--disaggregation-transfer-backend=mooncake"
    service = {**SGLANG, "engine": {**SGLANG["engine"], "args": [backend]}, "prefill": {}}
    arguments = engine(template(tree(qwen=service), "prefill"))["args"]
    assert [argument for argument in arguments if "backend" in argument] == [backend]


def test_a_decoder_of_sglang_never_gets_a_request_without_prefill():
    (config,) = [
        text
        for item in rendered(tree(qwen={**SGLANG, "prefill": {}}))
        if item["kind"] == "ConfigMap"
        for text in item["data"].values()
    ]
    assert "always-disagg-pd-decider" in config
    assert "prefix-based-pd-decider" not in config
    assert "nonCachedTokens" not in config


def test_custom_engines_exchange_by_the_protocol_that_the_user_names():
    stack = tree(qwen={**CUSTOM, "prefill": {}, "kvCache": {"connector": "shared-storage"}})
    assert "--kv-connector=shared-storage" in sidecar(stack)
    assert engine(template(stack, "decode"))["args"] == ["--mine"]


def test_vllm_takes_a_further_protocol_if_its_own_settings_are_written():
    args = ['--kv-transfer-config={"kv_connector":"OffloadingConnector","kv_role":"kv_both"}']
    service = {"prefill": {}, "kvCache": {"connector": "offloading"}}
    assert "--kv-connector=offloading" in sidecar(tree(qwen={**service, "engine": {"args": args}}))
    (message,) = told(tree(qwen=service))
    assert message.startswith("services.qwen.kvCache.connector: is not known to the engine of llm-d-0.10 (offloading)")
