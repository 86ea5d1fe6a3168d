"""Problems of values that services inherit: which of them count, and whom the messages name."""

from dataclasses import replace

import pytest
import yaml

from models.load import load
from models.paths import Path
from models.problems import ConfigError, Problem
from tests.support.stacks import GATEWAY, find, plan, rendered, tree
from tests.support.stacks.shapes import told

WEIGHTS = {"scorerWeights": {"queue-scorer": 5}}
PREDICTOR = {"latencyPredictor": {"trainingServer": "http://train:80", "predictionServers": ["http://predict:80"]}}
CONFIG = {
    "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}],
    "schedulingProfiles": [
        {"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 1}, {"pluginRef": "max-score-picker"}]}
    ],
}
CUSTOM = {"preset": "custom", "config": CONFIG}
FLOW = {"flowControl": {"defaultRequestTTL": "2m"}}
OWN_FLOW = {**CONFIG, "flowControl": {"defaultRequestTTL": "9m"}}
COMPANIONS = {
    "weights-and-a-custom-configuration": (WEIGHTS, CUSTOM),
    "a-predictor-and-another-preset": (PREDICTOR, {"preset": "approximate-prefix-cache"}),
    "a-configuration-and-a-preset": ({"config": CONFIG}, {"preset": "approximate-prefix-cache"}),
    "flow-control-twice": (FLOW, {"preset": "custom", "config": OWN_FLOW}),
}
IMAGE = {"model": {"name": "org/m", "source": f"image://registry.example/server@sha256:{'0f' * 32}"}}
INHERITED = {
    "memory-of-devices-on-cpu": ({"acceleratorMemory": "80Gi"}, {"accelerator": "cpu"}),
    "an-image-beside-that-of-the-weights": ({"engine": {"image": "registry.example/vllm:v1"}}, IMAGE),
    "a-sidecar-without-prefill": ({"sidecar": {"logLevel": "debug"}}, {}),
    "a-certificate-without-tls": (
        {"sidecar": {"tls": {"prefill": True, "certificate": "serving"}}},
        {"prefill": {}, "sidecar": {"tls": {"prefill": False}}},
    ),
}


def picker_text(stack, name="qwen-epp"):
    return yaml.load(find(rendered(stack), "ConfigMap", name)["data"]["config.yaml"], yaml.CSafeLoader)


@pytest.mark.parametrize(("inherited", "service"), COMPANIONS.values(), ids=COMPANIONS.keys())
def test_a_companion_of_an_inherited_preset_is_dropped_by_another_preset(inherited, service):
    """See defects C7."""
    alone = tree(qwen={"endpointPicker": service})
    assert rendered(alone | {"defaults": {"endpointPicker": inherited}}) == rendered(alone)


@pytest.mark.parametrize(("inherited", "service"), COMPANIONS.values(), ids=COMPANIONS.keys())
def test_a_companion_of_a_services_preset_is_dropped_by_the_preset_of_its_canary(inherited, service):
    """See defects C7."""
    preset = {"latencyPredictor": {"preset": "predicted-latency"}, "config": {"preset": "custom"}}
    (companion,) = inherited
    canary = {"weight": 10, "endpointPicker": service}
    stack = tree(qwen={"endpointPicker": {**preset.get(companion, {}), **inherited}, "canary": canary})
    alone = tree(qwen={"canary": canary})
    assert picker_text(stack, "qwen-canary-epp") == picker_text(alone, "qwen-canary-epp")


@pytest.mark.parametrize(("inherited", "service"), INHERITED.values(), ids=INHERITED.keys())
def test_what_has_no_effect_is_a_mistake_only_where_it_is_written(inherited, service):
    """See defects C7."""
    alone = tree(qwen=service)
    assert rendered(alone | {"defaults": inherited}) == rendered(alone)
    assert plan(alone | {"defaults": inherited}).warnings == plan(alone).warnings


@pytest.mark.parametrize(("inherited", "service"), [*COMPANIONS.values(), *INHERITED.values()])
def test_what_a_service_says_itself_is_a_mistake(inherited, service):
    nested = not {"acceleratorMemory", "engine", "sidecar"} & inherited.keys()
    keys = {"endpointPicker": {**inherited, **service}} if nested else {**inherited, **service}
    if "sidecar" in service:
        keys = {"prefill": {}, "sidecar": {"tls": {"prefill": False, "certificate": "serving"}}}
    (line,) = told(tree(qwen=keys))
    assert line.startswith("services.qwen.")


def test_inherited_time_limits_are_dropped_where_the_gateway_takes_none():
    """See defects C7."""
    gateway, limits = {**GATEWAY, "provider": "gke"}, {"defaults": {"route": {"timeouts": {"request": "5m"}}}}
    made = rendered(tree(qwen={}, bert={"route": {"gateway": gateway}}) | limits)
    timeouts = {name: find(made, "HTTPRoute", name)["spec"]["rules"][0].get("timeouts") for name in ("qwen", "bert")}
    assert timeouts == {"qwen": {"request": "5m"}, "bert": None}


def claimed(*keys):
    """Return a stack whose services all claim the requests of one path."""
    return tree(**{key: {} for key in keys}) | {"defaults": {"route": {"matches": [{"path": "/x"}]}}}


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("ab", "services.b"),
        ("abc", "services.b and services.c"),
        ("abcd", "services.b, services.c and services.d"),
        ("abcde", "services.b, services.c, services.d and services.e"),
        ("abcdefg", "services.b, services.c, services.d and 3 more"),
    ],
)
def test_a_problem_of_defaults_names_all_services_that_it_hits(keys, named):
    """See defects C8."""
    what = f"is taken on gateways/gateway by services.a (/x, any host), for {named}"
    assert told(claimed(*keys)) == [
        f"defaults.route.matches[0].path: {what}; give one of the two routes another path or hostname"
    ]


