"""Size of /dev/shm in serving pods."""

from collections.abc import Iterator

from models.problems import Problem
from models.vocabulary import amount
from planning.ground import resources
from planning.hardware import accelerators
from planning.variant.context import RoleContext

_OFFLOADS_SINCE = "0.27.0"
"""First version of vLLM that keeps the offloaded KV cache in /dev/shm, and exits if /dev/shm is too small (release
notes of 0.27.0, vllm-project/vllm 50094 and 48879; SharedOffloadRegion in v1/kv_offload/cpu/shared_offload_region.py).
"""
_OFFLOADING_VENDORS = frozenset({"amd", "nvidia"})
"""Vendors on whose devices vLLM keeps the cache in /dev/shm (CPUOffloadingSpec.create_worker, `is_cuda_alike`)."""


def size(context: RoleContext) -> str:
    """Return the size of /dev/shm in a pod: the user's, or else the default plus the offloaded KV cache.

    The default is for message queues between workers, and for inputs such as images and sound. vLLM keeps them in
    /dev/shm, too, and their size does not depend on the model. Devices of an unknown vendor may be such on which vLLM
    keeps the cache in /dev/shm, and a size that is too large costs nothing: only used memory counts.
    """
    shared = context.role.pod.shared_memory
    devices = context.layout.devices_per_pod
    offloaded = _offload_size(context)
    if not accelerators.is_known(context.accelerator.vendor):
        offloaded = _newer_offload_size(context)
    return resources.shared_memory(shared, devices, offloaded)


def judge(context: RoleContext) -> Iterator[Problem]:
    """Reject an explicit size that does not hold the offloaded KV cache."""
    explicit = context.role.pod.shared_memory
    offloaded = _offload_size(context)
    if explicit is None or offloaded is None or amount(explicit) > amount(offloaded):
        return
    top = context.variant.path / "kvCache" / "cpuOffload"
    what = f"is too small for the offloaded KV cache, which vLLM keeps there since {_OFFLOADS_SINCE}"
    yield Problem(
        context.path / "pod" / "sharedMemory",
        f"{what} ({explicit}; kvCache.cpuOffload is {offloaded})",
        "raise it, or remove it",
        (top, context.path / "engine"),
    )


def _offload_size(context: RoleContext) -> str | None:
    """Return the size of the offloaded KV cache in /dev/shm; None if the engine does not keep it in /dev/shm."""
    if context.accelerator.vendor in _OFFLOADING_VENDORS:
        return _newer_offload_size(context)
    return None


def _newer_offload_size(context: RoleContext) -> str | None:
    """Return the size of the offloaded KV cache if the engine's version may keep it in /dev/shm, else None."""
    version = context.engine_version
    if version is not None and version.is_at_least(_OFFLOADS_SINCE):
        return context.variant.spec.kv_cache.cpu_offload
    return None
