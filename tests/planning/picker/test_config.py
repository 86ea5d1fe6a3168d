"""The picker's configuration gets weights, flow control, and a user's own as it is."""

import pytest

from planning.ground.names import names
from planning.picker.config import build
from planning.releases import channel
from planning.variant import kv_cache
from tests.support.stacks.picker_configs import config, planned, said, service, single


def weights(written):
    return [
        {plugin["pluginRef"]: plugin["weight"] for plugin in profile["plugins"] if "weight" in plugin}
        for profile in written["schedulingProfiles"]
    ]


def test_a_weight_takes_the_place_of_the_presets_in_every_profile():
    made = config(prefill={}, endpointPicker={"scorerWeights": {"queue-scorer": 5}})
    assert weights(made) == [{"prefix-cache-scorer": 2, "queue-scorer": 5}] * 2


def test_a_scorer_that_the_preset_has_not_is_declared_and_stands_before_the_picker():
    made = config(endpointPicker={"scorerWeights": {"lora-affinity-scorer": 1.5}})
    assert {"type": "lora-affinity-scorer"} in made["plugins"]
    (profile,) = made["schedulingProfiles"]
    assert profile["plugins"][-2:] == [
        {"pluginRef": "lora-affinity-scorer", "weight": 1.5},
        {"pluginRef": "max-score-picker"},
    ]


def test_metrics_are_read_where_the_engine_serves_them():
    engine = {"type": "trtllm-serve", "image": "registry.example/tensorrt-llm:1.3.0"}
    plugins = config(engine=engine)["plugins"]
    assert {"type": "metrics-data-source", "parameters": {"path": "/prometheus/metrics"}} in plugins
    assert config(engine=engine)["dataLayer"]["sources"] == [
        {"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "core-metrics-extractor"}]}
    ]
    assert "dataLayer" not in config(engine={**engine, "type": "sglang"})


def test_weights_change_nothing_else():
    before = config()
    after = config(endpointPicker={"scorerWeights": {"queue-scorer": 5}})
    assert before["plugins"] == after["plugins"]
    assert weights(after) == [{**weights(before)[0], "queue-scorer": 5}]


def test_flow_control_opens_its_gate_beside_any_preset():
    assert config(endpointPicker={"flowControl": {}})["featureGates"] == ["flowControl"]
    assert "flowControl" not in config(endpointPicker={"flowControl": {}})
    assert "featureGates" not in config()


def test_flow_control_is_written_as_it_was_said():
    flow = {
        "maxBytes": "10Gi",
        "defaultRequestTTL": "2m",
        "enableEviction": False,
        "priorityBands": [{"priority": 1, "maxRequests": 500, "fairnessPolicyRef": "round-robin-fairness-policy"}],
    }
    made = config(endpointPicker={"flowControl": flow})
    flow["priorityBands"][0]["maxRequests"] = "500"
    assert made["flowControl"] == flow
    assert {"type": "round-robin-fairness-policy"} in made["plugins"]


def test_a_policy_that_the_picker_adds_by_itself_is_not_declared():
    flow = {"saturationDetector": {"pluginRef": "utilization-detector"}}
    assert config(endpointPicker={"flowControl": flow})["plugins"] == config()["plugins"]


def test_bytes_are_a_whole_number_where_the_release_takes_nothing_else():
    made = config("llm-d-0.6", endpointPicker={"flowControl": {"maxBytes": "1Ki"}})
    assert made["flowControl"] == {"maxBytes": 1024}


def test_the_gate_follows_from_a_section_of_ones_own_and_is_not_written_twice():
    section = {"maxRequests": 100}
    spec = {"preset": "custom", "config": single(flowControl=section)}
    assert config(endpointPicker=spec)["featureGates"] == ["flowControl"]
    spec["config"]["featureGates"] = ["haPopulateNonLeaderDatastore", "flowControl"]
    assert config(endpointPicker=spec)["featureGates"] == ["haPopulateNonLeaderDatastore", "flowControl"]


def test_flow_control_beside_a_configuration_of_ones_own_uses_its_plugins():
    written = single({"type": "concurrency-detector", "name": "full", "parameters": {"maxConcurrency": 9}})
    flow = {"saturationDetector": {"pluginRef": "full"}}
    spec = {"preset": "custom", "config": written, "flowControl": flow}
    assert said(endpointPicker=spec) == []
    assert config(endpointPicker=spec)["flowControl"] == flow
    spec["flowControl"] = {"saturationDetector": {"pluginRef": "ful"}}
    assert said(endpointPicker=spec) == [
        "flowControl.saturationDetector.pluginRef: names no plugin (ful); did you mean full?",
    ]


def test_a_configuration_of_ones_own_is_written_as_it_is():
    written = single()
    made = config(endpointPicker={"preset": "custom", "config": written})
    assert made == {"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", **written}


def test_a_change_of_the_configuration_rolls_the_picker():
    changed = planned(endpointPicker={"scorerWeights": {"queue-scorer": 5}})
    assert planned().checksum() != changed.checksum()


def asking(url):
    return {"preset": "custom", "config": {"plugins": [{"parameters": {"url": url}}]}}


@pytest.mark.parametrize(
    ("written", "asks"),
    [
        (asking("http://qwen.models.svc:8000"), True),
        (asking("http://qwen.models.svc.cluster.local"), True),
        (asking("http://other.models.svc:8000"), False),
        (asking("http://qwen.trials.svc:8000"), False),
        ({"preset": "custom", "config": {}}, False),
        ({"preset": "precise-prefix-cache"}, True),
        ({"preset": "approximate-prefix-cache"}, False),
    ],
)
def test_a_configuration_asks_the_service_whose_address_it_holds(written, asks):
    release = channel("llm-d-0.10")
    spec = service(endpointPicker=written)
    assert build(spec, names("models", "qwen"), release, kv_cache.plan(spec, release)).asks_service is asks
