"""Misuses of the picker's configuration."""

import pytest
import yaml

from planning import outputs
from planning.releases import channel, departures
from tests.support.stacks import find, plan, rendered, tree
from tests.support.stacks.misuses import SLEEPS, configured, every_channel, pickers, picking, stack
from tests.support.stacks.otterscale import picker
from tests.support.stacks.shapes import engine, flag, told

PROMETHEUS = {
    "prometheus": {"serverAddress": "http://prometheus.monitoring:9090"},
    "metrics": {"type": "prometheus-operator"},
}
DEPRECATED = {
    *("by-label", "by-label-selector", "pd-profile-handler", "disagg-headers-handler", "prefill-header-handler"),
    *("tokenizer", "precise-prefix-cache-scorer", "data-parallel-profile-handler"),
}


def warnings(requested):
    return outputs.of_stack(plan(requested), None)["services"]["qwen"]["warnings"]


@every_channel
def test_another_configuration_is_another_pod(release):
    """See upstream configuration-1."""
    ones, others = (
        pickers(rendered(picking(release, scorerWeights={"queue-scorer": weight})))[0]["spec"]["template"]
        for weight in (1, 2)
    )
    assert ones["spec"] == others["spec"]
    assert ones["metadata"]["annotations"] != others["metadata"]["annotations"]


@every_channel
def test_the_api_version_follows_from_the_line(release):
    """See upstream configuration-2."""
    written = find(rendered(stack(release)), "ConfigMap", "qwen-epp")["data"]["config.yaml"]
    expected = dict.fromkeys(("llm-d-0.8", "llm-d-0.9", "llm-d-0.10"), "llm-d.ai/v1alpha1")
    version = expected.get(release, "inference.networking.x-k8s.io/v1alpha1")
    assert yaml.safe_load(written)["apiVersion"] == version
    other = configured(release=release, apiVersion="llm-d.ai/v1", kind="EndpointPickerConfig")
    picker = departures.picker_name(channel(release))
    expected = f"is not read by {picker} (llm-d.ai/v1); write {version}"
    assert [message.partition(": ")[2] for message in told(other)] == [expected]
    headed = configured(release=release, apiVersion=version, kind="EndpointPickerConfig")
    assert rendered(headed) == rendered(configured(release=release))


@pytest.mark.parametrize("gate", ["dataLayer", "enableLegacyMetrics", "prepareDataPlugins"])
def test_a_gate_that_is_gone_is_refused(gate):
    """See upstream configuration-3."""
    (message,) = told(configured(featureGates=[gate]))
    assert f"is no feature gate of llm-d-0.10 ({gate})" in message


@pytest.mark.parametrize(
    ("section", "at"),
    [
        ({"dataLayer": {"discovery": {"peers": {"pluginRef": "x"}}}}, "dataLayer.discovery.peers"),
        ({"dataLayer": {"crossReplica": {"syncInterval": "1s"}}}, "dataLayer.crossReplica"),
        ({"data": {"sources": []}}, "data"),
        (
            {"flowControl": {"priorityBands": [{"priority": 1, "queue": "MaxMinHeap"}]}},
            "flowControl.priorityBands[0].queue",
        ),
    ],
)
def test_a_key_of_another_api_is_refused(section, at):
    """See upstream configuration-4."""
    messages = told(configured(**section))
    assert any(message.startswith(f"services.qwen.endpointPicker.config.{at}: unknown key") for message in messages)


@pytest.mark.parametrize(
    ("section", "instead"),
    [
        ({"saturationDetector": {"pluginRef": "utilization-detector"}}, "flowControl: {saturationDetector: "),
        ({"parser": {"pluginRef": "openai-parser"}}, "requestHandler: {parsers: "),
    ],
)
def test_a_deprecated_key_is_told(section, instead):
    """The line still reads it. See upstream configuration-5."""
    (name,) = section
    (found,) = warnings(configured(release="llm-d-0.9", **section))
    assert found.startswith(f"endpointPicker.config.{name}: is deprecated ({name}); write {instead}")
    assert warnings(configured()) == []


@every_channel
def test_an_unknown_parameter_is_refused(release):
    """See upstream configuration-6."""
    (message,) = told(configured({"type": "random-picker", "parameters": {"maxNumOfEndpoint": 1}}, release=release,
                                 schedulingProfiles=[{"name": "default", "plugins": [{"pluginRef": "queue-scorer"},
                                                                                     {"pluginRef": "random-picker"}]}],
                                 plugins=[{"type": "queue-scorer"}]))  # fmt: skip
    assert "unknown parameter of random-picker (maxNumOfEndpoint); did you mean maxNumOfEndpoints?" in message


@pytest.mark.parametrize(
    ("flow", "is_told"), [({}, True), ({"defaultRequestTTL": "60s"}, True), ({"defaultRequestTTL": "2h"}, False)]
)
def test_requests_that_give_up_before_a_pod_wakes_are_told(flow, is_told):
    """See upstream configuration-7."""
    service = {"autoscaling": SLEEPS, "endpointPicker": {"flowControl": flow}}
    found = warnings(tree(qwen=service) | {"observability": PROMETHEUS})
    assert [warning for warning in found if "defaultRequestTTL" in warning] == (found if is_told else [])
    assert bool(found) == is_told


def test_nothing_sleeps_that_nothing_wakes():
    """See upstream configuration-8."""
    requested = tree(qwen={"autoscaling": SLEEPS}) | {"observability": PROMETHEUS}
    (message,) = told(requested)
    assert message.startswith("services.qwen.autoscaling.minReplicas: zero replicas cannot be woken without a queue")


