"""A configuration of the user's own that reads KV events has an engine that publishes them."""

import pytest

from tests.support.stacks import rendered, tree
from tests.support.stacks.picker_configs import single
from tests.support.stacks.shapes import engine, flag, model_servers

BLOCKS = {"tokenProcessorConfig": {"blockSizeTokens": 64}}
SCORER = single({"type": "precise-prefix-cache-scorer", "parameters": BLOCKS}, profile=[{"pluginRef": "kv"}])
SCORER["plugins"][-1]["name"] = "kv"
PRODUCER = single(
    {"type": "token-producer", "parameters": {"modelName": "org/model"}},
    {"type": "endpoint-notification-source"},
    {"type": "precise-prefix-cache-producer", "parameters": BLOCKS},
    dataLayer={
        "sources": [
            {
                "pluginRef": "endpoint-notification-source",
                "extractors": [{"pluginRef": "precise-prefix-cache-producer"}],
            }
        ]
    },
)


def events(config, release="llm-d-0.10"):
    """Return what the engine is told about publishing its cache."""
    service = {"endpointPicker": {"preset": "custom", "config": config}}
    (template,) = model_servers(rendered(tree(qwen=service) | {"release": release}))
    return flag(engine(template), "--kv-events-config")


@pytest.mark.parametrize(
    ("config", "release"), [(SCORER, "llm-d-0.9"), (PRODUCER, "llm-d-0.10")], ids=["scorer", "producer"]
)
def test_a_custom_plugin_that_reads_kv_events_makes_the_engine_publish_them(config, release):
    assert '"enable_kv_cache_events":true' in events(config, release)


def test_a_custom_configuration_without_such_a_plugin_has_an_engine_that_publishes_nothing():
    assert events(single()) is None
