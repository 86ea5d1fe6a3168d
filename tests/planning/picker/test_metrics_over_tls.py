"""Metrics of prefill pods that serve TLS."""

import pytest
import yaml

from tests.support.stacks import find, lines, plan, rendered, tree

TLS = {"prefill": {}, "sidecar": {"tls": {"prefill": True, "certificate": "serving"}}}
CORE = [{"pluginRef": "core-metrics-extractor"}]
SOURCES = [
    {"pluginRef": "metrics-data-source", "extractors": CORE},
    {"pluginRef": "tls-metrics-data-source", "extractors": CORE},
]
HTTPS = {"scheme": "https", "insecureSkipVerify": True}
AT = "services.qwen.sidecar.tls.prefill: the picker cannot read the load of prefill pods, and treats them as full"
PLUGINS = [
    {"type": "decode-filter"},
    {"type": "prefill-filter"},
    {"type": "always-disagg-pd-decider"},
    {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
]
PROFILES = [{"name": role, "plugins": [{"pluginRef": f"{role}-filter"}]} for role in ("prefill", "decode")]
CONFIG = {"plugins": PLUGINS, "schedulingProfiles": PROFILES}


def stack(release="llm-d-0.10", service=None, **endpoint_picker):
    return tree(qwen={**(TLS if service is None else service), "endpointPicker": endpoint_picker}) | {
        "release": release
    }


def configuration(stack):
    return yaml.load(find(rendered(stack), "ConfigMap", "qwen-epp")["data"]["config.yaml"], yaml.CSafeLoader)


@pytest.mark.parametrize("release", ["llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_a_picker_asks_pods_with_and_without_tls(release):
    """A source asks every pod by one scheme; what it cannot read, the other one reads. See defects A11."""
    config = configuration(stack(release))
    plugins = {item.get("name", item["type"]): item for item in config["plugins"]}
    assert config["dataLayer"] == {"sources": SOURCES}
    assert plugins["tls-metrics-data-source"]["type"] == "metrics-data-source"
    assert plugins["tls-metrics-data-source"]["parameters"] == HTTPS
    assert {"metrics-data-source", "core-metrics-extractor"} <= plugins.keys()


def test_further_sources_of_a_preset_stay():
    sources = configuration(stack(preset="precise-prefix-cache"))["dataLayer"]["sources"]
    assert [item["pluginRef"] for item in sources] == [
        "endpoint-notification-source",
        *(item["pluginRef"] for item in SOURCES),
    ]


@pytest.mark.parametrize("service", [{}, {"prefill": {}}])
def test_a_picker_of_pods_without_tls_is_told_nothing_of_metrics(service):
    assert "dataLayer" not in configuration(stack(service=service))


def test_a_release_that_asks_in_one_way_is_told_with_the_loss():
    message = f"{AT}: the picker of llm-d-0.6 asks every pod by HTTP; choose a newer release"
    assert message in lines(plan(stack("llm-d-0.6")).warnings, "warning")


def test_a_configuration_that_asks_in_one_way_is_told_with_the_loss():
    message = f"{AT}: no data source of endpointPicker.config asks by HTTPS; "
    message += "declare a second metrics-data-source with another name and scheme: https"
    assert lines(plan(stack(preset="custom", config=CONFIG)).warnings, "warning") == [message]


def test_a_configuration_that_asks_in_both_ways_is_as_written():
    source = {"type": "metrics-data-source", "name": "of-prefill", "parameters": HTTPS}
    layer = {"sources": [{"pluginRef": "of-prefill", "extractors": CORE}]}
    config = {**CONFIG, "plugins": [*PLUGINS, source], "dataLayer": layer}
    both = stack(preset="custom", config=config)
    assert lines(plan(both).warnings, "warning") == []
    assert configuration(both)["dataLayer"] == layer
