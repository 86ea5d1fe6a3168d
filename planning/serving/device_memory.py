"""Fit of roles: whether the model of a role fits the memory of its devices."""

from models.vocabulary import amount
from planning.fit import memory, served
from planning.fit.memory import Devices, Fit, Request
from planning.fit.served import ServedModel
from planning.ground import environment, resources, stages
from planning.ground.cluster_facts import Unknown
from planning.variant.context import RoleContext

_GI = 2**30
_CPU_SPACE = "VLLM_CPU_KVCACHE_SPACE"


def fit(context: RoleContext) -> Fit | Unknown:
    """Return the memory that a role needs on each device, or why that memory is unknown."""
    if not context.kind.vllm_tables:
        return Unknown(f"the memory of {context.kind.title} is unknown")
    if context.stage is stages.ENCODE:
        return Unknown("the memory of encoders is unknown: encode pods load a part of the model")
    devices = _devices(context)
    request = devices if isinstance(devices, Unknown) else _request(context, devices)
    if isinstance(request, Unknown):
        return request
    return memory.fits(request)


def _request(context: RoleContext, devices: Devices) -> Request | Unknown:
    """Return what the calculation of a role's memory needs: model, devices and settings; or why these are unknown."""
    layout = context.layout
    has_devices = context.layout.devices_per_pod > 0
    cache = context.variant.kv_cache
    return served.request(
        ServedModel(
            model=context.variant.spec.model,
            engine=context.role.engine,
            devices=devices,
            tensor=layout.tensor,
            pipeline=layout.pipeline,
            data=layout.data,
            expert=layout.expert,
            utilization=context.role.engine.gpu_memory_utilization if has_devices else 1.0,
            block=cache.block_size,
            space=None if has_devices else _cpu_space(context),
            version=context.engine_version,
            has_connector=cache.transfer is not None or bool(context.cache.tiers),
            is_hybrid=context.cache.is_hybrid,
        )
    )


def _devices(context: RoleContext) -> Devices | Unknown:
    """Return the devices of a role, or why they are unknown. On CPUs, each worker process of vLLM is a device."""
    cls = context.accelerator
    name = context.role.accelerator
    if cls.allocation is None:
        return Devices(cls.vendor, cls.product, max(0, _cpu_memory(context) // workers(context)))
    if cls.memory is None:
        remedy = f"use the class of a product, or set accelerators.{name}.memory"
        return Unknown(f"the memory of devices of {name} is unknown; {remedy}")
    return Devices(cls.vendor, cls.product, cls.memory)


def workers(context: RoleContext) -> int:
    """Return the number of vLLM's worker processes in a pod of a role."""
    return context.layout.tensor * context.layout.stages_per_pod * context.layout.data_local


def host_memory(context: RoleContext) -> int:
    """Return the bytes of a pod's memory that are reserved for /dev/shm and for the offloaded KV cache."""
    offload = context.cpu_offload
    role = context.role
    shared = resources.shared_memory(role.pod.shared_memory, context.layout.devices_per_pod)
    return int(amount(shared) + amount(offload or "0"))


def _cpu_memory(context: RoleContext) -> int:
    offload = context.cpu_offload
    _, limits = resources.engine(context.role.resources, context.layout.devices_per_pod, offload)
    return int(amount(limits["memory"])) - host_memory(context)


def _cpu_space(context: RoleContext) -> int | None:
    """Return the bytes of a worker's KV cache on CPUs, from the variable `VLLM_CPU_KVCACHE_SPACE`.

    None if the variable is missing, or if its value is a reference to another object.
    """
    explicit = environment.values(context.role.engine.env)
    value = explicit.get(_CPU_SPACE, context.environment.get(_CPU_SPACE))
    if isinstance(value, str):
        return served.from_gibibytes(value)
    return None


def gibibytes(size: int) -> str:
    """Return bytes as text in Gi: with one decimal, or below 1 Gi with two significant digits."""
    number = size / _GI
    if abs(number) >= 1:
        return f"{number:.1f}Gi"
    return f"{number:.2g}Gi"
