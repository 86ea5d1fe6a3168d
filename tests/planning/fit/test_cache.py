"""The cache of a sequence is what kvfit says, which shares no code with the program."""

import json
from pathlib import Path

import pytest
from kvfit.architectures import STANDARD_ATTENTION_MODEL_TYPES, estimate_cache
from kvfit.models import UnsupportedArchitecture

from models.architecture import CacheLayers
from planning.fit import cache, configs
from planning.ground.cluster_facts import Unknown

CONFIGS = {
    name: entry["config"] for name, entry in json.loads(Path("tests/planning/fit/configs.json").read_text()).items()
}
TOKENS = (1, 100, 8192, 100_000)
INDEX = 132 / 128
"""Bytes of a number of an index in float8, with a scale of four bytes for each 128."""
DEVIATIONS = {
    "google/gemma-2-27b-it": "kvfit gives every layer the window; in vLLM every other layer caches all tokens",
    "google/gemma-2-2b-it": "as for gemma-2-27b-it",
    "google/gemma-2-9b-it": "as for gemma-2-27b-it",
}
"""Models of which kvfit says something else, each with the reason why the program is right."""
RECURRENT = {"nemotron_h", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "inkling_mm_model"}
"""Families of which kvfit narrows the inputs of convolutions with the cache, too; vLLM does not (mamba_cache_dtype)."""
DEEPSEEK_V4 = 584 / 512
"""Bytes of a number of DeepSeek V4, whose entries vLLM stores in one format alone."""


def knows(config):
    """Tell whether the judge knows a configuration."""
    try:
        estimate_cache(config, context_tokens=1)
    except UnsupportedArchitecture:
        return False
    return True


KNOWN = [name for name, config in CONFIGS.items() if knows(config)]


def family(config):
    return (config.get("text_config") or config).get("model_type", config.get("model_type"))


def precisions(config):
    if family(config) == "deepseek_v4":
        return [DEEPSEEK_V4]
    return [2.0] if family(config) in RECURRENT else [2.0, 1.0, 4.0]


def judged(config, tokens, width):
    return estimate_cache(config, context_tokens=tokens, kv_bytes=width, index_bytes=INDEX).total_bytes


def computed(config, tokens, width):
    groups = cache.groups(configs.architecture(config))
    return cache.sequence_bytes(groups, tokens, cache.CacheSetting(cache.Precision(width)))


def figures(config):
    """Return what the judge and the program say of a configuration."""
    every = [(tokens, width) for tokens in TOKENS for width in precisions(config)]
    return [judged(config, *each) for each in every], [computed(config, *each) for each in every]


def test_the_judge_knows_at_least_thirty_public_models():
    assert len(KNOWN) - len(DEVIATIONS) >= 30


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in DEVIATIONS])
def test_the_cache_is_what_kvfit_says(name):
    theirs, ours = figures(CONFIGS[name])
    assert theirs == ours


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_is_one(name):
    theirs, ours = figures(CONFIGS[name])
    assert theirs != ours


