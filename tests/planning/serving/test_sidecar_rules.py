"""The sidecar takes further flags and variables, and works without prefill where its protocol needs no further pods."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.shapes import engine, told

IP = {"fieldRef": {"fieldPath": "status.podIP"}}
OFFLOADING = ['--kv-transfer-config={"kv_connector":"OffloadingConnector","kv_role":"kv_both"}']


def pod(stack, role="decode"):
    templates = [item["spec"]["template"] for item in rendered(stack) if item["kind"] == "Deployment"]
    return next(item for item in templates if item["metadata"]["labels"].get("llm-d.ai/role") == role)


def sidecars(template):
    return [item for item in template["spec"]["initContainers"] if item["name"] == "routing-proxy"]


def test_further_flags_follow_the_generated_ones_and_read_further_variables():
    options = {"flags": {"moriio-local-pod-ip": "$(POD_IP)", "moriio-tp-size": "8"}, "env": {"POD_IP": IP}}
    (sidecar,) = sidecars(pod(tree(qwen={"prefill": {}, "sidecar": options})))
    assert sidecar["args"][-2:] == ["--moriio-local-pod-ip=$(POD_IP)", "--moriio-tp-size=8"]
    assert [item["name"] for item in sidecar["env"]] == ["POD_IP"]


def test_a_sidecar_without_prefill_is_in_front_of_the_engine():
    service = {
        "engine": {"args": OFFLOADING},
        "kvCache": {"connector": "offloading"},
        "sidecar": {"flags": {"enable-p2p-pull": "true"}},
    }
    template = pod(tree(qwen=service))
    (sidecar,) = sidecars(template)
    assert {"--kv-connector=offloading", "--port=8000", "--enable-p2p-pull=true"} <= set(sidecar["args"])
    assert "--port=8200" in engine(template)["args"]
    assert OFFLOADING[0] in engine(template)["args"]


@pytest.mark.parametrize(
    ("fields", "release", "message"),
    [
        ({}, "llm-d-0.10", "services.qwen.sidecar: has nothing to route to (no prefill); add prefill, set kvCache."),
        ({"kvCache": {"connector": "offloading"}}, "llm-d-0.8", "services.qwen.kvCache.connector: is not known to the"),
        (
            {"kvCache": {"connector": "offloading"}, "engine": {"port": 8200}},
            "llm-d-0.10",
            "services.qwen.sidecar.enginePort: is the service's own port (8200)",
        ),
    ],
)
def test_a_sidecar_without_prefill_needs_such_a_protocol(fields, release, message):
    stack = {**tree(qwen={**fields, "sidecar": {"logLevel": "debug"}}), "release": release}
    assert any(line.startswith(message) for line in told(stack))


@pytest.mark.parametrize(("size", "argument"), [("engine", None), (128, "--block-size=128"), (None, "--block-size=64")])
def test_the_size_of_blocks_may_be_left_to_the_engine(size, argument):
    cache = {} if size is None else {"kvCache": {"blockSize": size}}
    arguments = engine(pod(tree(qwen={"prefill": {}, **cache})))["args"]
    sizes = [text for text in arguments if text.startswith("--block-size")]
    assert sizes == [text for text in [argument] if text is not None]