def test_an_alpha_plugin_brings_its_flag():
    """See upstream configuration-9."""
    alpha = {"session-affinity-scorer": 1}
    assert flag(picker(rendered(picking(scorerWeights=alpha))), "--allow-experimental-plugins") == "true"
    assert flag(picker(rendered(tree())), "--allow-experimental-plugins") is None
    parameters = {"conditions": [{"metric": "waiting-queue", "maxValue": 7}]}
    stack = configured({"type": "utilization-filter", "parameters": parameters}, profile=["utilization-filter"])
    assert flag(picker(rendered(stack)), "--allow-experimental-plugins") == "true"
    assert any("is experimental (utilization-filter)" in line for line in warnings(stack))
    (message,) = told(picking(flags={"allow-experimental-plugins": "true"}))
    assert message.endswith("remove it: it follows from the plugins")


@pytest.mark.parametrize("name", ["active-request-filter", "qeue-scorer", "decode-filterr"])
def test_a_plugin_that_is_not_registered_is_refused(name):
    """See upstream configuration-10."""
    messages = told(configured({"type": name}, profile=[name]))
    assert any(f"plugins[2].type: is not in llm-d-0.10 ({name})" in message for message in messages)


@pytest.mark.parametrize(
    ("plugin", "profile", "instead"),
    [
        (
            {"type": "by-label", "parameters": {"label": "tier", "validValues": ["gold"]}},
            True,
            "write {type: label-selector-filter, ",
        ),
        ({"type": "by-label-selector"}, True, "write {type: label-selector-filter}"),
        ({"type": "tokenizer", "parameters": {"modelName": "org/model"}}, False, "write {type: token-producer}"),
        ({"type": "disagg-headers-handler"}, False, "remove it; disagg-profile-handler"),
        ({"type": "prefill-header-handler"}, False, "remove it; disagg-profile-handler"),
        (
            {
                "type": "precise-prefix-cache-scorer",
                "parameters": {"tokenProcessorConfig": {"blockSizeTokens": 64}},
            },
            True,
            "write {type: precise-prefix-cache-producer}",
        ),
    ],
)
def test_a_deprecated_plugin_is_told(plugin, profile, instead):
    """The line still has it. See upstream configuration-11."""
    requested = configured(plugin, release="llm-d-0.9", profile=[plugin["type"]] if profile else [])
    table = channel("llm-d-0.9").picker.plugins.table
    assert {name for name, entry in table.items() if entry.deprecated is not None} == DEPRECATED
    (found,) = warnings(requested)
    assert found.startswith(f"endpointPicker.config.plugins[2].type: is deprecated ({plugin['type']}); {instead}")


@pytest.mark.parametrize("release", ["llm-d-0.8", "llm-d-0.9"])
@pytest.mark.parametrize("name", ["token-producer", "tokenizer"])
def test_a_tokenizer_that_nobody_serves_is_refused(release, name):
    """See upstream configuration-12."""
    parameters = {"modelName": "org/model", "udsTokenizerConfig": {"socketFile": "/tmp/tokenizer.sock"}}
    (message,) = told(configured({"type": name, "parameters": parameters}, release=release))
    assert message.endswith("plugins[2].parameters.udsTokenizerConfig.socketFile: cannot be used; remove it")


@pytest.mark.parametrize("release", ["llm-d-0.6", "llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_the_handler_of_several_ports_is_refused(release):
    """See upstream configuration-13."""
    (message,) = told(configured({"type": "data-parallel-profile-handler"}, release=release))
    what = (
        "plugins[2].type: cannot be used (data-parallel-profile-handler); remove it: it sends requests to primaryPort"
    )
    assert what in message


@pytest.mark.parametrize("key", ["blockSize", "blockSizeTokens"])
def test_block_sizes_agree(key):
    """See upstream configuration-14."""

    def precise(size):
        plugins = [
            {"type": "token-producer", "parameters": {"modelName": "org/model"}},
            {"type": "endpoint-notification-source"},
            {"type": "precise-prefix-cache-producer", "parameters": {"tokenProcessorConfig": {key: size}}},
        ]
        extractors = [{"pluginRef": "precise-prefix-cache-producer"}]
        sources = [{"pluginRef": "endpoint-notification-source", "extractors": extractors}]
        return configured(*plugins, dataLayer={"sources": sources}, service={"kvCache": {"blockSize": 32}})

    decode = engine(find(rendered(precise(32)), "Deployment", "qwen-decode")["spec"]["template"])
    assert flag(decode, "--block-size") == "32"
    (message,) = told(precise(64))
    assert f"tokenProcessorConfig.{key}: is 64, but the engine's block size is 32" in message


def test_a_decider_stands_where_its_handler_finds_it():
    """See upstream configuration-15."""
    handler = {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}}
    plugins = [handler, {"type": "always-disagg-pd-decider"}, {"type": "prefill-filter"}, {"type": "decode-filter"}]
    profiles = [{"name": role, "plugins": [{"pluginRef": f"{role}-filter"}]} for role in ("prefill", "decode")]

    def ordered(release, chosen):
        config = {"plugins": chosen, "schedulingProfiles": profiles}
        return stack(release, prefill={}, endpointPicker={"preset": "custom", "config": config})

    (message,) = told(ordered("llm-d-0.8", plugins))
    assert "names a plugin that is declared later (always-disagg-pd-decider)" in message
    assert rendered(ordered("llm-d-0.8", [plugins[1], plugins[0], *plugins[2:]]))
    assert rendered(ordered("llm-d-0.10", plugins))
