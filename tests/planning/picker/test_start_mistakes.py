"""Refusals of the picker beyond single values: data without a producer, sources, combinations, and its header."""

import pytest
import yaml

from cli import lint
from planning.releases import channel
from tests.support.stacks.picker_configs import config, custom, said, single, warned


def judged(plugins, release="llm-d-0.10", **keys):
    """Return the findings in a configuration alone, without those that only cannot be meant."""
    text = yaml.safe_dump({"plugins": plugins, **keys})
    return [str(finding.problem) for finding in lint.judge(text, channel(release)).findings if finding.reason is None]


def source(name, *extractors):
    return {"pluginRef": name, "extractors": [{"pluginRef": extractor} for extractor in extractors]}


PODS = {"type": "k8s-notification-source", "parameters": {"version": "v1", "kind": "Pod"}}
TWO_WATCHES = [PODS, PODS | {"name": "again"}]


@pytest.mark.parametrize(
    ("plugins", "keys", "expected"),
    [
        (
            [{"type": "token-load-scorer"}],
            {},
            (
                "plugins[0].type: needs uncached tokens, which no plugin called inflight-load-producer produces "
                "(token-load-scorer); declare inflight-load-producer under plugins"
            ),
        ),
        (
            [{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "nosuch"}}],
            {},
            (
                "plugins[0].parameters.prefixMatchInfoProducerName: names no plugin that produces prefix cache matches "
                "(nosuch); name such a plugin, or remove it"
            ),
        ),
        (
            TWO_WATCHES,
            {"dataLayer": {"sources": [source("k8s-notification-source"), source("again")]}},
            ("dataLayer.sources[1].pluginRef: watches the same objects as an earlier source (again); keep one of them"),
        ),
        (
            [{"type": "models-data-source"}],
            {"dataLayer": {"sources": [source("models-data-source", "core-metrics-extractor")]}},
            (
                "dataLayer.sources[0].extractors[0].pluginRef: cannot read from models-data-source "
                "(core-metrics-extractor); list it under another source"
            ),
        ),
        (
            [{"type": "random-picker"}],
            {"dataLayer": {"injectDefaults": False}},
            ("dataLayer.sources: is missing, and injectDefaults is false; add a data source, or remove injectDefaults"),
        ),
        (
            [{"type": "program-aware-fairness"}, {"type": "program-aware-fairness", "name": "other"}],
            {},
            "plugins[1].type: can be declared only once (program-aware-fairness); keep one of them",
        ),
        (
            [{"type": "queue-scorer", "name": "openai-parser"}],
            {},
            (
                "plugins[0].name: is the name by which the picker looks for a parser (openai-parser); "
                "give it another name"
            ),
        ),
        (
            [{"type": "queue-scorer"}],
            {"apiVersion": "llm-d.ai/v1"},
            "apiVersion: is not read by llm-d-router v0.11 of llm-d-0.10 (llm-d.ai/v1); write llm-d.ai/v1alpha1",
        ),
        (
            [{"type": "max-score-picker"}, {"type": "random-picker"}],
            {},
            (
                "plugins[1]: is a second picker, and a configuration without profiles uses all pickers "
                "(random-picker); keep one of them, or write schedulingProfiles"
            ),
        ),
    ],
)
def test_a_mistake_is_named_where_it_is(plugins, keys, expected):
    assert judged(plugins, **keys) == [expected]


def test_a_list_in_the_place_of_a_name_is_a_mistake_and_no_internal_error():
    (problem,) = judged([{"type": "queue-scorer"}], dataLayer={"sources": [{"pluginRef": ["metrics-data-source"]}]})
    assert problem.startswith("dataLayer.sources[0].pluginRef: ")


def test_a_file_with_its_header_is_taken_as_it_is():
    for version in ("llm-d.ai/v1alpha1", "inference.networking.x-k8s.io/v1alpha1"):
        written = {"apiVersion": version, "kind": "EndpointPickerConfig", **single()}
        assert custom(written) == []
        assert config(endpointPicker={"preset": "custom", "config": written})["apiVersion"] == "llm-d.ai/v1alpha1"
    assert warned(endpointPicker={"preset": "custom", "config": written}) == [
        (
            "services.qwen.endpointPicker.config.apiVersion: is deprecated (inference.networking.x-k8s.io/v1alpha1); "
            "use llm-d.ai/v1alpha1"
        )
    ]


def test_values_that_the_picker_replaces_are_warnings():
    written = single()
    written["plugins"][1]["parameters"] = {"maxNumOfEndpoints": 0}
    spec = {"preset": "custom", "config": written}
    assert said(endpointPicker=spec) == []
    assert warned(endpointPicker=spec) == [
        (
            "services.qwen.endpointPicker.config.plugins[1].parameters.maxNumOfEndpoints: is not above 0, "
            "so the picker uses another value; write a value above 0"
        )
    ]


def test_what_presets_and_weights_make_is_judged_by_the_same_linter():
    bands = {"priorityBands": [{"priority": 1}, {"priority": 1}]}
    assert said(endpointPicker={"flowControl": bands}) == [
        "flowControl.priorityBands: holds the same priority twice; remove one of them"
    ]
    assert said(endpointPicker={"scorerWeights": {"token-load-scorer": 1}}) == [
        (
            "scorerWeights.token-load-scorer: needs uncached tokens, which no plugin called inflight-load-producer "
            "produces (token-load-scorer); declare inflight-load-producer under plugins"
        )
    ]


def test_every_plugin_of_the_two_releases_names_its_source():
    for release in ("llm-d-0.8", "llm-d-0.9", "llm-d-0.10"):
        table = channel(release).picker.plugins.table
        assert [name for name, plugin in table.items() if not plugin.source or plugin.parameters is None] == []
        assert "'any'" not in str([plugin.parameters for plugin in table.values()])
