"""A stack that uses what leaves the router is expected so by version, and a stack with the replacement is sound."""

import typing

import pytest

from planning.releases import channel, channels, departures
from planning.releases.departures import Departure, Kind
from tests.support.stacks.picker_configs import said, single, warned

ALL = [departure for kind in typing.get_args(Kind) for departure in departures.of_kind(kind).values()]
BLOCKS = {"tokenProcessorConfig": {"blockSizeTokens": 64}}
TOKENS = {"modelName": "org/model", "vllm": {"url": "http://render:8000"}}
NOTIFIED = {
    "sources": [
        {"pluginRef": "endpoint-notification-source", "extractors": [{"pluginRef": "precise-prefix-cache-producer"}]}
    ]
}
DECIDERS = {"prefill": "always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}
SELECTOR = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}


def filtered(kind, parameters):
    """Return a configuration with a filter."""
    return single({"type": kind, "parameters": parameters}, profile=[{"pluginRef": kind}])


def apart(*more, handler="disagg-profile-handler", **parameters):
    """Return a configuration with prefill and decode, whose profile handler has the parameters."""
    profiles = ("prefill", "decode")
    deciders = [kind for kind in DECIDERS.values() if kind in str(parameters)]
    kinds = ("prefill-filter", "decode-filter", *deciders)
    return {
        "plugins": [*({"type": kind} for kind in kinds), {"type": handler, "parameters": parameters}, *more],
        "schedulingProfiles": [{"name": name, "plugins": [{"pluginRef": f"{name}-filter"}]} for name in profiles],
    }


def flat(**parameters):
    return apart(
        **{"prefillDeciderPluginName": "always-disagg-pd-decider"}
        | {"encodeDeciderPluginName": "always-disagg-multimodal-decider"}
        | parameters
    )


NESTED = apart(deciders=DECIDERS, profiles={"prefill": "prefill", "decode": "decode", "encode": "prefill"})


def fair(**parameters):
    plugin = {"type": "program-aware-fairness", "parameters": parameters}
    return single(plugin, flowControl={"defaultPriorityBand": {"fairnessPolicyRef": plugin["type"]}})


def roles(*values):
    selector = {"matchExpressions": [{"key": "llm-d.ai/role", "operator": "In", "values": list(values)}]}
    return filtered("label-selector-filter", selector)


CONFIGS = {
    "by-label": (
        filtered("by-label", {"label": "tier", "validValues": ["gold"]}),
        filtered("label-selector-filter", SELECTOR),
    ),
    "by-label-selector": (filtered("by-label-selector", SELECTOR), filtered("label-selector-filter", SELECTOR)),
    "disagg-headers-handler": (apart({"type": "disagg-headers-handler"}, deciders=DECIDERS), NESTED),
    "prefill-header-handler": (apart({"type": "prefill-header-handler"}, deciders=DECIDERS), NESTED),
    "pd-profile-handler": (
        apart(handler="pd-profile-handler", deciderPluginName="always-disagg-pd-decider"),
        NESTED,
    ),
    "tokenizer": (
        single({"type": "tokenizer", "parameters": TOKENS}),
        single({"type": "token-producer", "parameters": TOKENS}),
    ),
    "precise-prefix-cache-scorer": (
        filtered("precise-prefix-cache-scorer", BLOCKS),
        single(
            {"type": "token-producer", "parameters": TOKENS},
            {"type": "endpoint-notification-source"},
            {"type": "precise-prefix-cache-producer", "parameters": BLOCKS},
            {
                "type": "prefix-cache-scorer",
                "parameters": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"},
            },
            profile=[{"pluginRef": "prefix-cache-scorer"}],
            dataLayer=NOTIFIED,
        ),
    ),
    "disagg-profile-handler.decodeProfile": (flat(decodeProfile="decode"), NESTED),
    "disagg-profile-handler.prefillProfile": (flat(prefillProfile="prefill"), NESTED),
    "disagg-profile-handler.encodeProfile": (flat(encodeProfile="prefill"), NESTED),
    "disagg-profile-handler.deciderPluginName": (apart(deciderPluginName="always-disagg-pd-decider"), NESTED),
    "disagg-profile-handler.prefillDeciderPluginName": (flat(), NESTED),
    "disagg-profile-handler.encodeDeciderPluginName": (flat(), NESTED),
    "token-producer.udsTokenizerConfig": (
        single({"type": "token-producer", "parameters": {"modelName": "org/model", "udsTokenizerConfig": {}}}),
        single({"type": "token-producer", "parameters": TOKENS}),
    ),
    "program-aware-fairness.lasDecayFactor": (fair(lasDecayFactor=0.5), fair(lasHalfLifeSeconds=60)),
    "saturationDetector": (
        single(saturationDetector={"pluginRef": "utilization-detector"}),
        single(flowControl={"saturationDetector": {"pluginRef": "utilization-detector"}}),
    ),
    "parser": (
        single(parser={"pluginRef": "openai-parser"}),
        single(requestHandler={"parsers": [{"pluginRef": "openai-parser"}]}),
    ),
    "both": (roles("decode", "both"), roles("decode", "prefill-decode")),
}
"""Configurations of the picker by what leaves: one that uses it, and one with the replacement."""
FLAGS = {
    "model-server-metrics-https-insecure-skip-verify": ("true", {"scheme": "https", "insecureSkipVerify": True}),
    "model-server-metrics-path": ("/load", {"path": "/load"}),
    "model-server-metrics-port": ("8000", {}),
    "model-server-metrics-scheme": ("https", {"scheme": "https"}),
}
"""Flags of the picker that leave: a value, and the parameters that replace the flag."""


