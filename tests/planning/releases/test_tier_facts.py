"""Facts of the tiers of the KV cache."""

import pytest

from planning.releases import channel, channels, engine_versions, tier_facts
from tests.support.stacks.leaves import all_leaves

NAMES = {name for names in engine_versions.table().variables.values() for name in names}
CONNECTOR = "--kv-transfer-config.kv_connector"


def test_every_type_of_the_configuration_has_facts():
    (_, schemas) = all_leaves()["services.*.kvCache.tiers.[].type"]
    assert sorted(schema["const"] for schema in schemas) == [*tier_facts.types()]


@pytest.mark.parametrize("name", tier_facts.types())
def test_a_tier_needs_a_version_that_has_its_connector_and_knows_its_variables(name):
    facts = tier_facts.of_type(name)
    assert facts.since in engine_versions.table().versions
    version = engine_versions.of_image(f"vllm/vllm-openai:v{facts.since}", "nvidia", channel(channels()[0]))
    assert version.is_known
    assert version.knows_value(f"{CONNECTOR}={facts.connector}")
    variables = {variable for variable in facts.environment if variable.startswith("VLLM_")}
    if facts.port is not None:
        variables.add(facts.port.variable)
    assert [variable for variable in variables if not version.knows_variable(variable)] == []


def test_the_wrapper_of_several_connectors_is_a_connector_of_its_version():
    several = tier_facts.several()
    version = engine_versions.of_image(f"vllm/vllm-openai:v{several.since}", "nvidia", channel(channels()[0]))
    assert version.knows_value(f"{CONNECTOR}={several.connector}")
    assert not version.knows_value(f"{CONNECTOR}=SeveralConnector")
