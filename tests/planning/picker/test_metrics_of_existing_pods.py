"""A picker knows the engine of pods that somebody else runs, which may lack the label for it."""

import pytest
import yaml

from tests.support.stacks import find, rendered
from tests.support.stacks.existing import existing

SOURCE = {"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "core-metrics-extractor"}]}


def configuration(stack):
    return yaml.load(find(rendered(stack), "ConfigMap", "qwen-epp")["data"]["config.yaml"], yaml.CSafeLoader)


def parameters(config):
    return {plugin["type"]: plugin.get("parameters") for plugin in config["plugins"]}


@pytest.mark.parametrize("release", ["gie-1.5", "llm-d-0.8", "llm-d-0.9", "llm-d-0.10"])
def test_the_engine_of_pods_without_a_label_is_the_configured_one(release):
    config = configuration(existing(engine={"type": "sglang"}) | {"release": release})
    assert parameters(config)["core-metrics-extractor"] == {"defaultEngine": "sglang"}
    assert parameters(config)["metrics-data-source"] is None
    assert config["dataLayer"]["sources"] == [SOURCE]


def test_the_metrics_of_tensorrt_llm_have_another_path_and_other_names():
    read = parameters(configuration(existing(engine={"type": "trtllm-serve"})))
    assert read["core-metrics-extractor"] == {"defaultEngine": "trtllm-serve"}
    assert read["metrics-data-source"] == {"path": "/prometheus/metrics"}


@pytest.mark.parametrize("engine", [{}, {"type": "vllm"}, {"type": "custom"}])
def test_the_default_of_the_picker_is_not_written(engine):
    """The negative control: the picker takes pods without a label for vLLM."""
    assert "core-metrics-extractor" not in parameters(configuration(existing(engine=engine)))


def test_a_configuration_may_choose_roles_that_only_the_owner_of_the_pods_knows():
    plugins = [{"type": kind} for kind in ("prefill-filter", "queue-scorer", "max-score-picker")]
    profile = {"name": "only", "plugins": [{"pluginRef": plugin["type"]} for plugin in plugins]}
    custom = {"preset": "custom", "config": {"plugins": plugins, "schedulingProfiles": [profile]}}
    assert configuration(existing(endpointPicker=custom))["schedulingProfiles"] == [profile]
