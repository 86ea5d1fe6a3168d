"""Reader of a model's architecture from its `config.json`.

The cache of a layer depends on the family of the model (`model_type`). If `families.yaml` does not have the family, the
cache counts as unknown.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from models.architecture import Architecture, CacheLayers
from models.trees import mapping, without_none
from planning.fit import families

_Config = Mapping[str, Any]
_NAMES = {
    "layers": ("num_hidden_layers", "n_layer"),
    "hidden_size": ("hidden_size", "n_embd"),
    "heads": ("num_attention_heads", "n_head"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "head_dim": ("head_dim",),
    "vocab_size": ("vocab_size",),
    "context_length": ("max_position_embeddings", "n_positions"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "experts_per_token": ("num_experts_per_tok", "experts_per_token"),
}
"""Keys of a `config.json` by field of `Architecture`. Source: the configurations of transformers 4.57 and 5.5."""
_DTYPES = ("dtype", "torch_dtype")
"""Keys with the type of the model's numbers; transformers used the key `torch_dtype` before version 4.56."""
_TEXT = "text_config"
"""Key of the language model in the `config.json` of a model that also reads images or sound."""
_SLIDING = "sliding_attention"
_FULL = frozenset({"full_attention", "attention", "deepseek_sparse_attention", "indexed_attention"})
_WIDE = 4
"""Bytes of a number in float32."""
_NARROW = 2
"""Bytes of a number in bfloat16."""
_INDEX_SCALE = 4
"""Bytes of a scale of an index in float8 (vllm 0.21.0, DeepseekV32Indexer in model_executor/models/deepseek_v2.py)."""
_INDEX_BLOCK = 128
"""Number of an index's numbers that share a scale."""
_V4_ENTRY = 584
"""Bytes of an entry of DeepSeek V4: 448 in float8, 64 in bfloat16, 8 of scales (vllm 0.21.0, MLAAttentionSpec)."""
_MATRICES = 3
"""Number of matrices of a gated feed-forward network."""


class _UnknownError(Exception):
    """Numbers that a family needs are missing."""


def architecture(config: object) -> Architecture | None:
    """Return the architecture in the `config.json` of a model; None if the file has no number of an architecture."""
    if not isinstance(config, dict):
        return None
    outer = cast("dict[str, Any]", config)
    values = {**outer, **mapping(outer.get(_TEXT))}
    numbers = without_none({field: next(_integers(values, keys), None) for field, keys in _NAMES.items()})
    if not numbers:
        return None
    dtype = next((values[key] for key in _DTYPES if isinstance(values.get(key), str)), None)
    fields = {**numbers, **without_none({"dtype": dtype}), **_widths(values, numbers)}
    family = values.get("model_type")
    if isinstance(family, str):
        fields["family"] = family
        if families.knows(family):
            fields |= _cache(values, family)
    return Architecture.default(**fields)


def _integers(values: _Config, keys: tuple[str, ...]) -> Iterator[int]:
    """Yield the values of `keys` that are whole numbers above 0."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            yield value


def _number(values: _Config, *keys: str) -> int:
    """Return the first whole number above 0 at `keys`. Raises `_UnknownError` if there is none."""
    for value in _integers(values, keys):
        return value
    raise _UnknownError


def _widths(values: _Config, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return two fields: the width of the feed-forward network or of an expert, and the experts' share of parameters.

    A field is left out if its numbers are missing.
    """
    dense = next(_integers(values, ("intermediate_size", "n_inner", "ffn_hidden_size")), None)
    if "experts" not in numbers:
        return without_none({"intermediate_size": dense})
    width = next(_integers(values, ("moe_intermediate_size", "intermediate_size")), dense)
    if width is None:
        return {}
    share = _expert_share(values, numbers, width, dense or width)
    return without_none({"intermediate_size": width, "expert_share": share})


