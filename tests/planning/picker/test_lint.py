"""Mistakes in a user's own configuration of the picker are found, whatever is written."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.paths import Path
from models.problems import errors
from planning.picker import lint as picker_lint
from planning.picker.lint import VariantFacts
from planning.releases import channel, channels
from tests.support.stacks import lines, plan, tree
from tests.support.stacks.picker_configs import SINGLE, custom, said, single, warned

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


def apart(*more, without=(), **keys):
    written = copy.deepcopy(APART) | keys
    written["plugins"] = [plugin for plugin in written["plugins"] if plugin["type"] not in without] + list(more)
    return written


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
            "plugins[2]: is used nowhere (edf-ordering-policy); refer to it where it is needed, or remove it",
        ),
        (
            single(profile=[{"pluginRef": "decode-filter"}]),
            "schedulingProfiles[0].plugins[0].pluginRef: names no plugin (decode-filter); declare it under plugins",
        ),
        (
            single({"type": "header-profile-handler"}, {"type": "single-profile-handler"}),
            (
                "plugins[3].type: is a second profile handler beside header-profile-handler (single-profile-handler); "
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
        ({}, "plugins: is missing; declare plugins: a list of {type: …}"),
    ],
)
def test_a_mistake_in_the_graph_is_named_where_it_is(written, expected):
    assert custom(written) == [f"config.{expected}"]


def test_a_profile_takes_one_picker():
    (line,) = custom(single({"type": "random-picker"}, profile=[{"pluginRef": "random-picker"}]))
    assert line.startswith("config.schedulingProfiles[0].plugins[2]: is a second picker in one profile")


def test_a_picker_that_stands_in_front_is_a_warning():
    written = single()
    written["schedulingProfiles"][0]["plugins"].reverse()
    spec = {"preset": "custom", "config": written}
    assert said(endpointPicker=spec) == []
    assert warned(endpointPicker=spec) == [
        (
            "services.qwen.endpointPicker.config.schedulingProfiles[0].plugins[0]: stands before other plugins, but a "
            "picker always runs last (max-score-picker); put it last"
        )
    ]


def test_a_profile_without_a_picker_uses_a_declared_one():
    written = single()
    del written["schedulingProfiles"][0]["plugins"][1]
    assert custom(written) == []


def test_without_profiles_every_scorer_is_used():
    assert custom({"plugins": SINGLE["plugins"]}) == []


def test_several_profiles_need_a_handler_that_takes_several():
    assert custom(apart(without=["disagg-profile-handler", "always-disagg-pd-decider"]), prefill={}) == [
        "config.plugins: has no profile handler for 2 profiles; add a profile handler, such as disagg-profile-handler"
    ]
    replaced = apart({"type": "single-profile-handler"}, without=["disagg-profile-handler", "always-disagg-pd-decider"])
    assert custom(replaced, prefill={}) == [
        (
            "config.plugins[2].type: takes only one of 2 profiles (single-profile-handler); "
            "keep one profile, or use disagg-profile-handler"
        ),
        "config.plugins[2].type: never asks prefill pods (single-profile-handler); use a preset, or another handler",
    ]


def test_prefill_pods_are_asked_where_there_are_some():
    assert custom(single(), prefill={}) == [
        (
            "config: sends nothing to prefill pods (no profile uses prefill-filter); "
            "add a profile with prefill-filter, or use a preset"
        )
    ]


def test_decode_is_kept_from_prefill_pods():
    written = apart(without=["decode-filter"])
    written["schedulingProfiles"][1]["plugins"] = []
    assert custom(written, prefill={}) == [
        (
            "config: sends whole requests to prefill pods, too (no profile uses decode-filter); "
            "add a profile with decode-filter, or use a preset"
        )
    ]


def test_a_filter_by_the_roles_label_is_as_good_as_the_roles_filter():
    by_label = {"type": "label-selector-filter", "parameters": {"matchLabels": {"llm-d.ai/role": "prefill"}}}
    written = apart(by_label, without=["prefill-filter"])
    written["schedulingProfiles"][0]["plugins"] = [{"pluginRef": "label-selector-filter"}]
    assert custom(written, prefill={}) == []


def test_a_decider_that_stands_behind_its_handler_is_refused_where_order_counts():
    handler = APART["plugins"][3]
    written = apart(without=["disagg-profile-handler"])
    written["plugins"].insert(0, handler)
    assert custom(written, prefill={}) == []
    assert custom(written, "llm-d-0.8", prefill={}) == [
        (
            "config.plugins[0].parameters.deciders.prefill: names a plugin that is declared later "
            "(always-disagg-pd-decider); declare it first"
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
            f"config.plugins[4].parameters.tokenProcessorConfig.{key}: is 16, but the engine's block size is 64; "
            "write 64, or set kvCache.blockSize: 16"
        )
    ]


def test_the_pickers_own_block_size_is_not_relied_on():
    (line,) = custom(single(*PRECISE, precise(), dataLayer=NOTIFIED))
    at = "config.plugins[4].parameters.tokenProcessorConfig.blockSizeTokens"
    assert line == f"{at}: is missing, and the engine's block size is 64; write 64"


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


def test_parameters_that_a_plugin_ignores_are_told():
    """See defects S4."""
    written = single()
    written["plugins"][0]["parameters"] = {"treshold": 5}
    spec = {"preset": "custom", "config": written}
    assert said(endpointPicker=spec) == []
    assert warned(endpointPicker=spec) == [
        (
            "services.qwen.endpointPicker.config.plugins[0].parameters.treshold: has no effect, because queue-scorer "
            "reads no parameters; remove it"
        )
    ]


def test_a_section_that_needs_a_gate_is_refused_without_it():
    section = {"sources": [{"pluginRef": "metrics-data-source", "extractors": []}]}
    written = single({"type": "metrics-data-source"}, data=section)
    assert custom(written, "gie-1.3") == [
        "config.data: is refused while dataLayer is off; add dataLayer to featureGates"
    ]
    assert custom(written | {"featureGates": ["dataLayer"]}, "gie-1.3") == []


def test_a_gate_cannot_be_switched_off_where_the_release_knows_no_values():
    assert custom(single(featureGates=["flowControl=false"])) == []
    (line,) = custom(single(featureGates=["flowControl=false"]), "llm-d-0.8")
    assert line.startswith("config.featureGates[0]: is no feature gate of llm-d-0.8 (flowControl=false)")


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
    context = VariantFacts(channel(release), is_apart, 64, vllm=True)
    verdict = list(picker_lint.judge(Path("config"), written, context))
    assert all(problem.path.is_within(Path("config")) and problem.what for problem in verdict)
    assert all(problem.remedy for problem in errors(verdict))


@pytest.mark.parametrize("release", ["llm-d-0.9", "llm-d-0.8", "llm-d-0.6"])
def test_a_handler_that_sends_requests_to_another_port_is_refused_and_one_that_does_not_is_not(release):
    for port, refused in ((0, False), (8000, True), (8200, True)):
        parameters = {"deciderPluginName": "prefix-based-pd-decider", "primaryPort": port}
        decider = {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 16}}
        more = (decider, {"type": "pd-profile-handler", "parameters": parameters})
        written = apart(*more, without=("always-disagg-pd-decider", "disagg-profile-handler"))
        messages = [line for line in custom(written, release, prefill={}) if "primaryPort" in line]
        assert len(messages) == refused
        assert all(line.startswith("config.plugins[3].parameters.primaryPort: cannot be used") for line in messages)


PRODUCER = "approx-prefix-cache-producer"


@pytest.mark.parametrize("release", ["llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_a_producer_in_a_profile_is_passed_over_and_told(release):
    """See defects S3."""
    written = single({"type": PRODUCER}, profile=[{"pluginRef": PRODUCER}])
    spec = {"preset": "custom", "config": written}
    entries = written["schedulingProfiles"][0]["plugins"]
    (place,) = [index for index, entry in enumerate(entries) if entry["pluginRef"] == PRODUCER]
    assert custom(written, release) == []
    planned_stack = plan(tree(qwen={"endpointPicker": spec}) | {"release": release})
    text = (
        f"services.qwen.endpointPicker.config.schedulingProfiles[0].plugins[{place}]: has no effect in a profile, "
        f"because it is a producer ({PRODUCER}); remove the entry; a declared producer works without one"
    )
    assert text in lines(planned_stack.warnings, "warning")


def test_a_deprecated_plugin_is_told_with_what_takes_its_place():
    by_label = {"type": "by-label", "parameters": {"label": "tier", "allowsNoLabel": True}}
    written = single(by_label, profile=[{"pluginRef": "by-label"}])
    (line,) = warned("llm-d-0.9", endpointPicker={"preset": "custom", "config": written})
    assert line.startswith(
        "services.qwen.endpointPicker.config.plugins[2].type: is deprecated (by-label); "
        "write {type: label-selector-filter, parameters: {matchExpressions: "
    )
    assert "}, because llm-d-router v0.11 removes it" in line


def test_a_deprecated_section_is_told():
    written = single(saturationDetector={"pluginRef": "utilization-detector"})
    (line,) = warned("llm-d-0.9", endpointPicker={"preset": "custom", "config": written})
    assert line.startswith(
        "services.qwen.endpointPicker.config.saturationDetector: is deprecated (saturationDetector); "
        "write flowControl: {saturationDetector: {pluginRef: DETECTOR}}, because llm-d-router v0.11 removes it"
    )


def test_prefill_is_asked_first_without_a_decider():
    handler = {"type": "disagg-profile-handler", "parameters": {"stageOrder": "prefill-first"}}
    written = apart(handler, without=["disagg-profile-handler", "always-disagg-pd-decider"])
    assert custom(written, prefill={}) == []
