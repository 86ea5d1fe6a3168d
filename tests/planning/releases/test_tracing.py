"""Traces: under which name each container reports, and which share of them is kept."""

import pytest

from planning.releases import channel, channels
from tests.support.stacks import lines, plain, plan, rendered, tree

ENDPOINT = "http://otel:4317"
SAMPLERS = {
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
}


def stack(release="llm-d-0.10", service=None, **tracing):
    observability = {"observability": {"tracing": {"endpoint": ENDPOINT, **tracing}}}
    return tree(qwen=service or {}) | observability | {"release": release}


def names(service):
    """Return the names that containers report under, by workload and container."""
    result = {}
    for manifest in rendered(stack(service=service)):
        pod = manifest["spec"]["template"]["spec"] if manifest["kind"] == "Deployment" else {}
        for container in [*pod.get("initContainers", ()), *pod.get("containers", ())]:
            env = {variable["name"]: variable.get("value") for variable in container.get("env", ())}
            if "OTEL_SERVICE_NAME" in env:
                result[manifest["metadata"]["name"], container["name"]] = env["OTEL_SERVICE_NAME"]
    return result


def test_what_reports_is_called_alike_in_every_generation():
    first, second = (names({"prefill": {}, "kvCache": {"blockSize": size}}) for size in (64, 128))
    assert first.keys() & second.keys() == set()
    for result in (first, second):
        assert {(plain(workload), container): name for (workload, container), name in result.items()} == {
            ("qwen-decode", "routing-proxy"): "qwen-sidecar",
            ("qwen-decode", "vllm"): "qwen-decode",
            ("qwen-prefill", "vllm"): "qwen-prefill",
            ("qwen-epp", "epp"): "qwen-epp",
        }


def test_a_canary_reports_under_names_of_its_own():
    service_names = names({"canary": {"weight": 1, "replicas": 2}})
    assert sorted(service_names.values()) == ["qwen-canary-decode", "qwen-canary-epp", "qwen-decode", "qwen-epp"]


@pytest.mark.parametrize("release", channels())
def test_a_sampler_that_only_engines_know_is_told(release):
    facts = channel(release).tracing
    known = set(facts.samplers)
    assert known < SAMPLERS
    for sampler in sorted(SAMPLERS):
        messages = [
            message
            for message in lines(plan(stack(release, sampler=sampler)).warnings, "warning")
            if "sampler" in message
        ]
        assert len(messages) == (sampler not in known)
        assert all(f"({sampler}); {facts.otherwise}" in message for message in messages)


def test_the_sampler_is_told_once_with_what_happens_instead():
    stack_of_two = stack(sampler="always_on")
    stack_of_two["services"]["bert"] = stack_of_two["services"]["qwen"]
    (message,) = lines(plan(stack_of_two).warnings, "warning")
    assert message == (
        "observability.tracing.sampler: llm-d-0.10's picker and sidecar support only parentbased_traceidratio "
        "(always_on); a tenth of the traces that begin there is kept, whatever samplerArg says"
    )


def test_a_line_without_sidecar_speaks_of_its_picker():
    (message,) = [
        line for line in lines(plan(stack("gie-1.3", sampler="always_off")).warnings, "warning") if "sampler" in line
    ]
    assert message.startswith("observability.tracing.sampler: gie-1.3's picker supports only parentbased_traceidratio")


def test_nobody_is_told_of_samplers_without_traces_or_with_a_known_one():
    assert lines(plan(tree()).warnings, "warning") == lines(plan(stack()).warnings, "warning") == []
