import pytest

from models.service import Service
from planning.releases import channel
from planning.variant import kv_cache

RELEASE = channel("llm-d-0.10")
PRECISE = {"endpointPicker": {"preset": "precise-prefix-cache"}}
CUSTOM = {"preset": "custom", "config": {"plugins": [{"type": "precise-prefix-cache-scorer"}, 5, {"type": 3}]}}


def service(**fields):
    return Service.model_validate({"accelerator": "nvidia", "model": {"source": "hf://org/model"}, **fields})


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ({}, False),
        (PRECISE, True),
        ({"endpointPicker": CUSTOM}, True),
        ({"endpointPicker": {"preset": "custom", "config": {"plugins": [{"type": "queue-scorer"}]}}}, False),
        ({"endpointPicker": {"enabled": False}}, False),
    ],
)
def test_engines_publish_events_if_the_picker_reads_them(fields, needs):
    spec = service(**fields)
    assert kv_cache.needs_events(spec) is needs
    assert (kv_cache.plan(spec, RELEASE).events is not None) is needs


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ({}, None),
        (PRECISE, 64),
        ({"prefill": {"accelerator": "nvidia"}}, 64),
        ({"kvCache": {"blockSize": 32}, "prefill": {"accelerator": "nvidia"}}, 32),
    ],
)
def test_blocks_have_a_size_where_several_components_must_agree(fields, size):
    assert kv_cache.block_size(service(**fields)) == size


def test_caches_are_transferred_only_with_prefill():
    assert kv_cache.plan(service(), RELEASE).transfer is None
    assert kv_cache.plan(service(prefill={"accelerator": "nvidia"}), RELEASE).transfer
