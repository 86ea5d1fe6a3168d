"""How one replica is spread over devices and pods.

A copy of the model takes `tensor` devices for each of its `pipeline` stages, and a replica holds `data` copies. A pod
takes tensor times dataLocal devices for each of its stages, so that the pods of a replica have exactly its devices.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from models.role import Parallelism
from models.vocabulary import amount
from planning.hardware.accelerators import AcceleratorClass

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
class Spread:
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
    """Spread one replica over devices and pods; what `planning.hardware.rules` refuses is known not to occur."""
    spread = spread_of(parallelism, accelerator_memory, cls)
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


def chooses(parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> bool:
    """Say whether acceleratorMemory decides tensor."""
    return parallelism.tensor is None and memory is not None and cls.memory is not None


def spread_of(parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> Spread:
    """Return the numbers of a replica; where acceleratorMemory decides tensor, the smallest that suffices."""
    tensor = parallelism.tensor or 1
    if memory is not None and cls.memory is not None and chooses(parallelism, memory, cls):
        tensor = sufficient(memory, cls.memory, parallelism.pipeline)
    return Spread(
        tensor=tensor,
        pipeline=parallelism.pipeline,
        data=parallelism.data,
        local=parallelism.data_local or parallelism.data,
        most=cls.devices_per_node,
        unbound=cls.allocation is None,
    )


def sufficient(memory: str, per_device: int, pipeline: int) -> int:
    """Return the smallest power of two of devices that share a layer so that one copy has the memory."""
    tensor = 1
    while per_device * tensor * pipeline < amount(memory):
        tensor *= 2
    return tensor


def _reasons(spread: Spread, parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> Iterator[str]:
    if cls.memory is not None and chooses(parallelism, memory, cls):
        each = f"{gibibytes(cls.memory)} each" + (f", {spread.pipeline} stages" if spread.pipeline > 1 else "")
        yield f"tensor {spread.tensor}: the smallest power of two that holds {memory} ({each})"
    if spread.local < spread.data:
        yield f"{spread.local} of {spread.data} copies in a pod: dataLocal"
    if spread.pipeline > 1 and not spread.unbound:
        node = "the devices of a node are unknown" if spread.most is None else f"a node has {spread.most} devices"
        yield f"{spread.stages} of {spread.pipeline} pipeline stages in a pod: {node}"


def gibibytes(size: int) -> str:
    """Return bytes in Gi, with at most one decimal."""
    text = f"{Decimal(size) / _GI:.1f}"
    return f"{text.removesuffix('.0')}Gi"
