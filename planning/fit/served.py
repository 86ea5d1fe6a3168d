"""The `memory.Request` for a served model, made from the model, its devices, and its engine's settings and flags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from models import flags
from models.architecture import Architecture
from models.flags import Flag
from models.pins import PinnedSource
from models.role import Engine
from models.service import Lora, Model
from models.source import hub, scheme
from models.speculation import DraftModel, Speculative
from models.trees import without_none
from models.vocabulary import amount
from planning.fit import cache, memory, models, overheads
from planning.fit.cache import Precision
from planning.fit.memory import Adapters, Devices, GuessingWeights, Request
from planning.ground.cluster_facts import Unknown
from planning.releases import speculation
from planning.releases.engine_versions import EngineVersion

_GI = 2**30
_NARROW_CACHE = 1
"""Bytes of a number in float8."""
_TINY_CACHE = 0.5625
"""Bytes of a number in four bits with an 8-bit scale per 16 numbers (vllm 0.21.0, FullAttentionSpec)."""
_SCALE = 4
"""Bytes of a quantization scale of a head (vllm 0.21.0, AttentionSpec.page_size_bytes)."""
_WIDE = 4
"""Bytes of a number in float32."""
_UNKNOWN_DRAFT = (
    "the architecture of the draft model is unknown; write model.speculative.draft.architecture, or lock the source"
)
_HYBRID = "--disable-hybrid-kv-cache-manager"
_HYBRID_TRANSFERS_SINCE = "0.22.0"
"""First version of vLLM in which even an engine with a connector frees tokens that have left a layer's window (vllm
0.22.0, config/vllm.py). All connectors that this program configures support this (SupportsHMA)."""


_PREFIXES = "--enable-prefix-caching"
_RECURRENT_PREFIXES_SINCE = "0.26.0"
"""First version of vLLM that by default caches prefixes of models with recurrent layers. Each layer then reserves two
states for a sequence (vllm 0.25.1 and 0.26.0, config/model.py, `is_prefix_caching_supported`; v1/kv_cache_interface.py,
`MambaSpec.max_memory_usage_bytes`, mode `align`)."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Architecture and weights of a model."""

    architecture: Architecture
    bytes: int | None
    """Bytes of the published weights; None if unknown."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model, and how an engine serves it."""

    model: Model
    engine: Engine
    devices: Devices
    tensor: int
    pipeline: int
    data: int
    expert: bool
    utilization: float
    """Share of a device's memory that the engine may use."""
    block: int | None = None
    """Tokens of a block of the cache; None for the engine's default."""
    space: int | None = None
    """Bytes for the cache on each device; None if the cache gets all that is left."""
    version: EngineVersion | None = None
    """Version of vLLM. An unknown version (None) counts as new."""
    has_connector: bool = False
    """Whether the engine transfers or offloads its cache."""
    is_hybrid: bool = True
    """Whether its connectors let layers with windows free tokens."""


def request(served: ServedModel) -> Request | Unknown:
    """Return the `memory.Request` for a served model, or the reason why the model's memory is unknown."""
    source = source_of(served.model)
    if isinstance(source, Unknown):
        return source
    arguments = {flag.switch: flag for flag in flags.parse(served.engine.args)}
    number = memory.HALF
    if _value(arguments, "--dtype") in {"float32", "float"}:
        number = _WIDE
    weights = memory.loaded_bytes(source.architecture, source.bytes, number)
    tokens = served.model.max_model_len or source.architecture.context_length
    if weights is None or tokens is None:
        return _missing(source.architecture, weights)
    guesses = _guesses(served.model.speculative, number)
    if isinstance(guesses, Unknown):
        return guesses
    unflagged = Request(
        architecture=source.architecture,
        weights=weights,
        devices=served.devices,
        tokens=tokens,
        tensor=served.tensor,
        pipeline=served.pipeline,
        data=served.data,
        expert=served.expert,
        number=number,
        utilization=served.utilization,
        sequences=served.engine.max_num_seqs,
        block=served.block,
        space=served.space,
        adapters=_adapters(served.model.lora),
        **guesses,
        windows=_frees_windows(served, arguments),
    )
    return _with_flags(unflagged, arguments, served.version)


def _guesses(speculative: Speculative | None, number: int) -> dict[str, Any] | Unknown:
    """Return the fields of a request about speculative decoding. `number` are the bytes of a number of the engine."""
    if speculative is None:
        return {}
    if speculative.draft is None:
        return {"guessing_layers": speculation.method(speculative.method).layers}
    source = source_of_draft(speculative.draft)
    if isinstance(source, Unknown):
        return Unknown(_UNKNOWN_DRAFT)
    weights = memory.loaded_bytes(source.architecture, source.bytes, number)
    groups = cache.groups(source.architecture)
    if isinstance(groups, Unknown):
        return Unknown(f"of the draft model: {groups.reason}")
    if weights is None:
        return Unknown("the bytes of the draft model are unknown; write model.speculative.draft.size")
    return {"draft": GuessingWeights(weights, groups)}


def _adapters(lora: Lora | None) -> Adapters | None:
    if lora is None:
        return None
    return Adapters(lora.batch, lora.max_rank)


def _frees_windows(served: ServedModel, arguments: Mapping[str, Flag]) -> bool:
    """Tell whether the engine frees tokens that have left a layer's window, even if other layers cache all tokens."""
    flag = arguments.get(_HYBRID)
    if flag is not None:
        return flag.name != _HYBRID
    if not served.is_hybrid:
        return False
    has_connector = served.has_connector or "--kv-transfer-config" in arguments
    return not has_connector or served.version is None or served.version.is_at_least(_HYBRID_TRANSFERS_SINCE)


