"""Program that prints the metrics that an engine registers. The Python of an engine's environment runs it.

The command line is `registry_script.py MODEL SETTINGS`. SETTINGS is JSON: by name, an object with these optional keys:

- `arguments`: fields of vLLM's `EngineArgs`
- `variables`: environment variables
- `transfer`: fields of `KVTransferConfig` with a connector that engines of this machine refuse
- `later`: values of attributes of the engine's configuration, by dotted path, that engines of this machine refuse

The output is JSON: by name, the metrics that `/metrics` shows by their names, each as kind, labels and finite bounds.
"""

# The packages are those of the engine's environment, not of the project's.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import functools
import importlib
import json
import math
import os
import sys
from typing import Any

from prometheus_client import REGISTRY, generate_latest
from vllm.config import KVTransferConfig
from vllm.engine.arg_utils import EngineArgs
from vllm.v1.metrics.loggers import PrometheusStatLogger
from vllm.v1.metrics.prometheus import unregister_vllm_metrics

Metric = tuple[str, list[str], list[float]]
"""Kind, labels and finite bounds."""
SERVER = {
    "vllm.entrypoints.speech_to_text.realtime.metrics": None,
    "vllm.parser.metrics": ("init_parser_metrics", {"model_name": "model"}),
    "vllm.entrypoints.serve.dev.sleep.metrics": ("sleep_mode_operation_metrics", {}),
    "vllm.entrypoints.rl.online.metrics": ("weight_operation_metrics", {}),
}
"""Modules of the API server that register metrics, and the function that does it if importing the module does not."""


def main(model: str, settings: dict[str, dict[str, Any]]) -> None:
    """Print the metrics under each of the settings, and those of the API server under `server`."""
    result = {name: _of_engine(model, **setting) for name, setting in settings.items()}
    result["server"] = _of_server()
    print(json.dumps(result))


def _of_engine(
    model: str,
    arguments: dict[str, Any] | None = None,
    variables: dict[str, str] | None = None,
    transfer: dict[str, Any] | None = None,
    later: dict[str, Any] | None = None,
) -> dict[str, Metric]:
    os.environ.update(variables or {})
    config = EngineArgs(model=model, enforce_eager=True, **arguments or {}).create_engine_config()
    if transfer is not None:
        config.kv_transfer_config = KVTransferConfig(**transfer)
    for path, value in (later or {}).items():
        *owners, name = path.split(".")
        setattr(functools.reduce(getattr, owners, config), name, value)
    logger = PrometheusStatLogger(config, list(range(config.parallel_config.data_parallel_size)))
    logger.log_metrics_info("cache_config", config.cache_config)
    for name in variables or {}:
        del os.environ[name]
    return _shown()


def _of_server() -> dict[str, Metric]:
    unregister_vllm_metrics()
    for name, call in SERVER.items():
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if call is not None:
            function, keywords = call
            getattr(module, function)(**keywords)
    return _shown()


def _shown() -> dict[str, Metric]:
    lines = generate_latest(REGISTRY).decode().splitlines()
    types = [line.split()[2:] for line in lines if line.startswith("# TYPE vllm:")]
    shapes = {name: _shape(collector) for collector, names in REGISTRY._collector_to_names.items() for name in names}
    return {name: (kind, *shapes[name]) for name, kind in types}


def _shape(collector: Any) -> tuple[list[str], list[float]]:
    """Return labels and finite bounds of a metric; the exposition has none of a metric without samples."""
    bounds = getattr(collector, "_upper_bounds", ())
    return [*getattr(collector, "_labelnames", ())], [bound for bound in bounds if math.isfinite(bound)]


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
