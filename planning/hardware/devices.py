"""How one replica is spread over devices and pods.

A copy of the model takes `tensor` devices for each of its `pipeline` stages, and a replica holds `data` copies. A pod
takes tensor times dataLocal devices for each of its stages, so that the pods of a replica have exactly its devices.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isqrt

from models.paths import Path
from models.problems import Problem
from models.role import Parallelism, Role
from models.vocabulary import amount
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass

_COMMON_NODE = 8
"""Devices of a node that acceleratorMemory may count on where the class does not say: the boards of every vendor."""
_LISTED = 8
"""Divisors that a message lists before it names the nearest alone."""
_DOUBLINGS = 16
"""Doublings of the pipeline that a remedy tries."""
_SERVICE_PARTS = 2
"""Parts of the path of a service, which its roles and variants inherit from."""
_GI = 2**30


@dataclass(frozen=True, slots=True)
class Layout:
    """One replica, spread."""

    devices_per_pod: int
    """0 where the class has no devices."""
    pods_per_replica: int
    stages_per_pod: int
    """Pipeline stages that share a pod."""
    tensor: int
    pipeline: int
    data: int
    data_local: int
    """Copies of the model in one pod."""
    expert: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Spread:
    """The numbers of a replica, and how much of it one node carries."""

    tensor: int
    pipeline: int
    data: int
    local: int
    most: int | None
    """Devices of the largest node; absent: unknown."""
    unbound: bool = False
    """Whether the class has no devices, so that nothing keeps a pod's size down."""

    @property
    def per_stage(self) -> int:
        """Return the devices that a pod takes for each of its stages."""
        return self.tensor * self.local

    @property
    def stages(self) -> int:
        """Return the stages that share a pod: as many as fit a node; one where the node is unknown."""
        room = self.pipeline if self.unbound else 1 if self.most is None else self.most // self.per_stage
        if room >= self.pipeline:
            return self.pipeline
        return next((stages for stages in range(room, 0, -1) if self.pipeline % stages == 0), 1)

    @property
    def fits(self) -> bool:
        """Say whether a node carries a pod, and the pods of a replica are spread along one axis at most."""
        return self.fits_node and (self.local == self.data or self.stages == self.pipeline)

    @property
    def fits_node(self) -> bool:
        """Say whether a node has the devices of one stage; it is taken to where they are unknown or unlimited."""
        return self.unbound or self.most is None or self.per_stage <= self.most


def layout(parallelism: Parallelism, accelerator_memory: str | None, cls: AcceleratorClass) -> Layout:
    """Spread one replica over devices and pods; what `problems` refuses is known not to occur."""
    spread = _spread(parallelism, accelerator_memory, cls)
    return Layout(
        devices_per_pod=0 if spread.unbound else spread.per_stage * spread.stages,
        pods_per_replica=spread.data // spread.local * (spread.pipeline // spread.stages),
        stages_per_pod=spread.stages,
        tensor=spread.tensor,
        pipeline=spread.pipeline,
        data=spread.data,
        data_local=spread.local,
        expert=parallelism.expert,
        reasons=tuple(_reasons(spread, parallelism, accelerator_memory, cls)),
    )


def problems(path: Path, role: Role, cls: AcceleratorClass) -> list[Problem]:
    """Check that a role's replica can be spread over nodes of its class, and that one copy has memory enough."""
    spread = _spread(role.parallelism, role.accelerator_memory, cls)
    if spread.data % spread.local:
        what = f"does not divide data ({spread.local}, {spread.data})"
        remedy = f"use {_choices(spread.data, spread.local)}"
        at = path / "parallelism" / "dataLocal"
        apart = replace(spread, local=1)
        return [Problem(at, what, remedy, _read(path, role)), *_memory(path, role, cls, apart)]
    return [*_memory(path, role, cls, spread), *_placement(path, role, cls, spread)]


