"""Size of /dev/shm in serving pods."""

from collections.abc import Iterator

from models.problems import Problem
from models.service import EncoderCache
from models.vocabulary import amount
from planning.ground import resources
from planning.hardware import accelerators
from planning.releases import tier_facts
from planning.serving import tier_rules
from planning.variant.context import RoleContext


def size(context: RoleContext) -> str:
    """Return the size of /dev/shm in a pod: the user's, or else the default plus KV cache and outputs of encoders.

    The default is for message queues between workers, and for inputs such as images and sound. vLLM keeps them in
    /dev/shm, too, and their size does not depend on the model. Devices of an unknown vendor may be such on which vLLM
    keeps the cache in /dev/shm, and a size that is too large costs nothing: only used memory counts.
    """
    shared = context.role.pod.shared_memory
    devices = context.layout.devices_per_pod
    offloaded = _offload_size(context)
    if not accelerators.is_known(context.accelerator.vendor):
        offloaded = _possible_offload_size(context)
    return resources.shared_memory(shared, devices, _sum(offloaded, context.encoder_cache))


def judge(context: RoleContext) -> Iterator[Problem]:
    """Reject an explicit size that does not hold the offloaded KV cache, or the outputs of encoders."""
    explicit = context.role.pod.shared_memory
    encoder = context.encoder_cache
    if explicit is not None and encoder is not None and amount(explicit) <= amount(encoder.bytes):
        what = f"is too small for the outputs of encoders ({explicit}; encode.encoderCache.bytes is {encoder.bytes})"
        at = context.path / "pod" / "sharedMemory"
        yield Problem(at, what, "raise it, or remove it", (context.variant.path / "encode",))
    offloaded = _offload_size(context)
    if explicit is None or offloaded is None or amount(explicit) > amount(offloaded):
        return
    top = tier_rules.place(context.variant)
    what = "is too small for the offloaded KV cache, which vLLM keeps there"
    if not context.cache.has_secondary:
        what += f" since {tier_facts.of_type('cpu').shared_memory[context.accelerator.vendor][0]}"
    yield Problem(
        context.path / "pod" / "sharedMemory",
        f"{what} ({explicit}; {top.below(context.variant.path)} is {offloaded})",
        "raise it, or remove it",
        (top, context.path / "engine"),
    )


def _sum(offloaded: str | None, encoder: EncoderCache | None) -> str | None:
    """Return the bytes of the offloaded KV cache and of the outputs of encoders; None if there are none."""
    if encoder is None:
        return offloaded
    return str(int(amount(offloaded or "0") + amount(encoder.bytes)))


def _offload_size(context: RoleContext) -> str | None:
    """Return the size of the offloaded KV cache in /dev/shm; None if the engine does not keep it in /dev/shm.

    With a tier behind the host memory, every version keeps it there, on devices of any vendor (vllm 0.22.0 to 0.32.0,
    vllm/v1/kv_offload/tiering/spec.py).
    """
    if context.cache.has_secondary:
        return context.cache.host_size
    version = context.engine_version
    if version is None or not tier_facts.of_type("cpu").is_shared_memory(context.accelerator.vendor, version):
        return None
    return context.cache.host_size


def _possible_offload_size(context: RoleContext) -> str | None:
    """Return the size of the offloaded KV cache if the engine keeps it in /dev/shm on devices of some vendor."""
    version = context.engine_version
    facts = tier_facts.of_type("cpu")
    if version is None or not any(facts.is_shared_memory(vendor, version) for vendor in facts.shared_memory):
        return None
    return context.cache.host_size
