"""A picker's plugins ask for a protocol, for the flag of the experimental, and a word announces their end."""

from models.paths import Path
from planning.picker import graph as picker_graph
from planning.releases import channel
from tests.support.stacks.picker_configs import custom, planned, single, warned


def test_the_pool_has_to_speak_what_its_parsers_take():
    written = single(requestHandler={"parsers": [{"pluginRef": "vllmgrpc-parser"}]})
    engine = {"type": "custom", "image": "registry.example/grpc:v1"}
    made = planned(engine=engine, endpointPicker={"preset": "custom", "config": written})
    assert made.pool_app_protocol == "kubernetes.io/h2c"
    assert planned().pool_app_protocol is None
    (line,) = custom(written)
    assert "takes kubernetes.io/h2c only, which vllm does not serve (vllmgrpc-parser)" in line


def test_alpha_plugins_switch_their_flag_on_and_are_told():
    written = single(
        {"type": "topology-extractor"},
        {"type": "topology-affinity-filter"},
        profile=[{"pluginRef": "topology-affinity-filter"}],
    )
    spec = {"preset": "custom", "config": written}
    assert "--allow-experimental-plugins=true" in planned(endpointPicker=spec).arguments
    assert warned(endpointPicker=spec)[1] == (
        "services.qwen.endpointPicker.config.plugins[3].type: is experimental (topology-affinity-filter): "
        "the picker is started with --allow-experimental-plugins; it may change or disappear without notice"
    )
    assert not any("experimental" in argument for argument in planned().arguments)


def test_an_alpha_scorer_by_its_weight_switches_the_flag_on():
    made = planned(endpointPicker={"scorerWeights": {"session-affinity-scorer": 1}})
    assert "--allow-experimental-plugins=true" in made.arguments


def test_a_release_without_stability_has_no_flag():
    spec = {"scorerWeights": {"session-affinity-scorer": 1}}
    assert not any("experimental" in argument for argument in planned("llm-d-0.8", endpointPicker=spec).arguments)
    assert warned("llm-d-0.8", endpointPicker=spec) == []


def test_a_filter_by_the_roles_label_is_found_in_lists_of_parameters():
    release = channel("llm-d-0.9")
    parameters = {"label": "llm-d.ai/role", "validValues": ["prefill"]}
    plugins = [{"type": "by-label", "parameters": parameters}, {"type": "max-score-picker"}]
    profiles = [{"name": "prefill", "plugins": [{"pluginRef": plugin["type"]} for plugin in plugins]}]
    parsed = picker_graph.parse(Path(), {"plugins": plugins, "schedulingProfiles": profiles}, release.picker)
    assert [parsed.profiles[0].is_for(role) for role in ("prefill", "decode")] == [True, False]
