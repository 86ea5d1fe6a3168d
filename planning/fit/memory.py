"""Fit of a model on devices: weights, cache and overhead against the memory that the engine may use.

An engine starts if the cache has room for one sequence of the longest context, that is, `model.maxModelLen` tokens.
If the cache has room for several sequences, the engine serves them together. Sequences without room in the cache wait.
"""

from dataclasses import dataclass, replace
from math import ceil

from models.architecture import Architecture
from models.trees import without_none
from planning.fit import cache, overheads
from planning.fit.cache import CacheSetting, Group
from planning.ground.cluster_facts import Unknown

_LOGIT = 16
"""Bytes that the engine's sampler takes for each token of the vocabulary and each sequence: logits in float32, a sorted
copy of the logits, and the indices of the copy, of 8 bytes each (vllm 0.21.0, v1/sample/ops/topk_topp_sampler.py)."""
_STREAMS = 2
"""Number of inputs of a layer: hidden states and the residual."""
_GATED = 3
"""Number of results of a feed-forward network in memory at one time: those of two projections, and their product."""
HALF = 2
"""Bytes of a number in bfloat16 or float16. Unless `--dtype` is float32, the engine converts wider numbers to one
of these types (vllm 0.21.0, config/model.py, `_get_and_verify_dtype`)."""
_WIDTHS = {"float32": 4, "float": 4, "float64": 8}
"""Bytes of a number by type. Numbers of all other types have 2 bytes."""


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices of one class."""

    vendor: str
    product: str | None
    memory: int
    """Memory of one device in bytes, as the driver shows it."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """LoRA adapters that the devices hold at the same time."""

    number: int
    rank: int


@dataclass(frozen=True, slots=True)
class GuessingWeights:
    """Weights that guess tokens, beside those of the model."""

    weights: int
    """Bytes of the weights."""
    groups: tuple[Group, ...]
    """Its layers, by the way in which they cache."""


@dataclass(frozen=True, slots=True)
class Request:
    """A model, its devices and the settings with which the engine serves the model."""

    architecture: Architecture
    weights: int
    """Bytes of the weights."""
    devices: Devices
    tokens: int
    """Longest context that a sequence may have, in tokens."""
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: bool = False
    """Whether a device holds whole experts. If false, each device holds a share of each expert."""
    number: int = HALF
    """Bytes of one number in the type that the engine computes with."""
    utilization: float = 0.9
    """Share of a device's memory that the engine may use."""
    precision: cache.Precision | None = None
    """Precision of the cache; None for the model's precision."""
    batch_tokens: int | None = None
    """Maximum number of tokens in one step; None for the engine's default."""
    sequences: int | None = None
    """Maximum number of sequences in a batch; None for the engine's default."""
    block: int | None = None
    """Tokens of one block of the cache; None for the engine's default."""
    graphs: bool = True
    """Whether the engine records CUDA graphs and counts their memory."""
    context_parallel: int = 1
    offload: int = 0
    """Bytes of weights that each device leaves in the host's memory."""
    space: int | None = None
    """Bytes for the cache on each device, if a setting states them; None if the cache gets all that is left."""
    adapters: Adapters | None = None
    windows: bool = True
    """Whether the engine frees tokens that have left a layer's window, even if other layers cache all tokens."""
    draft: GuessingWeights | None = None
    guessing_layers: int = 0
    """Layers of the model itself that guess tokens. The bytes of the model contain their weights."""
    states: int = 2
    """Number of states that a recurrent layer reserves for a sequence: two with prefix caching, otherwise one."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Memory that a model takes on each device, in bytes."""

    request: Request
    weights: int
    overhead: int
    usable: int
    """Bytes that the engine may use."""
    groups: tuple[Group, ...]
    setting: CacheSetting

    @property
    def room(self) -> int:
        """Return the bytes that are left for the cache, at most `request.space`.

        The result is below 0 if weights and overhead alone do not fit.
        """
        left = self.usable - self.weights - self.overhead
        if self.request.space is None:
            return left
        return min(left, self.request.space)

    @property
    def cache(self) -> int:
        """Return the bytes that the cache takes for one sequence of `request.tokens` tokens."""
        return self.cache_of(self.request.tokens)

    @property
    def free(self) -> int:
        """Return the bytes that are left after weights, overhead and the cache of one sequence."""
        return self.room - self.cache

    @property
    def is_sufficient(self) -> bool:
        """Tell whether the engine can start."""
        return self.free >= 0

    @property
    def longest(self) -> int:
        """Return the longest context, in tokens, with which the engine can start; 0 if it cannot start at all.

        The result may exceed `request.tokens` if the architecture has a longer `context_length`.
        """
        limit = max(self.request.tokens, self.request.architecture.context_length or 0)
        if self.cache_of(limit) <= self.room:
            return limit
        low = 0
        high = limit
        while low < high:
            middle = (low + high + 1) // 2
            if self.cache_of(middle) <= self.room:
                low = middle
            else:
                high = middle - 1
        return low

    @property
    def most_sequences(self) -> int:
        """Return the number of sequences of `request.tokens` tokens that the cache holds."""
        if self.room < 0:
            return 0
        if not self.cache:
            return self.sequences
        return self.room // self.cache

    @property
    def sequences(self) -> int:
        """Return the maximum number of sequences in a batch."""
        return self.request.sequences or _batch(self.request).sequences

    @property
    def cached_tokens(self) -> int:
        """Return the number of tokens that the cache holds if every sequence has `request.tokens` tokens."""
        if self.room < 0 or not self.cache:
            return 0
        return int(self.room / self.cache * self.request.tokens)

    def cache_of(self, tokens: int) -> int:
        """Return the bytes that the cache takes for one sequence of `tokens` tokens."""
        return cache.reserved_bytes(self.groups, tokens, self.setting)


