"""Metered means metered: streams end with their usage, connections do not break, and no mirror leads past the meter."""

from pathlib import Path

import pytest

from models.problems import ConfigError
from tests.support.stacks import find, lines, plan, rendered, tree
from tests.support.traffic.billing import table

FLAG = "--enable-force-include-usage"
INTERCEPTOR = {"interceptor": {"mode": "label", "namespace": "metering"}}


def arguments(stack, name):
    deployment = find(rendered(stack), "Deployment", name)
    (engine,) = [item for item in deployment["spec"]["template"]["spec"]["containers"] if item["name"] == "vllm"]
    return engine["args"]


@pytest.mark.parametrize("enabled", [True, False])
def test_streams_of_a_metered_service_end_with_their_usage(enabled):
    """See defects U1."""
    stack = tree(qwen={"interceptor": {"enabled": enabled}}) | INTERCEPTOR
    assert (FLAG in arguments(stack, "qwen-decode")) is enabled
    assert FLAG not in arguments(tree(), "qwen-decode")


def test_the_contract_has_the_verdict_of_the_real_interceptor_on_every_shape():
    """See defects U1. The verdicts are in `tests/support/traffic/corpus/billing.yaml`."""
    text = Path("docs/routing-contract.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in text


@pytest.mark.parametrize("engine", ["vllm", "custom"])
def test_paths_that_nobody_bills_are_told(engine):
    """See defects U1."""
    service = {"engine": {"type": engine, "image": "registry.example/own:v1"}} if engine == "custom" else {}
    text = (
        "interceptor: does not bill requests for /v1/responses, /v1/messages and /tokenize, which the routes of "
        "services.qwen let through; let the authentication in front of the gateway refuse these paths"
    )
    warned = lines(plan(tree(qwen=service) | INTERCEPTOR).warnings, "warning")
    assert (text in warned) is (engine == "vllm")


@pytest.mark.parametrize(("version", "is_told"), [("v0.9.1", True), ("v0.9.2", False)])
def test_an_engine_that_cannot_force_usage_is_told(version, is_told):
    """See defects U1."""
    service = {"engine": {"image": f"vllm/vllm-openai:{version}"}, "endpointPicker": {"enabled": False}}
    stack = tree(qwen=service) | INTERCEPTOR
    text = f"serves streams of some requests without their usage, so that nobody pays for them ({version[1:]})"
    assert any(text in line for line in lines(plan(stack).warnings, "warning")) is is_told
    assert (FLAG in arguments(stack, "qwen-decode")) is not is_told


@pytest.mark.parametrize("enabled", [True, False])
def test_a_mirror_to_a_metered_service_is_refused(enabled):
    """See defects U5."""
    services = {
        "qwen": {"route": {"mirror": {"service": "bert"}}, "interceptor": {"enabled": False}},
        "bert": {"interceptor": {"enabled": enabled}},
    }
    stack = tree(**services) | INTERCEPTOR
    if not enabled:
        assert plan(stack).services
        return
    with pytest.raises(ConfigError) as error:
        plan(stack)
    assert str(error.value) == (
        "services.qwen.route.mirror.service: gets mirrored requests past the interceptor, so nobody meters them "
        "(bert); name another service, or set services.bert.interceptor.enabled: false"
    )