def _expert_share(values: _Config, numbers: Mapping[str, Any], width: int, dense: int) -> float | None:
    """Return the share of the parameters that are in routed experts; None if numbers are missing."""
    layers = numbers.get("layers")
    hidden = numbers.get("hidden_size")
    heads = numbers.get("heads")
    if layers is None or hidden is None or heads is None:
        return None
    plain = next(_integers(values, ("first_k_dense_replace",)), 0)
    routed = (layers - plain) * numbers["experts"] * _MATRICES * hidden * width
    shared = next(_integers(values, ("n_shared_experts",)), 0) * (layers - plain) * _MATRICES * hidden * width
    head_dim = numbers.get("head_dim") or hidden // heads
    attention = layers * 2 * hidden * head_dim * (heads + numbers.get("kv_heads", heads))
    if "kv_lora_rank" in values:
        attention //= 2  # queries, like keys and values, have projections of a low rank
    embeddings = 2 * numbers.get("vocab_size", 0) * hidden
    return round(routed / (routed + shared + attention + embeddings + plain * _MATRICES * hidden * dense), 3)


def _cache(values: _Config, family: str) -> dict[str, Any]:
    """Return the fields of an `Architecture` that describe the cache.

    If numbers are missing, the only field is `layers` with the value None. The cache then counts as unknown.
    """
    try:
        groups = tuple(_READERS[families.shape(family)](values))
    except _UnknownError:
        return {"layers": None}
    if groups == (CacheLayers.default(layers=values.get("num_hidden_layers")),):
        return {}
    return {"cache": groups}


def _group(layers: int, **values: int) -> Iterator[CacheLayers]:
    if layers:
        yield CacheLayers.default(layers=layers, **values)


def _schedule(values: _Config) -> list[str] | None:
    """Return the kind of each layer; None if the configuration lists no kinds."""
    kinds = values.get("layer_types")
    if not isinstance(kinds, list):
        return None
    names = [str(kind).lower() for kind in cast("list[object]", kinds)]
    if len(names) != _number(values, "num_hidden_layers"):
        raise _UnknownError
    return names


def _standard(values: _Config) -> Iterator[CacheLayers]:
    """Yield layers that cache keys and values of all tokens, or only of the tokens in a window."""
    layers = _number(values, "num_hidden_layers")
    kinds = _schedule(values)
    window = next(_integers(values, ("sliding_window",)), None)
    if kinds is not None:
        if set(kinds) - {*_FULL, _SLIDING}:
            raise _UnknownError
        sliding = kinds.count(_SLIDING)
    elif window is None or values.get("use_sliding_window") is False:
        sliding = 0
    elif values.get("use_sliding_window") is True and "max_window_layers" in values:
        # Layers below this number cache all tokens (transformers 5.17, models/qwen2/configuration_qwen2.py).
        sliding = max(0, layers - next(_integers(values, ("max_window_layers",)), 0))
    else:
        sliding = layers
    yield from _window_groups(layers, sliding, window)


def _window_groups(layers: int, sliding: int, window: int | None) -> Iterator[CacheLayers]:
    if sliding and window is None:
        raise _UnknownError
    yield from _group(layers - sliding)
    yield from _group(sliding, window=window or 0)


