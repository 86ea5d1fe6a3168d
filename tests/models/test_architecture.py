"""The numbers of a model: whole, above zero, and absent where the model's file lacks them."""

import pytest

from models.architecture import Architecture, CacheLayers
from tests.support.stacks import mistakes, tree


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"layers": 0}, "layers: is not a whole number from 1 to 2147483647 (0); write 1 or more"),
        (
            {"parameters": 2**50 + 1},
            (
                "parameters: is not a whole number from 1 to 1125899906842624 (1125899906842625); write the number of "
                "parameters, such as 8190735360"
            ),
        ),
        ({"expertShare": 1.5}, "expertShare: is not above 0 and at most 1 (1.5); write a share such as 0.9"),
        ({"cache": [{"window": 1024}]}, "cache[0].layers: is missing; add it, such as 12"),
        ({"dtype": ""}, "dtype: is empty; write some text"),
    ],
)
def test_mistaken_numbers_are_refused(numbers, message):
    model = {"name": "org/model", "source": "hf://org/model", "architecture": numbers}
    assert mistakes(tree(qwen={"model": model})) == [f"services.qwen.model.architecture.{message}"]


def test_absent_numbers_are_unknown_and_no_model_has_experts_of_its_own_accord():
    numbers = Architecture.model_validate({"experts": 0})
    assert numbers.experts == 0
    assert (numbers.layers, numbers.kv_heads, numbers.dtype, numbers.cache) == (None, None, None, ())


def test_layers_cache_every_token_on_its_own_by_default():
    layers = CacheLayers.model_validate({"layers": 12})
    assert (layers.ratio, layers.window, layers.state, layers.latent) == (1, None, None, None)