def test_a_problem_of_defaults_that_hits_every_service_names_none():
    (line,) = told(tree(a={}, ab={}) | {"defaults": {"drainTimeout": "45s", "engine": {"image": "x.example/y:latest"}}})
    assert line.startswith("defaults.engine.image: names a tag that moves to newer images (latest); ")


def test_a_message_that_names_its_service_names_it_once():
    template = {"defaults": {"route": {"matches": [{"path": "/{.metadata.labels['team']}"}]}}}
    (line,) = told(tree(a={}, ab={"labels": {"team": "one"}}) | template)
    assert line.count("services.") == 1
    (longer,) = told(tree(a={"labels": {"team": "one"}}, ab={}) | template)
    assert longer.count("services.ab") == 1


def test_a_message_about_an_access_mode_names_its_service_once():
    storage = {"type": "dedicated", "storageClassName": "fast", "size": "1Gi", "accessMode": "ReadWriteOnce"}
    stack = tree(a={}, b={"replicas": 1, "rollout": {"type": "Recreate"}})
    (line,) = told(stack | {"defaults": {"replicas": 2, "rollout": {"type": "Recreate"}, "storage": storage}})
    assert line.startswith("defaults.storage.accessMode: only one node can mount the claim, but up to 2 replicas of ")
    assert line.count("services.a") == 1


def test_a_value_that_could_not_be_read_is_reported_once_for_all_that_inherit_it():
    services = {key: {"accelerator": "nvidia"} for key in ("qwen", "llama")}
    lacking = {"namespace": "models", "gateway": GATEWAY, "defaults": {"replicas": "x"}, "services": services}
    late = Problem(Path("defaults", "model"), "is late", kind="unread")
    assert refused(lacking, late) == ["defaults.model: is late", "defaults.replicas: is not a whole number (x)"]
    ordinary = replace(late, kind="mistake")
    assert any(line.startswith("services.qwen.model: is missing") for line in refused(lacking, ordinary))


def refused(stack, earlier):
    """Return path and mistake of each line with which a tree is refused, sorted."""
    with pytest.raises(ConfigError) as raised:
        load(stack, [earlier]).finish()
    return sorted(line.partition(";")[0] for line in str(raised.value).splitlines())