def written(config):
    return {"endpointPicker": {"preset": "custom", "config": config}}


def argument(flag):
    """Return a service whose sidecar is patched to get a flag."""
    proxy = {"name": "routing-proxy", "args": [flag]}
    return {"prefill": {}, "patch": {"spec": {"template": {"spec": {"initContainers": [proxy]}}}}}


def query(series):
    """Return a service that KEDA scales by a query of the user's own."""
    metadata = {"serverAddress": "http://prometheus:9090", "threshold": "5", "query": f'sum({series}{{pool="a"}})'}
    metric = {"type": "custom", "spec": {"type": "prometheus", "metadata": metadata}}
    return {"autoscaling": {"type": "keda", "maxReplicas": 2, "metrics": [metric]}}


def examples(departure):
    """Return two services: one that uses what leaves, and one with the replacement."""
    match departure.kind:
        case "metric":
            return query(departure.name), query(departure.remedy.removeprefix("write "))
        case "sidecar-flag":
            return argument(f"--{departure.name}=a"), argument(departure.remedy.removeprefix("write "))
        case "flag":
            value, parameters = FLAGS[departure.name]
            source = single({"type": "metrics-data-source", "parameters": parameters})
            return {"endpointPicker": {"flags": {departure.name: value}}}, written(source)
        case _:
            used, replaced = CONFIGS[departure.name]
            prefill = {"prefill": {}} if "schedulingProfiles" in used and len(used["schedulingProfiles"]) > 1 else {}
            return written(used) | prefill, written(replaced) | prefill


@pytest.fixture
def router(monkeypatch):
    """Give the routers of all channels a version."""

    def give(version):
        monkeypatch.setattr(departures, "router", lambda _: version)

    return give


def channel_before(departure):
    """Return the newest channel whose router has what leaves; its table knows the name."""
    having = [name for name in channels() if _is_before(name, departure)]
    return max(having, key=lambda name: departures.order(departures.router(channel(name))))


def _is_before(name, departure):
    version = departures.router(channel(name))
    last = departure.until or "v999"
    return version is not None and departures.order(version) < departures.order(last)


@pytest.mark.parametrize("departure", ALL, ids=lambda departure: departure.name)
def test_what_is_gone_is_refused_with_its_replacement(departure, router):
    if departure.until is None:
        assert departure.since
        return
    used, _ = examples(departure)
    router(departure.until)
    expected = f"is gone since llm-d-router {departure.until} ({departure.name}; llm-d-0.10 has {departure.until}); "
    assert [line for line in said(**used) if line.endswith(expected + departure.remedy)]


@pytest.mark.parametrize("departure", ALL, ids=lambda departure: departure.name)
def test_what_leaves_later_is_told_with_the_router_that_removes_it(departure, router):
    release = channel_before(departure)
    if departure.since is None or departure.name == "model-server-metrics-port":
        assert departure.until
        return
    used, _ = examples(departure)
    router(departure.since)
    remover = f"llm-d-router {departure.until}" if departure.until else "a later llm-d-router"
    expected = f"is deprecated ({departure.name}); {departure.remedy}, because {remover} removes it"
    assert [line for line in warned(release, **used) if expected in line]


@pytest.mark.parametrize("departure", ALL, ids=lambda departure: departure.name)
def test_the_replacement_is_sound_where_the_name_is_gone(departure, router):
    _, replaced = examples(departure)
    router(departure.until or departure.since)
    assert said(**replaced) == []
    assert [line for line in warned(**replaced) if "is deprecated" in line] == []


@pytest.mark.parametrize("departure", ALL, ids=lambda departure: departure.name)
def test_a_name_leaves_after_its_replacement_has_come(departure):
    if departure.since and departure.until:
        assert departures.order(departure.since) < departures.order(departure.until)


def test_the_tables_of_plugins_name_the_same_version():
    plugins = departures.of_kind("plugin")
    for name in channels():
        for kind, plugin in channel(name).picker.plugins.table.items():
            if plugin.deprecated is not None and plugin.deprecated.removed:
                assert plugins[kind].until == plugin.deprecated.removed


def test_a_channel_with_another_picker_has_no_router():
    assert departures.router(channel("gie-1.3")) is None
    assert departures.router(channel("llm-d-0.9")) == "v0.10"
    assert warned("gie-1.3", **query("inference_objective_running_requests")) == []


def test_the_channel_that_removes_a_name_is_told():
    (line,) = warned("llm-d-0.8", endpointPicker={"flags": {"model-server-metrics-path": "/load"}})
    assert line.endswith("because llm-d-router v0.10 removes it (release llm-d-0.9)")


def test_channels_are_ordered_by_the_versions_of_their_routers():
    names = departures.by_age()
    assert sorted(names) == sorted(channels())
    assert names[-3:] == ("llm-d-0.8", "llm-d-0.9", "llm-d-0.10")


@pytest.mark.parametrize("ending", ["_bucket", "_sum", "_count"])
def test_a_series_of_a_histogram_leaves_with_its_histogram(ending, router):
    name = "inference_objective_request_duration_seconds"
    assert departures.base_of_series(name + ending) == name
    router("v0.11")
    assert any(f"({name}; " in line for line in said(**query(name + ending)))


def test_a_longer_name_is_another_series(router):
    router("v0.11")
    assert said(**query("my_inference_objective_request_total")) == []


def test_a_departure_has_a_kind_that_messages_know():
    assert {type(departure) for departure in ALL} == {Departure}
    assert {departure.kind for departure in ALL} == set(typing.get_args(Kind))