def _states(arguments: Mapping[str, Flag], version: EngineVersion | None) -> int:
    """Return the number of states that a recurrent layer reserves for a sequence. An unknown version counts as new."""
    caches_prefixes = version is None or version.is_at_least(_RECURRENT_PREFIXES_SINCE)
    flag = arguments.get(_PREFIXES)
    if flag is not None:
        caches_prefixes = flag.name == _PREFIXES
    return 1 + caches_prefixes


def _missing(architecture: Architecture, weights: int | None) -> Unknown:
    """Return why a model's memory is unknown: the first of cache, weights and longest context that is unknown."""
    groups = cache.groups(architecture)
    if isinstance(groups, Unknown):
        return groups
    if weights is None:
        return Unknown("the bytes of the weights are unknown; write model.size")
    return Unknown("the longest context is unknown; write model.maxModelLen")


def source_of(model: Model) -> ModelSource | Unknown:
    """Return architecture and weights of a model, from its configuration, its lock or the shipped table."""
    return _source(model, model.size, model.architecture)


def source_of_draft(draft: DraftModel) -> ModelSource | Unknown:
    """Return architecture and weights of a draft, from the same places as those of a model."""
    return _source(draft, draft.size, draft.numbers)


def _source(model: PinnedSource, written_size: str | None, written: Architecture | None) -> ModelSource | Unknown:
    """Return architecture and weights, with the size and the architecture in the configuration if they are there."""
    pin = model.pin
    size: int | None = None
    if written_size is not None:
        size = int(amount(written_size))
    elif pin is not None and not pin.packed:
        size = pin.bytes
    if written is not None:
        return ModelSource(written, size)
    if pin is not None and pin.architecture is not None and pin.architecture.family is not None:
        return ModelSource(pin.architecture, size)
    if scheme(model.source) == "hf":
        public = models.find(hub(model.source)[0])
        if public is not None:
            return ModelSource(public.architecture, size or public.bytes)
    return Unknown("the architecture of the model is unknown; write model.architecture, or lock the source")


def _value(arguments: Mapping[str, Flag], name: str) -> str | None:
    flag = arguments.get(name)
    if flag is None:
        return None
    return flag.value


def _number(arguments: Mapping[str, Flag], name: str) -> int | None:
    """Return the value of a flag; None if it is no whole number."""
    value = _value(arguments, name)
    if value is None or not value.isdecimal():
        return None
    return int(value)


def _with_flags(base: Request, arguments: Mapping[str, Flag], version: EngineVersion | None) -> Request:
    """Return `base` with the values of the engine's flags."""
    since = overheads.of_vendor(base.devices.vendor).graphs_since
    counts_graphs = since is not None and (version is None or version.is_at_least(since))
    return replace(
        base,
        precision=_precision(_value(arguments, "--kv-cache-dtype"), base.number),
        batch_tokens=_number(arguments, "--max-num-batched-tokens"),
        states=_states(arguments, version),
        graphs=counts_graphs and "--enforce-eager" not in arguments,
        context_parallel=_number(arguments, "--decode-context-parallel-size") or 1,
        offload=from_gibibytes(_value(arguments, "--cpu-offload-gb") or "0"),
        **without_none({"space": _number(arguments, "--kv-cache-memory-bytes")}),
    )


def with_arguments(base: Request, tokens: Sequence[str]) -> Request:
    """Return `base` with the settings in an engine's arguments.

    A setting that is absent there gets the engine's default. Only `utilization` and `space` keep their values.
    """
    arguments = {flag.switch: flag for flag in flags.parse(tokens)}
    return replace(
        base,
        tokens=_number(arguments, "--max-model-len") or base.architecture.context_length or base.tokens,
        tensor=_number(arguments, "--tensor-parallel-size") or 1,
        pipeline=_number(arguments, "--pipeline-parallel-size") or 1,
        data=_number(arguments, "--data-parallel-size") or 1,
        expert="--enable-expert-parallel" in arguments,
        utilization=_share(_value(arguments, "--gpu-memory-utilization"), base.utilization),
        sequences=_number(arguments, "--max-num-seqs"),
        block=_number(arguments, "--block-size"),
        precision=_precision(_value(arguments, "--kv-cache-dtype"), base.number),
        batch_tokens=_number(arguments, "--max-num-batched-tokens"),
        states=_states(arguments, version=None),
        context_parallel=_number(arguments, "--decode-context-parallel-size") or 1,
        offload=from_gibibytes(_value(arguments, "--cpu-offload-gb") or "0"),
        **without_none({"space": _number(arguments, "--kv-cache-memory-bytes")}),
    )


def _share(text: str | None, default: float) -> float:
    """Return the number that a text stands for; `default` if the text is absent or no number."""
    try:
        return float(text or "")
    except ValueError:
        return default


def from_gibibytes(text: str) -> int:
    """Return a number of GiB in bytes; 0 if the text is no number."""
    try:
        return int(float(text) * _GI)
    except ValueError:
        return 0


def _precision(name: str | None, number: int) -> Precision:
    """Return the precision for a value of `--kv-cache-dtype`."""
    match name:
        case None | "auto":
            return Precision(number)
        case "bfloat16" | "float16":
            return Precision(memory.HALF)
        case "fp8_per_token_head" | "int8_per_token_head":
            return Precision(_NARROW_CACHE, _SCALE)
        case "nvfp4":
            return Precision(_TINY_CACHE)
        case _ if name.startswith("fp8"):
            return Precision(_NARROW_CACHE)
        case _:
            return Precision(number)
