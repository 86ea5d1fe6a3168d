import pytest

from models.service import Service
from planning.releases import channel
from planning.variant import kv_cache

RELEASE = channel("llm-d-0.10")
PRECISE = {"endpointPicker": {"preset": "precise-prefix-cache"}}
PREFILL = {"prefill": {"accelerator": "nvidia"}}


def settings(**fields):
    spec = Service.model_validate({"accelerator": "nvidia", "model": {"source": "hf://org/model"}, **fields})
    return kv_cache.plan(spec, RELEASE)


def custom(plugins):
    return {"preset": "custom", "config": {"plugins": plugins}}


@pytest.mark.parametrize(
    ("picker", "has_reader"),
    [
        ({}, False),
        ({"enabled": False}, False),
        ({"preset": "precise-prefix-cache"}, True),
        ({"preset": "custom"}, False),
        (custom([{"type": "queue-scorer"}]), False),
        (custom([{"type": "precise-prefix-cache-producer"}]), True),
        (custom([5, {"type": 3}, {"type": "precise-prefix-cache-scorer"}]), True),
        (custom("precise-prefix-cache-producer"), False),
    ],
)
def test_engines_have_to_publish_where_the_picker_listens(picker, has_reader):
    cache = settings(endpointPicker=picker)
    assert cache.has_reader is has_reader
    assert (cache.events is not None) is has_reader


@pytest.mark.parametrize(
    ("fields", "size"),
    [({}, None), (PREFILL, 64), (PRECISE, 64), (PRECISE | {"kvCache": {"blockSize": 16}}, 16)],
)
def test_a_block_size_is_fixed_where_two_have_to_agree_about_it(fields, size):
    assert settings(**fields).block_size == size


def test_caches_are_transferred_only_with_prefill():
    assert settings().transfer is None
    assert settings(**PREFILL).transfer
