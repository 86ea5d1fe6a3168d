"""Bytes that the KV cache of one sequence takes on each device.

`sequence_bytes` counts entries. `reserved_bytes` counts whole blocks, as the engine does when it starts. In layers with
an attention window, `reserved_bytes` adds the tokens of one step, because vLLM frees tokens that have left the window
only after the step (vllm 0.21.0, `max_memory_usage_bytes` of the specs in v1/kv_cache_interface.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil

from models.architecture import Architecture, CacheLayers
from planning.fit import families
from planning.ground.cluster_facts import Unknown

_BLOCK = 16
"""Tokens of a block by default (vllm 0.21.0, config/cache.py)."""
_SIDES = 2
"""Number of tensors that attention caches: keys and values."""
_EVEN = 1.5
"""Limit of a ratio: the number of layers of the most frequent kind, divided by that of the rarest kind. Below the
limit, the layers of each kind are padded to the number of the most frequent kind (vllm 0.21.0,
`_get_kv_cache_groups_uniform_page_size`)."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Precision of the cache."""

    width: float
    """Bytes of a number."""
    scale: int = 0
    """Bytes of a quantization scale. Each head of a token has a scale for keys and a scale for values."""


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that cache in the same way: an entry for every `ratio` tokens, or a `state` of fixed size in bytes."""

    layers: int
    heads: int = 0
    head_dim: int = 0
    latent: int = 0
    fixed: int = 0
    """Bytes of each entry that are the same for every precision of the cache."""
    window: int | None = None
    """Number of the latest tokens that are cached; None if all tokens are cached."""
    ratio: int = 1
    state: int = 0

    def entry(self, tensor: int, precision: Precision) -> float:
        """Return the bytes of one layer's entry on each of `tensor` devices. No head is split among devices."""
        heads = -(-self.heads // tensor)
        per_head = self.head_dim * precision.width + precision.scale
        return _SIDES * heads * per_head + self.latent * precision.width + self.fixed

    def entries(self, tokens: int) -> int:
        """Return the number of entries of a sequence in each layer."""
        if self.window is not None:
            tokens = min(tokens, self.window)
        return -(-tokens // self.ratio)


@dataclass(frozen=True, slots=True)
class CacheSetting:
    """Settings on which the cache of one sequence depends."""

    precision: Precision
    tensor: int = 1
    pipeline: int = 1
    context_parallel: int = 1
    """Number of devices that divide the tokens of a sequence among themselves."""
    block: int = _BLOCK
    """Tokens of a block."""
    batch: int = 0
    """Maximum number of tokens in one step of the engine."""
    states: int = 1
    """Number of states that a recurrent layer reserves for a sequence."""


def groups(architecture: Architecture) -> tuple[Group, ...] | Unknown:
    """Return the layers of a model, grouped by the way in which they cache."""
    family = architecture.family
    if family is not None and not families.knows(family):
        return Unknown(f"the cache of models of the family {family} is unknown")
    if architecture.layers is None:
        return Unknown("the number of layers, or a number about their cache, is unknown")
    if family is not None and families.shape(family) == families.ENCODER:
        return ()
    resolved: list[Group] = []
    for layers in architecture.cache or (CacheLayers.default(layers=architecture.layers),):
        group = _group(layers, architecture)
        if isinstance(group, Unknown):
            return group
        resolved.append(group)
    return tuple(resolved)


def _group(layers: CacheLayers, architecture: Architecture) -> Group | Unknown:
    common = {"window": layers.window, "ratio": layers.ratio}
    if layers.state is not None:
        return Group(layers.layers, state=layers.state)
    if layers.bytes is not None:
        return Group(layers.layers, fixed=layers.bytes, **common)  # pyright: ignore[reportArgumentType] - of the right types
    if layers.latent is not None:
        return Group(layers.layers, latent=layers.latent, **common)  # pyright: ignore[reportArgumentType] - as above
    heads = layers.kv_heads or architecture.kv_heads or architecture.heads
    width = layers.head_dim or head_dim(architecture)
    if heads is None or width is None:
        return Unknown("the heads of the model, or their width, are unknown")
    return Group(layers.layers, heads, width, window=layers.window, ratio=layers.ratio)


def head_dim(architecture: Architecture) -> int | None:
    """Return the width of one head, as a count of numbers; None if it is unknown."""
    if architecture.head_dim is not None:
        return architecture.head_dim
    if architecture.hidden_size is None or architecture.heads is None:
        return None
    return architecture.hidden_size // architecture.heads


def without_windows(groups_of_model: tuple[Group, ...]) -> tuple[Group, ...]:
    """Return the groups of an engine that keeps all tokens, even in layers with a window.

    If every layer has a window, the groups stay unchanged: with a single kind of layers, the engine frees the tokens
    that have left the window (vllm 0.21.0, unify_hybrid_kv_cache_specs).
    """
    if all(group.window is not None for group in groups_of_model):
        return groups_of_model
    merged = dict[Group, int]()
    for group in groups_of_model:
        alike = replace(group, layers=0, window=None)
        merged[alike] = merged.get(alike, 0) + group.layers
    return tuple(replace(group, layers=layers) for group, layers in merged.items())


def with_layers(groups_of_model: tuple[Group, ...], number: int) -> tuple[Group, ...]:
    """Return the groups with further layers of the kind of the first layers that cache all tokens."""
    full = next((group for group in groups_of_model if group.window is None and not group.state), None)
    if full is None:
        return groups_of_model
    return together(groups_of_model, (replace(full, layers=number),))


def together(groups_of_model: tuple[Group, ...], further: tuple[Group, ...]) -> tuple[Group, ...]:
    """Return the groups of two models. Layers that cache alike are one group."""
    numbers = dict[Group, int]()
    for group in (*groups_of_model, *further):
        alike = replace(group, layers=0)
        numbers[alike] = numbers.get(alike, 0) + group.layers
    return tuple(replace(group, layers=layers) for group, layers in numbers.items())


def sequence_bytes(groups_of_model: Iterable[Group], tokens: int, setting: CacheSetting) -> float:
    """Return the bytes that a sequence takes on each device. Unused room in blocks is not counted."""
    total = 0.0
    for group in groups_of_model:
        layers = -(-group.layers // setting.pipeline)
        held = -(-group.entries(tokens) // setting.context_parallel)
        total += layers * (held * group.entry(setting.tensor, setting.precision) + -(-group.state // setting.tensor))
    return total


def reserved_bytes(groups_of_model: tuple[Group, ...], tokens: int, setting: CacheSetting) -> int:
    """Return the bytes that the cache must have on each device to serve a sequence of `tokens` tokens."""
    size = _group_size(groups_of_model)
    total = 0.0
    for group in groups_of_model:
        padded = ceil(group.layers / size) * size
        layers = ceil(padded / setting.pipeline)
        if group.state:
            total += layers * setting.states * -(-group.state // setting.tensor)
            continue
        blocks = _blocks(group, tokens, setting)
        total += layers * blocks * setting.block / group.ratio * group.entry(setting.tensor, setting.precision)
    return ceil(total)


def _blocks(group: Group, tokens: int, setting: CacheSetting) -> int:
    if group.window is None:
        return ceil(ceil(tokens / setting.context_parallel) / setting.block)
    return -(-min(group.window - 1 + setting.batch, tokens) // setting.block) + 1


def _group_size(groups_of_model: tuple[Group, ...]) -> int:
    """Return the group size. Padding makes the number of layers of each kind a multiple of the group size.

    A group size of 1 means no padding.
    """
    numbers = [group.layers for group in groups_of_model if not (group.fixed or group.latent)]
    if len(numbers) < _SIDES or not any(group.window is not None or group.state for group in groups_of_model):
        return 1
    low = min(numbers)
    high = max(numbers)
    if high < low * _EVEN:
        return high
    return low