def _chooses(parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> bool:
    """Say whether acceleratorMemory decides tensor."""
    return parallelism.tensor is None and memory is not None and cls.memory is not None


def _spread(parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> _Spread:
    tensor = parallelism.tensor or 1
    if memory is not None and cls.memory is not None and _chooses(parallelism, memory, cls):
        tensor = _sufficient(memory, cls.memory, parallelism.pipeline)
    return _Spread(
        tensor=tensor,
        pipeline=parallelism.pipeline,
        data=parallelism.data,
        local=parallelism.data_local or parallelism.data,
        most=cls.devices_per_node,
        unbound=cls.allocation is None,
    )


def _sufficient(memory: str, per_device: int, pipeline: int) -> int:
    """Return the smallest power of two of devices that share a layer so that one copy has the memory."""
    tensor = 1
    while per_device * tensor * pipeline < amount(memory):
        tensor *= 2
    return tensor


def _reasons(spread: _Spread, parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> Iterator[str]:
    if cls.memory is not None and _chooses(parallelism, memory, cls):
        each = f"{_size(cls.memory)} each" + (f", {spread.pipeline} stages" if spread.pipeline > 1 else "")
        yield f"tensor {spread.tensor}: the smallest power of two that holds {memory} ({each})"
    if spread.local < spread.data:
        yield f"{spread.local} of {spread.data} copies in a pod: dataLocal"
    if spread.pipeline > 1 and not spread.unbound:
        node = "the devices of a node are unknown" if spread.most is None else f"a node has {spread.most} devices"
        yield f"{spread.stages} of {spread.pipeline} pipeline stages in a pod: {node}"


def _memory(path: Path, role: Role, cls: AcceleratorClass, spread: _Spread) -> Iterator[Problem]:
    memory, at, name = role.accelerator_memory, path / "acceleratorMemory", role.accelerator
    if memory is None:
        return
    if amount(memory) <= 0:
        yield Problem(at, f"is not above zero ({memory})", "write the memory that one copy needs, such as 160Gi")
    elif cls.allocation is None:
        yield Problem(at, f"has no effect with {name} ({memory}; it has no devices)", "remove it", _read(path, role))
    elif cls.memory is None:
        what = f"cannot be used with {name} (its devices' memory is unknown)"
        yield Problem(at, what, _known_memory(name, cls.vendor), _read(path, role))
    elif role.parallelism.tensor is None:
        yield from _too_large(at, path, role, cls.memory, spread)
    elif cls.memory * spread.tensor * spread.pipeline < amount(memory):
        devices = spread.tensor * spread.pipeline
        total = f"{devices} × {_size(cls.memory)} is {_size(cls.memory * devices)}"
        what = f"is more than the devices of one copy have ({memory}; {total})"
        yield Problem(at, what, _enlarged(memory, cls.memory, spread, written=True), _read(path, role))


def _known_memory(name: str, vendor: str) -> str:
    shipped = accelerators.classes({})
    product = next((one for one, cls in shipped.items() if cls.vendor == vendor and cls.memory is not None), None)
    use = f"use a product class such as {product}, or " if product is not None else ""
    return f"{use}set accelerators.{name}.memory"


def _too_large(at: Path, path: Path, role: Role, per_device: int, spread: _Spread) -> Iterator[Problem]:
    """Refuse a chosen tensor that no node carries; where a node's devices are unknown, it is taken to have 8."""
    most = spread.most or _COMMON_NODE
    if spread.per_stage <= most:
        return
    name, memory = role.accelerator, role.accelerator_memory or ""
    known = spread.most is not None
    local = f", dataLocal {spread.local}" if spread.local > 1 else ""
    what = (
        f"would need {spread.per_stage} devices in a pod ({memory}, {_size(per_device)} a device{local}), "
        f"nodes of {name} {'have' if known else 'are taken to have'} {most}"
    )
    remedy = _enlarged(memory, per_device, spread, written=False)
    more = "" if known else f", or accelerators.{name}.devicesPerNode"
    yield Problem(at, what, remedy + more, _read(path, role))


def _enlarged(memory: str, per_device: int, spread: _Spread, *, written: bool) -> str:
    """Return how the devices of one copy suffice: by tensor while a node carries it, else by pipeline stages, too."""
    most = spread.most or _COMMON_NODE
    for local in _upto(most, spread.local):
        for doublings in range(_DOUBLINGS):
            pipeline = spread.pipeline << doublings
            enlarged = replace(spread, tensor=_sufficient(memory, per_device, pipeline), pipeline=pipeline, local=local)
            if enlarged.fits and enlarged.per_stage <= most:
                return f"set under parallelism {_changes(spread, enlarged, tensor=written)}"
    more = "use a class with more memory"
    if spread.data == 1:
        return more
    alone = _enlarged(memory, per_device, replace(spread, data=1, local=1), written=written)
    return alone if alone == more else f"{alone}, data: 1, dataLocal: 1 and more replicas"


def _placement(path: Path, role: Role, cls: AcceleratorClass, spread: _Spread) -> Iterator[Problem]:
    at, most = path / "parallelism", spread.most
    if not spread.fits_node:
        if not _chooses(role.parallelism, role.accelerator_memory, cls):
            sizes = f"tensor {spread.tensor} × dataLocal {spread.local}"
            what = f"a pod would need {spread.per_stage} devices ({sizes}), nodes of {role.accelerator} have {most}"
            yield Problem(at, what, f"use {_reduced(spread)}", _read(path, role))
    elif not spread.fits:
        pods = f"data {spread.data} over {spread.data // spread.local}"
        stages = f"pipeline {spread.pipeline} over {spread.pipeline // spread.stages}"
        together = replace(spread, local=spread.data)
        remedy = _changes(spread, together) if together.fits else f"data: {spread.local} and more replicas"
        yield Problem(
            at, f"data and pipeline would both span pods ({pods}, {stages})", f"use {remedy}", _read(path, role)
        )


def _reduced(spread: _Spread) -> str:
    """Return how the same devices are spread over more pods, with as few changes as possible."""
    most = spread.most or _COMMON_NODE
    for tensor in _upto(most, spread.tensor):
        for local in _upto(most, spread.local):
            smaller = replace(spread, tensor=tensor, pipeline=spread.pipeline * (spread.tensor // tensor), local=local)
            if smaller.fits:
                return _changes(spread, smaller)
    return f"{_reduced(replace(spread, data=1, local=1))}, data: 1, dataLocal: 1 and more replicas"


def _changes(old: _Spread, new: _Spread, *, tensor: bool = True) -> str:
    """Write the fields in which `new` differs from `old`, as the user would; `tensor` only where it is written."""
    fields = {
        "tensor": (old.tensor, new.tensor if tensor else old.tensor),
        "pipeline": (old.pipeline, new.pipeline),
        "dataLocal": (old.local, new.local),
    }
    return ", ".join(f"{name}: {value}" for name, (before, value) in fields.items() if value != before)


def _upto(most: int, number: int) -> list[int]:
    """Return the divisors of a number that are at most `most`, the largest first."""
    return [one for one in range(min(most, number), 0, -1) if number % one == 0]


def _divisors(number: int) -> list[int]:
    small = [one for one in range(1, isqrt(number) + 1) if number % one == 0]
    return sorted({*small, *(number // one for one in small)})


def _choices(data: int, local: int) -> str:
    """Return the values of dataLocal that divide data; the nearest ones where there are many."""
    every = _divisors(data)
    if len(every) > _LISTED:
        below, above = [one for one in every if one < local], [one for one in every if one > local]
        every = [*below[-1:], *above[:1]]
    *first, last = map(str, every)
    return f"{', '.join(first)} or {last}" if first else last


def _size(size: int) -> str:
    """Return bytes in Gi, with at most one decimal."""
    text = f"{Decimal(size) / _GI:.1f}"
    return f"{text.removesuffix('.0')}Gi"


def _read(path: Path, role: Role) -> tuple[Path, ...]:
    """Return the paths that a verdict reads: the role's own, those it may inherit, and the class's."""
    owners = [Path(*path[:length]) for length in range(_SERVICE_PARTS, len(path) + 1)]
    keys = ("accelerator", "acceleratorMemory")
    spread = ("tensor", "pipeline", "data", "dataLocal")
    facts = ("vendor", "memory", "devicesPerNode", "allocation")
    return (
        *(owner / key for owner in owners for key in keys),
        *(owner / "parallelism" / key for owner in owners for key in spread),
        *(Path("accelerators", role.accelerator, fact) for fact in facts),
    )
