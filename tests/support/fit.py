"""Weights and cache of a model beside the memory of the devices that serve it."""

from collections.abc import Mapping
from typing import Any

from models.vocabulary import amount
from planning.hardware import accelerators

GI = 2**30
USED = 0.9
"""Share of a device that vLLM takes unless it is told another one."""
WORKING = 2 * GI
"""Memory that a step of the model takes beside weights and cache."""


def flag(workload: Any, name: str) -> str | None:
    """Return the value of an engine's argument; None if it has none."""
    found = [each.partition("=")[2] for each in workload.engine.arguments if each.startswith(f"--{name}=")]
    return found[0] if found else None


def cache(workload: Any, record: Mapping[str, Any]) -> float:
    """Return the bytes that one request of the longest context takes of each device."""
    length = int(flag(workload, "max-model-len") or record["context"])
    width = 1 if flag(workload, "kv-cache-dtype") == "fp8" else 2
    whole = length * record["layers"] * record["cache"] * width
    return whole / min(workload.layout.tensor, record["heads"]) / workload.layout.pipeline


def memory(workload: Any) -> int:
    """Return the memory of one device; of a class of any product, that of the smallest."""
    if workload.accelerator.memory is not None:
        return workload.accelerator.memory
    products = [each for each in accelerators.classes({}).values() if each.vendor == workload.accelerator.vendor]
    return min(each.memory for each in products if each.memory is not None)


def room(workload: Any, shown: float = 1.0) -> float:
    """Return the bytes that weights and cache may take of each device, or of the pod without devices.

    `shown` is the share of the memory of devices that counts.
    """
    if not workload.layout.devices_per_pod:
        return float(amount(workload.engine.limits["memory"])) - WORKING
    return memory(workload) * shown * float(flag(workload, "gpu-memory-utilization") or USED) - WORKING


def demand(workload: Any, record: Mapping[str, Any]) -> float:
    """Return the bytes that weights and cache take of each device."""
    return record["bytes"] / workload.layout.tensor / workload.layout.pipeline + cache(workload, record)
