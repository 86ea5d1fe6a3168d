"""The picker's presets: each passes the check of users' own, and follows from what its service says."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from models.paths import Path
from models.problems import errors, warnings
from planning.ground.names import names
from planning.picker import config as picker_config
from planning.picker import context
from planning.picker import lint as picker_lint
from planning.picker.lint import VariantFacts
from planning.releases import channel, channels
from planning.variant import kv_cache
from tests.support.examples import share
from tests.support.stacks import find, rendered, tree
from tests.support.stacks.picker_configs import config, planned, said, service

PREDICTOR = {"trainingServer": "http://training:8000", "predictionServers": ["http://one:8001", "http://two:8001"]}


def presets():
    for release in channels():
        for name, preset in channel(release).picker.presets.items():
            yield release, name, False
            if preset.disaggregated is not None:
                yield release, name, True


FLOW = st.fixed_dictionaries(
    {},
    optional={
        "maxBytes": st.sampled_from(["1Gi", "500M"]),
        "defaultRequestTTL": st.sampled_from(["0s", "90s"]),
        "priorityBands": st.lists(
            st.fixed_dictionaries({"priority": st.integers(-9, 9)}, optional={"maxBytes": st.just("1Gi")}),
            max_size=2,
            unique_by=lambda band: band["priority"],
        ),
    },
)
NEWER = st.fixed_dictionaries(
    {},
    optional={
        "maxRequests": st.just("1k"),
        "saturationDetector": st.fixed_dictionaries(
            {"pluginRef": st.sampled_from(["concurrency-detector", "utilization-detector"])}
        ),
        "defaultPriorityBand": st.just({"fairnessPolicyRef": "round-robin-fairness-policy"}),
    },
)


@pytest.mark.parametrize(("release", "preset", "is_apart"), list(presets()))
@settings(max_examples=share(20))
@given(flow=st.none() | FLOW, newer=NEWER, weight=st.none() | st.integers(1, 9))
def test_every_preset_of_every_channel_passes_the_check_of_own_configurations(
    release, preset, is_apart, flow, newer, weight
):
    facts = channel(release).picker
    known = facts.config.shape.get("flowControl", {})
    spec = {"preset": preset}
    if flow is not None:
        written = flow | (newer if "maxRequests" in known else {})
        spec["flowControl"] = {key: value for key, value in written.items() if key in known}
    if weight is not None:
        spec["scorerWeights"] = {"queue-scorer": weight}
    if preset == "predicted-latency":
        spec["latencyPredictor"] = PREDICTOR
    keys = {"endpointPicker": spec, **({"prefill": SERVICE_OF_PREFILL} if is_apart else {})}
    service_spec = service(**keys)
    cache = kv_cache.plan(service_spec, channel(release))
    tree = picker_config.build(service_spec, names("models", "qwen"), channel(release), cache).tree
    variant_facts = context.facts_of(service_spec, channel(release), cache)
    assert errors(picker_lint.judge(Path("config"), tree, variant_facts)) == []
    assert said(release, **keys) == []
    assert ("flowControl" in tree.get("featureGates", [])) == (flow is not None)


SERVICE_OF_PREFILL = {"accelerator": "nvidia"}


@pytest.mark.parametrize(("release", "preset", "is_apart"), list(presets()))
def test_profiles_follow_from_prefill(release, preset, is_apart):
    keys = {"endpointPicker": {"preset": preset}} | ({"prefill": {}} if is_apart else {})
    if preset == "predicted-latency":
        keys["endpointPicker"]["latencyPredictor"] = PREDICTOR
    profiles = [profile["name"] for profile in config(release, **keys)["schedulingProfiles"]]
    assert profiles == (["prefill", "decode"] if is_apart else ["default"])


def test_the_precise_preset_reads_what_engines_publish():
    written = config(kvCache={"blockSize": 32}, endpointPicker={"preset": "precise-prefix-cache"})
    parameters = {plugin["type"]: plugin.get("parameters") for plugin in written["plugins"]}
    assert parameters["precise-prefix-cache-producer"] == {
        "tokenProcessorConfig": {"blockSizeTokens": 32},
        "kvEventsConfig": {"topicFilter": "kv@", "podDiscoveryConfig": {"socketPort": 5556}},
        "speculativeIndexing": True,
    }
    assert parameters["prefix-cache-scorer"] == {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}
    assert parameters["token-producer"] == {"modelName": "org/model", "vllm": {"url": "http://qwen.models.svc:8000"}}
    assert written["dataLayer"]["sources"] == [
        {
            "pluginRef": "endpoint-notification-source",
            "extractors": [{"pluginRef": "precise-prefix-cache-producer"}],
        }
    ]


def test_the_port_that_tokens_are_asked_on_is_the_services():
    service = find(rendered(tree(qwen={"endpointPicker": {"preset": "precise-prefix-cache"}})), "Service", "qwen")
    written = config(endpointPicker={"preset": "precise-prefix-cache"})
    urls = [plugin["parameters"]["vllm"]["url"] for plugin in written["plugins"] if plugin["type"] == "token-producer"]
    assert urls == [f"http://qwen.models.svc:{service['spec']['ports'][0]['port']}"]


def test_a_served_name_with_braces_stays_as_it_is():
    model = {"name": "{block_size}", "source": "kit://registry.example/m:v1"}
    written = config(model=model, endpointPicker={"preset": "precise-prefix-cache"})
    assert written["plugins"][0]["parameters"]["modelName"] == "{block_size}"


def test_the_latency_predictor_is_told_by_the_environment():
    made = planned(endpointPicker={"preset": "predicted-latency", "latencyPredictor": PREDICTOR})
    env = {variable.name: variable.value for variable in made.env}
    assert env["TRAINING_SERVER_URL"] == "http://training:8000"
    assert env["PREDICTION_SERVER_URL"] == "http://one:8001,http://two:8001"


@pytest.mark.parametrize(("release", "preset", "is_apart"), list(presets()))
def test_presets_have_no_warnings_but_that_of_the_seed_operators_order(release, preset, is_apart):
    tree = picker_config.preset(preset, channel(release).picker, disaggregated=is_apart)
    verdict = picker_lint.judge(Path("config"), tree, VariantFacts(channel(release), is_apart, 64, vllm=True))
    assert bool(warnings(verdict)) == (release == "llm-d-0.6" and is_apart)


def test_a_preset_that_a_release_lacks_is_none_and_is_not_built():
    release = next(release for release in map(channel, channels()) if "predicted-latency" not in release.picker.presets)
    spec = service(endpointPicker={"preset": "predicted-latency", "latencyPredictor": PREDICTOR})
    assert picker_config.preset("predicted-latency", release.picker, disaggregated=False) is None
    assert picker_config.build(spec, names("models", "qwen"), release, kv_cache.plan(spec, release)) is None


@pytest.mark.parametrize("release", ["llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_a_scorer_beside_a_precise_cache_reads_the_precise_cache(release):
    """See defects R7."""
    picker = {"preset": "precise-prefix-cache", "scorerWeights": {"no-hit-lru-scorer": 2}}
    everything = rendered(tree(qwen={"endpointPicker": picker}) | {"release": release})
    (text,) = [next(iter(item["data"].values())) for item in everything if item["kind"] == "ConfigMap"]
    plugins = {plugin["type"]: plugin.get("parameters", {}) for plugin in yaml.safe_load(text)["plugins"]}
    assert plugins["no-hit-lru-scorer"] == {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}
    # Otherwise requests of one prompt that arrive together go to different pods, until the events of the first come.
    assert plugins["precise-prefix-cache-producer"]["speculativeIndexing"] is True