def _alternating(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Gemma 2. Layers with a window and layers without a window alternate."""
    if _schedule(values) is not None:
        yield from _standard(values)
        return
    layers = _number(values, "num_hidden_layers")
    yield from _window_groups(layers, -(-layers // 2), _number(values, "sliding_window"))


def _pattern(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Gemma 3. By default, each sixth layer caches all tokens; the other layers cache a window."""
    if _schedule(values) is not None:
        yield from _standard(values)
        return
    layers = _number(values, "num_hidden_layers")
    every = next(_integers(values, ("sliding_window_pattern",)), 6)
    yield from _window_groups(layers, layers - layers // every, _number(values, "sliding_window"))


def _chunks(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Llama 4. By default, each fourth layer caches all tokens; the other layers cache a chunk."""
    layers = _number(values, "num_hidden_layers")
    chunk = next(_integers(values, ("attention_chunk_size",)), 8192)
    every = next(_integers(values, ("no_rope_layer_interval",)), 4)
    yield from _group(layers // every)
    yield from _group(layers - layers // every, window=chunk)


def _latent(values: _Config) -> Iterator[CacheLayers]:
    """Yield the cache of latent attention (MLA) in all layers, then the index that some or all of these layers add."""
    layers = _number(values, "num_hidden_layers")
    yield from _group(layers, latent=_number(values, "kv_lora_rank") + _number(values, "qk_rope_head_dim"))
    width = next(_integers(values, ("index_head_dim",)), None)
    if width is not None:
        yield from _group(_indexed_layers(values, layers), bytes=_index_bytes(width))


def _index_bytes(width: int) -> int:
    return width + width // _INDEX_BLOCK * _INDEX_SCALE


def _indexed_layers(values: _Config, layers: int) -> int:
    """Return the number of layers that cache an index. The other layers use the index of an earlier layer."""
    kinds = values.get("indexer_types") or values.get("index_topk_pattern")
    if kinds is None:
        return layers
    return sum(kind in {"full", "F"} for kind in cast("list[str]", kinds))


def _compression(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of DeepSeek V4. All layers cache a window.

    Some layers also cache entries that stand for several tokens.
    """
    layers = _number(values, "num_hidden_layers")
    ratios = values.get("compress_ratios")
    if not isinstance(ratios, list):
        raise _UnknownError
    used = cast("list[int]", ratios)[:layers]
    yield from _group(layers, bytes=_V4_ENTRY, window=_number(values, "sliding_window"))
    for ratio in sorted(set(used) - {0}):
        yield from _group(used.count(ratio), bytes=_V4_ENTRY, ratio=ratio)
    finest = next(_integers(values, ("compress_rate_csa",)), 4)
    yield from _group(used.count(finest), bytes=_index_bytes(_number(values, "index_head_dim")), ratio=finest)


def _gated_delta(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Qwen's gated delta networks (vllm 0.21.0, gated_delta_net_state_shape)."""
    layers = _number(values, "num_hidden_layers")
    kinds = _schedule(values)
    if kinds is None:
        full = layers // _number(values, "full_attention_interval")
    else:
        full = kinds.count("full_attention")
    keys = _number(values, "linear_num_key_heads")
    numbers = _number(values, "linear_num_value_heads")
    key_dim = _number(values, "linear_key_head_dim")
    value_dim = _number(values, "linear_value_head_dim")
    inputs = (2 * keys * key_dim + numbers * value_dim) * (_number(values, "linear_conv_kernel_dim") - 1)
    yield from _group(full)
    yield from _group(layers - full, state=inputs * _NARROW + numbers * value_dim * key_dim * _WIDE)


def _nemotron(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Nemotron-H (vllm 0.21.0, mamba2_state_shape). The states are in float32."""
    pattern = values.get("hybrid_override_pattern")
    if not isinstance(pattern, str) or len(pattern) != _number(values, "num_hidden_layers"):
        raise _UnknownError
    inner = _number(values, "mamba_num_heads") * _number(values, "mamba_head_dim")
    state = _number(values, "ssm_state_size")
    inputs = (inner + 2 * _number(values, "n_groups") * state) * (_number(values, "conv_kernel") - 1)
    yield from _group(pattern.count("*"))
    yield from _group(pattern.count("M"), state=inputs * _NARROW + inner * state * _WIDE)


def _granite(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of hybrid Granite models (vllm 0.21.0, mamba2_state_shape)."""
    kinds = _schedule(values)
    if kinds is None:
        raise _UnknownError
    inner = _number(values, "mamba_n_heads") * _number(values, "mamba_d_head")
    state = _number(values, "mamba_d_state")
    inputs = (inner + 2 * _number(values, "mamba_n_groups") * state) * (_number(values, "mamba_d_conv") - 1)
    yield from _group(kinds.count("attention"))
    yield from _group(kinds.count("mamba"), state=(inputs + inner * state) * _NARROW)


def _jamba(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Jamba (vllm 0.21.0, mamba1_state_shape)."""
    layers = _number(values, "num_hidden_layers")
    period = _number(values, "attn_layer_period")
    full = sum(layer % period == values.get("attn_layer_offset") for layer in range(layers))
    inner = _number(values, "mamba_expand") * _number(values, "hidden_size")
    state = inner * (_number(values, "mamba_d_conv") - 1 + _number(values, "mamba_d_state"))
    yield from _group(full)
    yield from _group(layers - full, state=state * _NARROW)


def _gemma4(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Gemma 4. Its two kinds of layers have different heads. The last layers may cache nothing."""
    kinds = _schedule(values)
    shared = values.get("num_kv_shared_layers", 0)
    if kinds is None or not isinstance(shared, int):
        raise _UnknownError
    cached = kinds[: len(kinds) - shared]
    heads = _number(values, "num_key_value_heads")
    width = _number(values, "head_dim")
    wide = {
        "kv_heads": next(_integers(values, ("num_global_key_value_heads",)), heads),
        "head_dim": next(_integers(values, ("global_head_dim",)), width),
    }
    yield from _group(cached.count("full_attention"), **wide)
    yield from _group(cached.count(_SLIDING), window=_number(values, "sliding_window"))


def _minimax_m3(values: _Config) -> Iterator[CacheLayers]:
    """Yield the keys and values of all layers of MiniMax M3, then the keys of an index that some of the layers add."""
    layers = _number(values, "num_hidden_layers")
    sparse = values.get("sparse_attention_config")
    if not isinstance(sparse, dict):
        raise _UnknownError
    index = cast("dict[str, Any]", sparse)
    frequencies = index.get("sparse_attention_freq")
    if not isinstance(frequencies, list):
        raise _UnknownError
    width = _number(index, "sparse_num_index_heads") * _number(index, "sparse_index_dim")
    yield from _group(layers)
    yield from _group(sum(number != 0 for number in cast("list[float]", frequencies)), latent=width)


def _inkling(values: _Config) -> Iterator[CacheLayers]:
    """Yield the layers of Inkling. Every layer also caches the inputs of its short convolutions."""
    layers = _number(values, "num_hidden_layers")
    local = values.get("local_layer_ids")
    if not isinstance(local, list):
        raise _UnknownError
    near = len(cast("list[int]", local))
    history = _number(values, "sconv_kernel_size") - 1
    hidden = _number(values, "hidden_size")
    width = _number(values, "head_dim")
    far_heads = _number(values, "num_key_value_heads")
    near_heads = _number(values, "swa_num_key_value_heads")
    yield from _group(layers - near)
    yield from _group(near, kv_heads=near_heads, window=_number(values, "sliding_window_size"))
    for count, heads in ((layers - near, far_heads), (near, near_heads)):
        yield from _group(count, state=history * (2 * heads * width + 2 * hidden) * _NARROW)


def _encoder(values: _Config) -> Iterator[CacheLayers]:
    """Yield nothing, because an encoder caches nothing. The configuration must still state the number of layers."""
    _number(values, "num_hidden_layers")
    yield from ()


_READERS: Mapping[str, Callable[[_Config], Iterator[CacheLayers]]] = {
    "alternating": _alternating,
    "chunked": _chunks,
    "compressed": _compression,
    "encoder": _encoder,
    "gated-delta": _gated_delta,
    "gemma4": _gemma4,
    "granite": _granite,
    "inkling": _inkling,
    "jamba": _jamba,
    "latent": _latent,
    "minimax-m3": _minimax_m3,
    "nemotron": _nemotron,
    "patterned": _pattern,
    "standard": _standard,
}
"""Readers of layers, by the name of a shape in `families.yaml`."""