def fits(request: Request) -> Fit | Unknown:
    """Return the memory that a model takes on each device, or the reason why this memory is unknown."""
    groups = cache.groups(request.architecture)
    if isinstance(groups, Unknown):
        return groups
    overhead = overheads.of_vendor(request.devices.vendor)
    visible = request.devices.memory - overheads.size(overhead.hidden)
    batch = _batch(request)
    setting = CacheSetting(
        precision=request.precision or cache.Precision(request.number),
        tensor=request.tensor,
        pipeline=request.pipeline,
        context_parallel=request.context_parallel,
        batch=batch.tokens,
        states=request.states,
        **without_none({"block": request.block}),
    )
    if request.guessing_layers:
        groups = cache.with_layers(groups, request.guessing_layers)
    if request.draft is not None:
        groups = cache.together(groups, request.draft.groups)
    if not request.windows:
        groups = cache.without_windows(groups)
    return Fit(
        request,
        weights=max(0, _weights(request) + _draft_weights(request) - request.offload),
        overhead=_outside(request, overhead) + _activations(request, batch) + _adapters(request),
        usable=ceil(visible * request.utilization),
        groups=groups,
        setting=setting,
    )


def width(dtype: str | None) -> int:
    """Return the bytes of a number whose type is `dtype`; None means bfloat16."""
    return _WIDTHS.get((dtype or "").removeprefix("torch."), HALF)


def loaded_bytes(architecture: Architecture, files: int | None, number: int) -> int | None:
    """Return the bytes of the weights as the engine holds them; None if they are unknown.

    `files` are the bytes of the published files. If `files` is None, the result follows from the number of parameters.
    `number` are the bytes of one number in the type that the engine computes with.
    """
    if files is not None:
        return files * number // max(number, width(architecture.dtype))
    if architecture.parameters is None:
        return None
    return architecture.parameters * number


def _batch(request: Request) -> overheads.Batch:
    """Return the limits of a batch: those of `request`, or else the engine's defaults."""
    default = overheads.batch(request.devices.vendor, request.devices.product, request.devices.memory)
    sequences = request.sequences or default.sequences
    tokens = request.batch_tokens or min(max(default.tokens, sequences), sequences * request.tokens)
    return overheads.Batch.default(tokens=tokens, sequences=min(sequences, tokens))


