"""Layers and their cache follow from a `config.json`, for shapes of models that the judges of the fit do not know."""

import pytest

from planning.fit import configs

MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_state": 16, "mamba_n_groups": 1, "mamba_d_conv": 4}
GRANITE = {"model_type": "granitemoehybrid", "num_hidden_layers": 3, **MAMBA}
JAMBA = {
    "model_type": "jamba",
    "num_hidden_layers": 8,
    "hidden_size": 16,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_expand": 2,
    "mamba_d_conv": 4,
    "mamba_d_state": 16,
}


def cached(config):
    """Return the groups of layers without the fields that have their defaults."""
    return [group.model_dump(exclude_defaults=True) for group in configs.architecture(config).cache]


@pytest.mark.parametrize(
    ("config", "groups"),
    [
        (
            {"model_type": "llama4_text", "num_hidden_layers": 48},
            [{"layers": 12}, {"layers": 36, "window": 8192}],
        ),
        (
            {"model_type": "gemma3_text", "num_hidden_layers": 26, "sliding_window": 512},
            [{"layers": 4}, {"layers": 22, "window": 512}],
        ),
        (
            # 32 channels: 3 inputs of a convolution over them and two vectors of 16; 16 states of each, in bfloat16.
            {**GRANITE, "layer_types": ["mamba", "attention", "mamba"]},
            [{"layers": 1}, {"layers": 2, "state": (3 * (32 + 2 * 16) + 32 * 16) * 2}],
        ),
        (
            # 32 channels, each with 3 inputs of its convolution and 16 states, in bfloat16.
            JAMBA,
            [{"layers": 1}, {"layers": 7, "state": 32 * (3 + 16) * 2}],
        ),
    ],
    ids=["chunked", "patterned", "granite", "jamba"],
)
def test_the_layers_of_a_hybrid_model_cache_by_their_kind(config, groups):
    assert cached(config) == groups


def test_an_encoder_caches_nothing():
    found = configs.architecture({"model_type": "bert", "num_hidden_layers": 12, "hidden_size": 768})
    assert (found.layers, found.cache) == (12, ())


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "qwen3", "hidden_size": 1024},
        {"model_type": "qwen3", "num_hidden_layers": 2, "layer_types": ["full_attention"]},
        {"model_type": "qwen3", "num_hidden_layers": 1, "layer_types": ["of_tomorrow"]},
        {"model_type": "qwen3", "num_hidden_layers": 1, "layer_types": ["sliding_attention"]},
        {"model_type": "deepseek_v4", "num_hidden_layers": 1, "sliding_window": 128},
        {"model_type": "nemotron_h", "num_hidden_layers": 2, "hybrid_override_pattern": "M"},
        GRANITE,
        {name: value for name, value in JAMBA.items() if name != "mamba_d_state"},
        {"model_type": "gemma4_text", "num_hidden_layers": 1},
        {"model_type": "minimax_m3", "num_hidden_layers": 1},
        {"model_type": "minimax_m3", "num_hidden_layers": 1, "sparse_attention_config": {}},
        {"model_type": "inkling_mm_model", "num_hidden_layers": 1},
    ],
    ids=[
        "number of layers",
        "a kind for each layer",
        "a kind that is known",
        "window",
        "ratios of compression",
        "a pattern for each layer",
        "kinds of granite",
        "state of jamba",
        "kinds of gemma",
        "index of minimax",
        "layers with an index of minimax",
        "local layers of inkling",
    ],
)
def test_the_layers_of_a_model_are_unknown_where_a_number_is_missing(config):
    assert configs.architecture(config).layers is None


def test_a_config_without_numbers_is_no_architecture():
    assert [configs.architecture(config) for config in ({}, [], None, {"model_type": "qwen3"})] == [None] * 4


def test_a_share_of_experts_needs_the_widths_and_the_heads():
    experts = {"model_type": "mixtral", "num_hidden_layers": 1, "num_local_experts": 8}
    assert configs.architecture(experts).intermediate_size is None
    found = configs.architecture({**experts, "intermediate_size": 64})
    assert (found.intermediate_size, found.expert_share) == (64, None)


def test_layers_that_all_cache_every_token_need_no_groups():
    found = configs.architecture({"model_type": "qwen3", "num_hidden_layers": 28})
    assert (found.layers, found.cache) == (28, ())
