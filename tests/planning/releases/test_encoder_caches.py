"""Connectors that transfer the outputs of encoders."""

from typing import get_args

import pytest

from models.service import EncoderCache
from planning.releases import encoder_caches, engine_versions


@pytest.mark.parametrize("name", get_args(EncoderCache.model_fields["connector"].annotation))
def test_every_connector_of_the_configuration_has_facts_of_a_known_version(name):
    facts = encoder_caches.connector(name)
    assert facts.since in engine_versions.table().versions
    assert facts.port.variable in {name for names in engine_versions.table().variables.values() for name in names}
