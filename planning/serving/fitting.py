"""Fit of roles: the request that a role makes of its devices, and the problems of roles that do not fit."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from models.paths import Path
from models.problems import Problem
from models.vocabulary import amount
from planning.fit import memory, served
from planning.fit.memory import Devices, Fit, Request
from planning.fit.served import Served
from planning.ground import environment, resources
from planning.ground.cluster_facts import Unknown
from planning.hardware.accelerators import AcceleratorClass
from planning.variant.context import RoleContext

_GI = 2**30
_NODE = 8
"""Devices of a node if their number is unknown; the boards of every vendor have 8."""
_MOST_DEVICES = 64
"""Maximum number of devices of a replica that the search for a remedy tries."""
_CPU_SPACE = "VLLM_CPU_KVCACHE_SPACE"


def fit(context: RoleContext) -> Fit | Unknown:
    """Return the memory that a role takes of each device, or why it is unknown."""
    if context.is_custom:
        return Unknown("a custom engine's memory is its own")
    devices = _devices(context)
    found = devices if isinstance(devices, Unknown) else _request(context, devices)
    return found if isinstance(found, Unknown) else memory.fits(found)


def _request(context: RoleContext, devices: Devices) -> Request | Unknown:
    """Return the request that a role makes of its devices, or its unknown part."""
    layout, has_devices = context.layout, context.layout.devices_per_pod > 0
    return served.request(
        Served(
            model=context.variant.spec.model,
            engine=context.role.engine,
            devices=devices,
            tensor=layout.tensor,
            pipeline=layout.pipeline,
            data=layout.data,
            expert=layout.expert,
            utilization=context.role.engine.gpu_memory_utilization if has_devices else 1.0,
            block=context.variant.kv_cache.block_size,
            space=None if has_devices else _cpu_space(context),
            version=context.engine_version,
        )
    )


def _devices(context: RoleContext) -> Devices | Unknown:
    """Return the devices of a role. On CPUs, a device is the memory of one worker of the engine."""
    cls, name = context.accelerator, context.role.accelerator
    if cls.allocation is None:
        return Devices(cls.vendor, cls.product, max(0, _cpu_memory(context) // _workers(context)))
    if cls.memory is None:
        return Unknown(f"the memory of devices of {name} is unknown; use a product's class, or write its memory")
    return Devices(cls.vendor, cls.product, cls.memory)


def _workers(context: RoleContext) -> int:
    return context.layout.tensor * context.layout.stages_per_pod * context.layout.data_local


def _host_memory(context: RoleContext) -> int:
    """Return the bytes of a pod's memory that are not the engine's: shared memory, and the offloaded cache."""
    offload, role = context.variant.spec.kv_cache.cpu_offload, context.role
    shared = resources.shared_memory(role.pod.shared_memory, context.layout.devices_per_pod)
    return int(amount(shared) + amount(offload or "0"))


def _cpu_memory(context: RoleContext) -> int:
    offload = context.variant.spec.kv_cache.cpu_offload
    _, limits = resources.engine(context.role.resources, context.layout.devices_per_pod, offload)
    return int(amount(limits["memory"])) - _host_memory(context)


def _cpu_space(context: RoleContext) -> int | None:
    """Return the bytes of the cache of a worker on CPUs, as a variable has them; None if its value is no number."""
    explicit = environment.values(context.role.engine.env)
    value = explicit.get(_CPU_SPACE, context.environment.get(_CPU_SPACE))
    return served.from_gibibytes(value) if isinstance(value, str) else None


def problems(context: RoleContext) -> Iterator[Problem]:
    """Yield the problem of a role that does not fit its devices; `checks.fit` decides the severity."""
    mode = context.variant.stack.checks.fit
    if mode == "skip":
        return
    found = fit(context)
    if isinstance(found, Unknown):
        if mode == "strict":
            what = f"whether the model fits went unchecked: {found.reason}"
            yield Problem(context.path / "model", what, severity="warning")
        return
    if not found.is_sufficient:
        severity = "error" if mode == "strict" else "warning"
        remedy = ", or ".join(remedies(context, found))
        at = context.path / "accelerator"
        yield Problem(at, _what(context, found), remedy, _dependencies(context), severity=severity)


def _what(context: RoleContext, found: Fit) -> str:
    """Return what is wrong with a role that does not fit."""
    unit = "device" if context.layout.devices_per_pod else "worker"
    usable = f"the engine may use {gibibytes(found.usable)} of a {unit} of {context.role.accelerator}"
    taken = f"weights take {gibibytes(found.weights)}, overhead {gibibytes(found.overhead)}"
    if found.room < 0 or found.longest == 0:
        return f"is too small for the model ({usable}; {taken})"
    sequence = f"the cache {gibibytes(found.cache)}"
    return f"is too small for a sequence of {found.request.tokens} tokens ({usable}; {taken}, {sequence})"


def gibibytes(size: int) -> str:
    """Return a number of bytes as text in Gi, with one decimal, or with three significant digits if it is small."""
    number = size / _GI
    return f"{number:.1f}Gi" if abs(number) >= 1 else f"{number:.2g}Gi"


def remedies(context: RoleContext, found: Fit) -> Iterator[str]:
    """Yield changes with which the role would fit, the smallest change first."""
    longest = found.longest
    if longest:
        yield f"set model.maxModelLen to {longest} at most"
    if not context.layout.devices_per_pod:
        yield f"raise resources.limits.memory to {_sufficient_limit(context, found)}"
        return
    larger = _larger_layout(context, found)
    if larger is not None:
        yield larger
    other = _other_class(context, found)
    if other is not None:
        yield other
    if longest == 0 and larger is None and other is None:
        yield "use a smaller model, or one with fewer bits"


def _sufficient_limit(context: RoleContext, found: Fit) -> str:
    """Return the memory limit with which an engine on CPUs starts.

    The cache gets half of the memory that weights leave (`engine_environment.cpu_memory`), in whole GiB per worker.
    """
    workers, whole = _workers(context), -(-found.cache // _GI) * _GI
    needed = found.weights * workers + workers * max(2 * whole, found.cache + found.overhead)
    size = amount(context.variant.spec.model.size or "0") * context.layout.data_local
    needed = max(needed, int(size) + 2 * whole * workers)
    return f"{-(-(needed + _host_memory(context)) // _GI)}Gi"


def _larger_layout(context: RoleContext, found: Fit) -> str | None:
    """Return the next larger parallelism that fits; None if there is none on nodes of the class."""
    layout, heads = context.layout, found.request.architecture.heads
    node = context.accelerator.devices_per_node or _NODE
    tensor, pipeline = layout.tensor, layout.pipeline
    while tensor * pipeline < _MOST_DEVICES:
        is_wider = tensor * 2 * layout.data_local <= node and (heads is None or heads % (tensor * 2) == 0)
        tensor, pipeline = (tensor * 2, pipeline) if is_wider else (tensor, pipeline * 2)
        if pipeline > 1 and layout.data > 1:
            return None
        larger = memory.fits(memory.with_layout(found.request, tensor=tensor, pipeline=pipeline))
        if isinstance(larger, Fit) and larger.is_sufficient:
            sizes = [f"tensor: {tensor}"] * (tensor != layout.tensor) + [f"pipeline: {pipeline}"] * (
                pipeline != layout.pipeline
            )
            room = f"{larger.most_sequences} × {found.request.tokens} tokens"
            return f"set under parallelism {', '.join(sizes)} ({room})"
    return None


def _other_class(context: RoleContext, found: Fit) -> str | None:
    """Return the class of the same vendor with the least memory on which the same parallelism fits."""
    candidates = sorted(_products(context.variant.classes, context.accelerator), key=lambda each: (each[1], each[0]))
    for name, size, cls in candidates:
        pod = context.layout.devices_per_pod
        if cls.devices_per_node is not None and cls.devices_per_node < pod:
            continue
        other = memory.fits(replace(found.request, devices=Devices(cls.vendor, cls.product, size)))
        if isinstance(other, Fit) and other.is_sufficient:
            return f"use {name}"
    return None


def _products(
    classes: Mapping[str, AcceleratorClass], like: AcceleratorClass
) -> Iterator[tuple[str, int, AcceleratorClass]]:
    """Yield the classes of the same vendor whose devices have more memory than those of `like`."""
    for name, cls in classes.items():
        if cls.vendor == like.vendor and cls.memory is not None and cls.memory > (like.memory or 0):
            yield name, cls.memory, cls


def _dependencies(context: RoleContext) -> tuple[Path, ...]:
    """Return the paths on which the fit of a role depends."""
    top, at = context.variant.path, context.path
    keys = ("accelerator", "acceleratorMemory", "parallelism", "engine", "resources")
    return (
        *(at / key for key in keys),
        top / "model",
        top / "kvCache",
        Path("accelerators", context.role.accelerator),
    )