def _weights(request: Request) -> int:
    """Return the bytes of weights on the device that holds the most weights.

    Routed experts are divided among the devices of all copies of a replica (tensor times data), as whole experts or as
    shares of each expert (vllm 0.21.0, FusedMoEParallelConfig.make). All other weights are divided among the devices
    over which a layer is split (tensor). Each stage of a pipeline holds a share of the layers. The first and the last
    stage each hold an embedding matrix, too.
    """
    architecture = request.architecture
    share = request.architecture.expert_share or 0.0
    devices = request.tensor * request.data
    experts = architecture.experts or 0
    part = 1 / devices
    if request.expert and experts:
        part = -(-experts // devices) / experts
    if request.pipeline == 1 or not architecture.layers:
        whole = float(request.weights)
    else:
        ends = (architecture.vocab_size or 0) * (architecture.hidden_size or 0) * request.number
        ends = min(ends, request.weights // 4)
        whole = -(-architecture.layers // request.pipeline) / architecture.layers * (request.weights - 2 * ends) + ends
    return ceil(whole * ((1 - share) / request.tensor + share * part))


def _draft_weights(request: Request) -> int:
    """Return the bytes of a draft on a device. The devices that divide a layer of the model divide those of the draft.

    With a pipeline, the last stage has all of them (vllm 0.26.0 to 0.32.0, create_draft_parallel_config in
    config/speculative.py, and the drafter in v1/worker/gpu_model_runner.py).
    """
    if request.draft is None:
        return 0
    return -(-request.draft.weights // request.tensor)


def _outside(request: Request, overhead: overheads.Overhead) -> int:
    """Return the bytes that an engine takes outside torch, including its CUDA graphs."""
    devices = request.tensor * request.pipeline * request.data
    outside = overheads.size(overhead.together)
    if devices == 1:
        outside = overheads.size(overhead.alone)
    if request.graphs:
        layers = -(-(request.architecture.layers or 0) // request.pipeline)
        outside += overheads.size(overhead.graphs) * layers
    return outside


def _activations(request: Request, batch: overheads.Batch) -> int:
    """Return the peak bytes of a step: the inputs of a layer, and the results in its network or in the sampler.

    Network and sampler run one after the other, so that only the larger of the two counts.
    """
    architecture = request.architecture
    hidden = architecture.hidden_size
    inner = architecture.intermediate_size
    if hidden is None or inner is None or architecture.vocab_size is None:
        return overheads.unknown_activation()
    number = request.number
    if architecture.experts and architecture.experts_per_token:
        widest = architecture.experts_per_token * (max(2 * inner // request.tensor, hidden) + inner // request.tensor)
    else:
        widest = _GATED * inner // request.tensor
    layers = batch.tokens * widest * number
    sampling = batch.sequences * architecture.vocab_size * _LOGIT
    return batch.tokens * hidden * _STREAMS * number + max(layers, sampling)


def _adapters(request: Request) -> int:
    """Return the bytes reserved for adapters: two matrices for each projection of a layer (vllm 0.21.0, lora)."""
    adapters = request.adapters
    architecture = request.architecture
    hidden = architecture.hidden_size
    heads = architecture.heads
    head_dim = cache.head_dim(architecture)
    if adapters is None or hidden is None or heads is None or head_dim is None:
        return 0
    queries = heads * head_dim
    keys = (architecture.kv_heads or heads) * head_dim
    tensor = request.tensor
    # If devices divide the output of a projection, each device has the whole first matrix. If devices divide the
    # input of a projection, each device has the whole second matrix.
    ins = 4 * hidden + queries // tensor
    outs = (queries + 2 * keys) // tensor + hidden
    inner = architecture.intermediate_size
    if inner and not architecture.experts:
        ins += 2 * hidden + inner // tensor
        outs += 2 * inner // tensor + hidden
    layers = -(-(architecture.layers or 0) // request.pipeline)
    return adapters.number * adapters.rank * layers * (ins + outs) * request.number


def with_layout(request: Request, *, tensor: int, pipeline: int) -> Request:
    """Return the request with another parallelism."""
    return replace(request, tensor=tensor, pipeline=pipeline)
