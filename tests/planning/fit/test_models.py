"""Bytes of public models in the table are what vLLM's logs say."""

import pytest

from planning.fit import memory, models

GI = 2**30


@pytest.mark.parametrize(
    ("name", "published"),
    [("meta-llama/Llama-3.1-8B-Instruct", 14.99), ("Qwen/Qwen2.5-7B-Instruct", 14.25)],
)
def test_the_weights_of_the_table_are_those_of_the_log(name, published):
    found = models.find(name)
    weights = memory.loaded_bytes(found.architecture, found.bytes, memory.HALF)
    assert weights / GI == pytest.approx(published, rel=0.01)
