"""Program that prints what an engine holds of models, in bytes. The Python of an engine's environment runs it.

The command line is `sizes_script.py MODELS`. MODELS is JSON: by name, the fields of vLLM's `EngineArgs`. The output is
JSON: by name, an object with these keys.

- `block`: tokens of a block of the cache
- `token`: bytes of a token in all layers that cache keys and values
- `sequence`: bytes of the cache for a sequence of the longest context
- `weights`: bytes of the parameters as they are loaded, before the engine packs them for the processor
- `buffers`: bytes of the buffers, such as tables of rotary embeddings
- `layers`: number of layers by kind of cache
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from vllm.distributed import cleanup_dist_env_and_memory
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.model_loader import base_loader
from vllm.v1.attention.backends import utils
from vllm.v1.core.kv_cache_utils import get_kv_cache_configs, get_max_concurrency_for_kv_cache_config
from vllm.v1.executor.uniproc_executor import UniProcExecutor
from vllm.v1.kv_cache_interface import AttentionSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import torch

POOL = 2**30
"""Bytes for the cache."""
PROCESS = base_loader.process_weights_after_loading


def main(models: dict[str, dict[str, Any]]) -> None:
    """Print the sizes of models."""
    print(json.dumps({name: _sizes(arguments) for name, arguments in models.items()}))


def _sizes(arguments: dict[str, Any]) -> dict[str, Any]:
    config = EngineArgs(enforce_eager=True, **arguments).create_engine_config()
    weights = list[int]()
    base_loader.process_weights_after_loading = _measuring(weights)
    executor = UniProcExecutor(config)
    model = executor.driver_worker.worker.get_model()
    (specs,) = executor.get_kv_cache_specs()
    attention = [spec for spec in specs.values() if isinstance(spec, AttentionSpec)]
    result = {
        "block": config.cache_config.block_size,
        "token": sum(spec.page_size_bytes / spec.block_size for spec in attention),
        "sequence": 0,
        "weights": weights[0],
        "buffers": _bytes(model.buffers()),
        "layers": Counter(type(spec).__name__ for spec in specs.values()),
    }
    if specs:
        _resolve_layout(config, executor, specs)
        (cache,) = get_kv_cache_configs(config, [specs], [POOL])
        result["sequence"] = round(POOL / get_max_concurrency_for_kv_cache_config(config, cache))
    executor.shutdown()
    cleanup_dist_env_and_memory()
    return result


def _measuring(sizes: list[int]) -> Callable[..., None]:
    """Return the engine's function for loaded weights, which now adds their bytes to `sizes` first."""

    def process(model: Any, *arguments: Any) -> None:
        sizes.append(_bytes(model.parameters()))
        PROCESS(model, *arguments)

    return process


def _resolve_layout(config: Any, executor: UniProcExecutor, specs: dict[str, Any]) -> None:
    """Decide the layout of the cache as the engine does before it measures memory; older versions have one layout."""
    resolve = getattr(utils, "resolve_kv_cache_layout", None)
    if resolve is not None:
        layout = resolve(config, executor.get_supported_kv_cache_layouts(), list(specs.values()))
        executor.set_kv_cache_layout(layout.name)


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(storages.values())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