LAYERS, WIDTHS = 12, {"hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 4}
LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64}
KINDS = ["sliding_attention", "full_attention"] * (LAYERS // 2)
FAMILIES = {
    **{name: {} for name in sorted(STANDARD_ATTENTION_MODEL_TYPES)},
    "gemma2": {"layer_types": KINDS, "sliding_window": 512},
    "gemma3_text": {"layer_types": KINDS, "sliding_window": 512},
    "gpt_oss": {
        "layer_types": KINDS, "sliding_window": 128,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    },
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "deepseek_v32": {**LATENT, "index_head_dim": 128},
    "deepseek_v3_2": {**LATENT, "index_head_dim": 128},
    "glm_moe_dsa": {**LATENT, "index_head_dim": 128, "indexer_types": ["full", "shared", "shared"] * (LAYERS // 3)},
    "deepseek_v4": {
        "num_key_value_heads": 1, "head_dim": 512, "index_head_dim": 128, "sliding_window": 128,
        "compress_ratios": [0, 4, 128] * (LAYERS // 3),
    },
    "qwen3_next": {
        "full_attention_interval": 4, "linear_num_key_heads": 4, "linear_num_value_heads": 8,
        "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4,
    },
    "nemotron_h": {
        "hybrid_override_pattern": "M*-E" * (LAYERS // 4), "mamba_num_heads": 8, "mamba_head_dim": 64,
        "ssm_state_size": 64, "n_groups": 2, "conv_kernel": 4,
    },
    "gemma4_text": {
        "layer_types": KINDS, "head_dim": 64, "sliding_window": 512, "num_kv_shared_layers": 2,
        "num_global_key_value_heads": 2, "global_head_dim": 128,
    },
    "minimax_m3": {
        "sparse_attention_config": {
            "use_sparse_attention": True, "sparse_attention_freq": [0, 1, 1] * (LAYERS // 3),
            "sparse_num_index_heads": 4, "sparse_index_dim": 32,
        },
    },
    "inkling_mm_model": {
        "num_hidden_layers": 66, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
        "swa_num_attention_heads": 64, "swa_num_key_value_heads": 16, "swa_head_dim": 128, "sliding_window_size": 512,
        "sconv_kernel_size": 4, "hidden_size": 6144, "use_sconv": True,
        "local_layer_ids": [layer for layer in range(66) if (layer + 1) % 6],
    },
}  # fmt: skip
"""Configurations of every family that kvfit knows, with what each needs."""
for name in ("qwen3_5_text", "qwen3_5_moe_text"):
    FAMILIES[name] = FAMILIES["qwen3_next"]
FAMILIES["minimax_m3_sparse"] = FAMILIES["minimax_m3"]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_that_kvfit_knows_is_computed_alike(name):
    config = {"model_type": name, "num_hidden_layers": LAYERS, **WIDTHS, **FAMILIES[name]}
    for tokens in TOKENS:
        for width in precisions(config):
            index = width if name.startswith("minimax") else INDEX
            estimate = estimate_cache(config, context_tokens=tokens, kv_bytes=width, index_bytes=index)
            assert estimate.total_bytes == computed(config, tokens, width)


WINDOWS = (
    {},
    {"max_window_layers": 4},
    {"use_sliding_window": True},
    {"use_sliding_window": False, "max_window_layers": 4},
)


@pytest.mark.parametrize("keys", WINDOWS)
def test_a_window_is_for_as_many_layers_as_kvfit_says(keys):
    config = {"model_type": "qwen2", "num_hidden_layers": LAYERS, **WIDTHS, "sliding_window": 512, **keys}
    theirs, ours = figures(config)
    assert theirs == ours


@pytest.mark.parametrize(
    ("below", "groups"),
    [
        (0, [{"layers": LAYERS, "window": 512}]),
        (4, [{"layers": 4}, {"layers": LAYERS - 4, "window": 512}]),
        (LAYERS, []),
        (28, []),
    ],
)
def test_layers_below_max_window_layers_cache_all_tokens(below, groups):
    """The judge gives the window to these layers; vLLM 0.30.0 gives it to all layers for 0, to none for `LAYERS`."""
    keys = {"sliding_window": 512, "use_sliding_window": True, "max_window_layers": below}
    config = {"model_type": "qwen2", "num_hidden_layers": LAYERS, **WIDTHS, **keys}
    assert configs.architecture(config).cache == tuple(CacheLayers.default(**group) for group in groups)
    assert not knows(config) or figures(config)[0] != figures(config)[1]


def test_a_family_that_nobody_knows_stays_unknown():
    config = {"model_type": "novel", "num_hidden_layers": LAYERS, **WIDTHS}
    assert not knows(config)
    assert isinstance(cache.groups(configs.architecture(config)), Unknown)
