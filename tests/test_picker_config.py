"""The picker's configuration: presets, what is put into them, and what is wrong with a user's own."""

import copy

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from models.load import load
from models.problems import ConfigError
from models.service import Service
from planning import checks
from planning.names import names
from planning.picker import config as picker_config
from planning.picker import lint as picker_lint
from planning.picker import shapes
from planning.picker.lint import Context
from planning.releases import channel, channels
from planning.stack import ROUTED_PORT
from tests.stacks import SERVICE, plan, tree

AT = "services.qwen.endpointPicker"
PREDICTOR = {"trainingServer": "http://training:8000", "predictionServers": ["http://one:8001", "http://two:8001"]}
SINGLE = {
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
    "schedulingProfiles": [
        {"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "max-score-picker"}]}
    ],
}
APART = {
    "plugins": [
        {"type": "prefill-filter"},
        {"type": "decode-filter"},
        {"type": "always-disagg-pd-decider"},
        {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
    ],
    "schedulingProfiles": [
        {"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]},
        {"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]},
    ],
}


def service(**keys):
    return Service.model_validate(copy.deepcopy(SERVICE) | keys)


def planned(release="llm-d-0.10", **keys):
    """Return the picker of a service."""
    (one,) = plan(tree(qwen=keys) | {"release": release}).services
    return one.primary.picker


def config(release="llm-d-0.10", **keys):
    return yaml.safe_load(planned(release, **keys).config)


def weights(written):
    return [
        {one["pluginRef"]: one["weight"] for one in profile["plugins"] if "weight" in one}
        for profile in written["schedulingProfiles"]
    ]


def said(release="llm-d-0.10", **keys):
    """Return what is wrong with a service, below its picker."""
    loaded = load(tree(qwen=keys) | {"release": release})
    try:
        loaded.finish(checks.problems(loaded.stack))
    except ConfigError as error:
        return [str(problem).removeprefix(f"{AT}.") for problem in error.problems]
    return []


def custom(written, release="llm-d-0.10", **keys):
    return said(release, endpointPicker={"preset": "custom", "config": written}, **keys)


def single(*more, profile=(), **keys):
    """Return a sound configuration with further plugins, entries of its profile and sections."""
    written = copy.deepcopy(SINGLE) | keys
    written["plugins"] += more
    written["schedulingProfiles"][0]["plugins"][:0] = profile
    return written


def apart(*more, without=(), **keys):
    written = copy.deepcopy(APART) | keys
    written["plugins"] = [one for one in written["plugins"] if one["type"] not in without] + list(more)
    return written


# Presets


def presets():
    for release in channels():
        for name, found in channel(release).picker.presets.items():
            yield release, name, False
            if found.apart is not None:
                yield release, name, True


FLOW = st.fixed_dictionaries(
    {},
    optional={
        "maxBytes": st.sampled_from(["1Gi", "500M"]),
        "defaultRequestTTL": st.sampled_from(["0s", "90s"]),
        "priorityBands": st.lists(
            st.fixed_dictionaries({"priority": st.integers(-9, 9)}, optional={"maxBytes": st.just("1Gi")}), max_size=2
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
@settings(max_examples=20, deadline=None)
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
    one = service(**keys)
    made = picker_config.config(one, names("models", "qwen"), channel(release))
    assert picker_lint.problems("config", made, picker_config.context(one, channel(release))) == []
    assert said(release, **keys) == []
    assert ("flowControl" in made.get("featureGates", [])) == (flow is not None)


SERVICE_OF_PREFILL = {"accelerator": "nvidia"}


@pytest.mark.parametrize(("release", "preset", "is_apart"), list(presets()))
def test_profiles_follow_from_prefill(release, preset, is_apart):
    keys = {"endpointPicker": {"preset": preset}} | ({"prefill": {}} if is_apart else {})
    if preset == "predicted-latency":
        keys["endpointPicker"]["latencyPredictor"] = PREDICTOR
    profiles = [one["name"] for one in config(release, **keys)["schedulingProfiles"]]
    assert profiles == (["prefill", "decode"] if is_apart else ["default"])


def test_the_precise_preset_reads_what_engines_publish():
    written = config(kvCache={"blockSize": 32}, endpointPicker={"preset": "precise-prefix-cache"})
    parameters = {one["type"]: one.get("parameters") for one in written["plugins"]}
    assert parameters["precise-prefix-cache-producer"] == {
        "tokenProcessorConfig": {"blockSizeTokens": 32},
        "kvEventsConfig": {"topicFilter": "kv@", "podDiscoveryConfig": {"socketPort": 5556}},
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
    assert picker_config.SERVICE_PORT == ROUTED_PORT


def test_a_served_name_with_braces_stays_as_it_is():
    model = {"name": "{block_size}", "source": "kit://registry.example/m:v1"}
    written = config(model=model, endpointPicker={"preset": "precise-prefix-cache"})
    assert written["plugins"][0]["parameters"]["modelName"] == "{block_size}"


@pytest.mark.parametrize(
    ("keys", "size"),
    [
        ({}, None),
        ({"prefill": SERVICE_OF_PREFILL}, 64),
        ({"endpointPicker": {"preset": "precise-prefix-cache"}}, 64),
        ({"endpointPicker": {"preset": "precise-prefix-cache"}, "kvCache": {"blockSize": 16}}, 16),
    ],
)
def test_a_block_size_is_fixed_where_two_have_to_agree_about_it(keys, size):
    assert picker_config.block_size(service(**keys)) == size


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({}, False),
        ({"preset": "precise-prefix-cache"}, True),
        ({"preset": "custom", "config": SINGLE}, False),
        ({"preset": "custom", "config": {"plugins": [{"type": "precise-prefix-cache-producer"}]}}, True),
        ({"preset": "custom", "config": {"plugins": "precise-prefix-cache-producer"}}, False),
        ({"preset": "custom"}, False),
    ],
)
def test_engines_have_to_publish_where_the_picker_listens(spec, needed):
    assert picker_config.needs_kv_events(service(endpointPicker=spec)) is needed


def test_the_latency_predictor_is_told_by_the_environment():
    made = planned(endpointPicker={"preset": "predicted-latency", "latencyPredictor": PREDICTOR})
    env = {one.name: one.value for one in made.env}
    assert env["TRAINING_SERVER_URL"] == "http://training:8000"
    assert env["PREDICTION_SERVER_URL"] == "http://one:8001,http://two:8001"


# Weights and flow control


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


def test_weights_change_nothing_else():
    before, after = config(), config(endpointPicker={"scorerWeights": {"queue-scorer": 5}})
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
        "config.plugins[2]: is used nowhere (full); add it to a profile, or remove it",
    ]


def test_a_configuration_of_ones_own_is_written_as_it_is():
    written = single()
    made = config(endpointPicker={"preset": "custom", "config": written})
    assert made == {"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", **written}


def test_a_change_of_the_configuration_rolls_the_picker():
    changed = planned(endpointPicker={"scorerWeights": {"queue-scorer": 5}})
    assert planned().checksum() != changed.checksum()


# The graph


def test_a_sound_configuration_has_no_problems():
    assert custom(single()) == []
    assert custom(apart(), prefill={}) == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            single({"type": "decode-filter"}, {"type": "decode-filter"}, profile=[{"pluginRef": "decode-filter"}]),
            "plugins[3].type: is the name of an earlier plugin (decode-filter); give one of them another name",
        ),
        (
            single({"type": "random-picker", "name": "queue-scorer"}),
            "plugins[2].name: is the name of an earlier plugin (queue-scorer); give one of them another name",
        ),
        (
            single({"type": "lora-affinity-scorer"}),
            "plugins[2]: is used nowhere (lora-affinity-scorer); add it to a profile, or remove it",
        ),
        (
            single({"type": "edf-ordering-policy"}),
            "plugins[2]: is used nowhere (edf-ordering-policy); name it where it is meant, or remove it",
        ),
        (
            single(profile=[{"pluginRef": "decode-filter"}]),
            "schedulingProfiles[0].plugins[0].pluginRef: names no plugin (decode-filter); declare it under plugins",
        ),
        (
            single({"type": "disagg-profile-handler"}, {"type": "single-profile-handler"}),
            (
                "plugins[3].type: is a second profile handler beside disagg-profile-handler (single-profile-handler); "
                "keep one of them"
            ),
        ),
        (
            single(featureGates=["flowControll"]),
            "featureGates[0]: is no feature gate of llm-d-0.10 (flowControll); did you mean flowControl?",
        ),
        (
            single(requestHandler={"parsers": [{"pluginRef": "queue-scorer"}]}),
            (
                "requestHandler.parsers[0].pluginRef: is a scorer and not a parser (queue-scorer); "
                "name a parser, such as openai-parser"
            ),
        ),
        (
            single({"type": "topology-affinity-filter"}, profile=[{"pluginRef": "topology-affinity-filter"}]),
            "plugins[2].type: needs topology-extractor beside it (topology-affinity-filter); declare it under plugins",
        ),
        ({}, "plugins: is missing; declare plugins: a list of {type: …}"),
    ],
)
def test_a_mistake_in_the_graph_is_named_where_it_is(written, expected):
    assert custom(written) == [f"config.{expected}"]


@pytest.mark.parametrize("weight", [0, -1])
def test_a_weight_is_above_zero(weight):
    written = single()
    written["schedulingProfiles"][0]["plugins"][0]["weight"] = weight
    (line,) = custom(written)
    assert line.startswith(f"config.schedulingProfiles[0].plugins[0].weight: is not above 0 ({weight})")


@pytest.mark.parametrize("weight", ["2", True, [2]])
def test_a_weight_is_a_number(weight):
    written = single()
    written["schedulingProfiles"][0]["plugins"][0]["weight"] = weight
    assert custom(written) == [
        "config.schedulingProfiles[0].plugins[0].weight: is not a number; write a number, such as 2"
    ]


def test_a_weight_stands_at_scorers_only():
    written = single()
    written["schedulingProfiles"][0]["plugins"][1]["weight"] = 2
    (line,) = custom(written)
    assert "has an effect on scorers only (max-score-picker is a picker)" in line


def test_a_profile_takes_one_picker():
    (line,) = custom(single({"type": "random-picker"}, profile=[{"pluginRef": "random-picker"}]))
    assert line.startswith("config.schedulingProfiles[0].plugins[2]: is a second picker in one profile")


def test_a_picker_that_stands_in_front_is_a_warning():
    written = single()
    written["schedulingProfiles"][0]["plugins"].reverse()
    spec = {"preset": "custom", "config": written}
    assert said(endpointPicker=spec) == []
    assert planned(endpointPicker=spec).warnings == (
        (
            "endpointPicker.config.schedulingProfiles[0].plugins[0]: reads as if it came before what follows "
            "(max-score-picker); put it last; a picker runs last wherever it stands"
        ),
    )


def test_a_profile_without_a_picker_uses_a_declared_one():
    written = single()
    del written["schedulingProfiles"][0]["plugins"][1]
    assert custom(written) == []


def test_without_profiles_every_scorer_is_used():
    assert custom({"plugins": SINGLE["plugins"]}) == []


def test_several_profiles_need_a_handler_that_takes_several():
    assert custom(apart(without=["disagg-profile-handler", "always-disagg-pd-decider"]), prefill={}) == [
        "config.plugins: has no profile handler for 2 profiles; add one, such as disagg-profile-handler"
    ]
    replaced = apart({"type": "single-profile-handler"}, without=["disagg-profile-handler", "always-disagg-pd-decider"])
    assert custom(replaced, prefill={}) == [
        (
            "config.plugins[2].type: takes one profile of 2 (single-profile-handler); "
            "keep one of them, or use disagg-profile-handler"
        ),
        "config.plugins[2].type: never asks prefill pods (single-profile-handler); use a preset, or another handler",
    ]


def test_prefill_pods_are_asked_where_there_are_some():
    assert custom(single(), prefill={}) == [
        "config: sends nothing to prefill pods (no profile uses prefill-filter); add one, or use a preset"
    ]


def test_decode_is_kept_from_prefill_pods():
    written = apart(without=["decode-filter"])
    written["schedulingProfiles"][1]["plugins"] = []
    assert custom(written, prefill={}) == [
        "config: sends whole requests to prefill pods, too (no profile uses decode-filter); add one, or use a preset"
    ]


def test_a_filter_by_the_roles_label_is_as_good_as_the_roles_filter():
    by_label = {"type": "label-selector-filter", "parameters": {"matchLabels": {"llm-d.ai/role": "prefill"}}}
    written = apart(by_label, without=["prefill-filter"])
    written["schedulingProfiles"][0]["plugins"] = [{"pluginRef": "label-selector-filter"}]
    assert custom(written, prefill={}) == []


def test_prefill_is_asked_first_without_a_decider():
    handler = {"type": "disagg-profile-handler", "parameters": {"stageOrder": "prefill-first"}}
    written = apart(handler, without=["disagg-profile-handler", "always-disagg-pd-decider"])
    assert custom(written, prefill={}) == []


def test_a_decider_that_stands_behind_its_handler_is_refused_where_order_counts():
    handler = APART["plugins"][3]
    written = apart(without=["disagg-profile-handler"])
    written["plugins"].insert(0, handler)
    assert custom(written, prefill={}) == []
    assert custom(written, "llm-d-0.9", prefill={}) == [
        (
            "config.plugins[0].parameters.deciders.prefill: names a plugin that stands behind it "
            "(always-disagg-pd-decider); put that one first"
        )
    ]


PRECISE = [
    {"type": "token-producer", "parameters": {"modelName": "org/model"}},
    {"type": "endpoint-notification-source"},
]
NOTIFIED = {
    "sources": [
        {"pluginRef": "endpoint-notification-source", "extractors": [{"pluginRef": "precise-prefix-cache-producer"}]}
    ]
}


def precise(**parameters):
    return {"type": "precise-prefix-cache-producer", "parameters": parameters}


@pytest.mark.parametrize("key", ["blockSize", "blockSizeTokens"])
def test_the_block_size_is_the_engines(key):
    written = single(*PRECISE, precise(tokenProcessorConfig={key: 16}), dataLayer=NOTIFIED)
    assert custom(written, kvCache={"blockSize": 16}) == []
    assert custom(written) == [
        (
            f"config.plugins[4].parameters.tokenProcessorConfig.{key}: differs from the engine's (16, 64); "
            "write 64, or set kvCache.blockSize: 16"
        )
    ]


def test_the_pickers_own_block_size_is_not_relied_on():
    (line,) = custom(single(*PRECISE, precise(), dataLayer=NOTIFIED))
    at = "config.plugins[4].parameters.tokenProcessorConfig.blockSizeTokens"
    assert line == f"{at}: is missing, and the engine's is 64; write 64"


def test_events_that_come_to_the_picker_need_no_notification():
    events = {"kvEventsConfig": {"zmqEndpoint": "tcp://*:5557"}, "tokenProcessorConfig": {"blockSizeTokens": 64}}
    assert custom(single(PRECISE[0], precise(**events))) == []


def test_a_parameter_that_no_plugin_of_its_type_has_is_refused_without_its_value():
    written = single(
        {"type": "load-aware-scorer", "parameters": {"treshold": "hunter2"}},
        profile=[{"pluginRef": "load-aware-scorer"}],
    )
    assert custom(written) == [
        (
            "config.plugins[2].parameters.treshold: unknown parameter of load-aware-scorer (treshold); "
            "did you mean threshold?"
        )
    ]


def test_parameters_of_plugins_that_take_anything_are_not_checked():
    kind = "soft-reflective-ceiling-policy"
    flow = {"usageLimitPolicyPluginRef": kind}
    assert custom(single({"type": kind, "parameters": {"any": "thing"}}, flowControl=flow)) == []


def test_a_section_that_needs_a_gate_is_refused_without_it():
    section = {"sources": [{"pluginRef": "metrics-data-source", "extractors": []}]}
    written = single({"type": "metrics-data-source"}, data=section)
    assert custom(written, "gie-1.3") == [
        "config.data: is refused while dataLayer is off; add dataLayer to featureGates"
    ]
    assert custom(written | {"featureGates": ["dataLayer"]}, "gie-1.3") == []


def test_a_gate_cannot_be_switched_off_where_the_release_knows_no_values():
    assert custom(single(featureGates=["flowControl=false"])) == []
    (line,) = custom(single(featureGates=["flowControl=false"]), "llm-d-0.9")
    assert line.startswith("config.featureGates[0]: is no feature gate of llm-d-0.9 (flowControl=false)")


# Protocols, stability


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
    made = planned(endpointPicker={"preset": "custom", "config": written})
    assert "--allow-experimental-plugins=true" in made.arguments
    assert made.warnings[1] == (
        "endpointPicker.config.plugins[3].type: is experimental (topology-affinity-filter): the picker is started with "
        "--allow-experimental-plugins; expect it to change or to go without notice"
    )
    assert not any("experimental" in one for one in planned().arguments)


def test_an_alpha_scorer_by_its_weight_switches_the_flag_on():
    made = planned(endpointPicker={"scorerWeights": {"session-affinity-scorer": 1}})
    assert "--allow-experimental-plugins=true" in made.arguments


def test_a_release_without_stability_has_no_flag():
    made = planned("llm-d-0.9", endpointPicker={"scorerWeights": {"session-affinity-scorer": 1}})
    assert not any("experimental" in one for one in made.arguments)
    assert made.warnings == ()


def test_a_deprecated_plugin_is_told_with_what_takes_its_place():
    by_label = {"type": "by-label", "parameters": {"label": "tier"}}
    made = planned(endpointPicker={"preset": "custom", "config": single(by_label, profile=[{"pluginRef": "by-label"}])})
    assert made.warnings == (
        (
            "endpointPicker.config.plugins[2].type: is deprecated (by-label); "
            "use label-selector-filter before v0.11, which removes it"
        ),
    )


def test_a_deprecated_section_is_told():
    written = single(saturationDetector={"pluginRef": "utilization-detector"})
    made = planned(endpointPicker={"preset": "custom", "config": written})
    assert made.warnings == (
        (
            "endpointPicker.config.saturationDetector: is deprecated (saturationDetector); "
            "use flowControl.saturationDetector"
        ),
    )


@pytest.mark.parametrize(("release", "preset", "is_apart"), list(presets()))
def test_presets_have_no_warnings_but_that_of_the_seed_operators_order(release, preset, is_apart):
    found = channel(release).picker.presets[preset]
    warned = picker_lint.warnings("config", found.apart if is_apart else found.together, channel(release).picker)
    assert bool(warned) == (release == "llm-d-0.6" and is_apart)


# Flags


def test_flags_are_single_tokens_behind_ours_in_the_order_of_their_names():
    flags = {"zap-devel": "false", "drain-timeout": "60s"}
    made = planned(endpointPicker={"flags": flags})
    assert made.arguments == (*planned().arguments, "--drain-timeout=60s", "--zap-devel=false")


@pytest.mark.parametrize(
    "argument", planned(endpointPicker={"scorerWeights": {"session-affinity-scorer": 1}}).arguments
)
def test_no_flag_can_be_written_over(argument):
    name = argument.removeprefix("--").partition("=")[0]
    (line,) = said(endpointPicker={"flags": {name: "1"}})
    assert line.startswith(f"flags.{name}: is decided by this program ({name}); remove it")


@pytest.mark.parametrize("release", channels())
def test_a_rejected_flag_says_why(release):
    for name, reason in channel(release).picker.flags.rejected.items():
        assert said(release, endpointPicker={"flags": {name: "1"}}) == [
            f"flags.{name}: cannot be set ({name}); remove it: {reason}"
        ]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("drain-timeout", "1m30s", "90"), ("zap-devel", "true", "yes"), ("zap-time-encoding", "anything", None)],
)
def test_a_flags_value_has_its_shape(name, good, bad):
    assert said(endpointPicker={"flags": {name: good}}) == []
    if bad is not None:
        (line,) = said(endpointPicker={"flags": {name: bad}})
        assert line.startswith(f"flags.{name}: is not ")
        assert bad not in line.partition(";")[0]


# Robustness

KEYS = ["plugins", "type", "name", "parameters", "schedulingProfiles", "pluginRef", "featureGates", "unknown"]
JSON = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=True) | st.sampled_from(["", "queue-scorer", "x", "5s"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    written=st.dictionaries(
        st.sampled_from([*channel("llm-d-0.10").picker.config.shape, "parser", "data", "kind"]), JSON, max_size=4
    ),
    release=st.sampled_from(channels()),
    is_apart=st.booleans(),
)
def test_whatever_is_written_is_judged_without_a_crash(written, release, is_apart):
    context = Context(channel(release), is_apart, 64, vllm=True)
    found = picker_lint.problems("config", written, context)
    assert all(one.path.startswith("config") and one.what and one.remedy for one in found)
    assert picker_lint.warnings("config", written, channel(release).picker) is not None


@settings(deadline=None)
@given(word=st.sampled_from(["boolean", "duration", "integer", "number", "quantity", "text"]), value=JSON)
def test_a_value_that_does_not_fit_is_reported_without_being_shown(word, value):
    found = list(shapes.problems(shapes.Reading("here"), value, word))
    assert bool(found) == (not shapes.fits(value, word))
    assert all(repr(value) not in one.what for one in found if len(repr(value)) > 8)
