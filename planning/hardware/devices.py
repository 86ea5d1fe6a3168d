"""Layout of one replica over devices and pods.

A copy of the model takes `tensor` devices for each of its `pipeline` stages, and a replica holds `data` copies. A pod
holds `dataLocal` copies, and takes `tensor` times `dataLocal` devices for each stage in the pod. The pods of a replica
together take exactly the devices of the replica.
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
    """The layout of one replica."""

    devices_per_pod: int
    """Number of devices of a pod; 0 if the accelerator class has no devices."""
    chips_per_pod: int
    """Number of chips that a pod requests. These chips contain the devices of the pod."""
    pods_per_replica: int
    stages_per_pod: int
    """Number of pipeline stages in a pod."""
    tensor: int
    pipeline: int
    data: int
    data_local: int
    """Number of copies of the model in a pod."""
    ports: int
    """Number of ports on which a pod gets requests. If `parallelism.loadBalancing` is `external`, each copy of the
    model in the pod has one port. Otherwise, the pod has one port."""
    every_pod_serves: bool
    """Whether every pod of a replica of several pods gets requests. If not, only the replica's first pod does."""
    expert: bool
    """Whether the model's experts are spread over all devices (`--enable-expert-parallel`)."""
    reasons: tuple[str, ...]
    """Explanations of the numbers in the layout that the user did not write."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The sizes of a replica, and the number of devices of a node, from which the number of pods follows."""

    tensor: int
    pipeline: int
    data: int
    data_local: int
    devices_per_node: int | None
    """Number of devices of the largest node of the accelerator class; None if unknown."""
    has_no_devices: bool = False
    """Whether the accelerator class has no devices (CPUs only). The size of a pod is then unlimited."""

    @property
    def devices_per_stage(self) -> int:
        """Return the number of devices that a pod takes for each of its stages."""
        return self.tensor * self.data_local

    @property
    def stages(self) -> int:
        """Return the number of stages in a pod: the largest number that fits a node and divides `pipeline`.

        If the number of devices of a node is unknown, a pod has one stage. If the class has no devices, a pod has all
        stages.
        """
        if self.has_no_devices:
            return self.pipeline
        if self.devices_per_node is None:
            return 1
        room = self.devices_per_node // self.devices_per_stage
        if room >= self.pipeline:
            return self.pipeline
        return next((stages for stages in range(room, 0, -1) if self.pipeline % stages == 0), 1)

    @property
    def devices_per_pod(self) -> int:
        """Return the number of devices of a pod."""
        if self.has_no_devices:
            return 0
        return self.devices_per_stage * self.stages

    @property
    def fits(self) -> bool:
        """Tell whether the layout is possible: a stage fits a node, and each pod contains all copies or all stages.

        A layout that divides the copies among pods and also the stages among pods is not supported.
        """
        return self.fits_node and (self.data_local == self.data or self.stages == self.pipeline)

    @property
    def fits_node(self) -> bool:
        """Tell whether one stage fits a node; True if the devices of a node are unknown."""
        return self.has_no_devices or self.devices_per_node is None or self.devices_per_stage <= self.devices_per_node


def layout(spread: Spread, parallelism: Parallelism, accelerator_memory: str | None, cls: AcceleratorClass) -> Layout:
    """Return the layout of a replica with a spread that `planning.hardware.rules` has accepted.

    `spread` is the result of `spread_of` for the other parameters.
    """
    ports = 1
    if parallelism.load_balancing == "external":
        ports = spread.data_local
    return Layout(
        devices_per_pod=spread.devices_per_pod,
        chips_per_pod=-(-spread.devices_per_pod // cls.devices_per_chip),
        pods_per_replica=spread.data // spread.data_local * (spread.pipeline // spread.stages) * parallelism.pods,
        stages_per_pod=spread.stages,
        tensor=spread.tensor,
        pipeline=spread.pipeline,
        data=spread.data,
        data_local=spread.data_local,
        ports=ports,
        every_pod_serves=parallelism.load_balancing != "internal" and spread.data_local < spread.data,
        expert=parallelism.expert,
        reasons=tuple(_reasons(spread, parallelism, accelerator_memory, cls)),
    )


def is_tensor_chosen(parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> bool:
    """Tell whether the value of `tensor` follows from `acceleratorMemory`."""
    return parallelism.tensor is None and memory is not None and cls.memory is not None


def spread_of(parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> Spread:
    """Return the sizes of a replica. A `tensor` that follows from `acceleratorMemory` is as small as possible."""
    tensor = parallelism.tensor or 1
    if memory is not None and cls.memory is not None and is_tensor_chosen(parallelism, memory, cls):
        tensor = smallest_tensor(memory, cls.memory, parallelism.pipeline)
    return Spread(
        tensor=tensor,
        pipeline=parallelism.pipeline,
        data=parallelism.data,
        data_local=parallelism.data_local or parallelism.data,
        devices_per_node=cls.devices_per_node,
        has_no_devices=cls.allocation is None,
    )


def smallest_tensor(memory: str, per_device: int, pipeline: int) -> int:
    """Return the smallest power of two for `tensor` with which the devices of a copy have at least `memory` together.

    `per_device` is the memory of a device in bytes. A copy of the model takes `tensor` times `pipeline` devices.
    """
    tensor = 1
    while per_device * tensor * pipeline < amount(memory):
        tensor *= 2
    return tensor


def _reasons(spread: Spread, parallelism: Parallelism, memory: str | None, cls: AcceleratorClass) -> Iterator[str]:
    """Yield an explanation of each number that the user did not write."""
    if cls.memory is not None and is_tensor_chosen(parallelism, memory, cls):
        basis = f"{gibibytes(cls.memory)} each"
        if spread.pipeline > 1:
            basis += f", {spread.pipeline} stages"
        yield f"tensor {spread.tensor}: the smallest power of two that holds {memory} ({basis})"
    if spread.data_local < spread.data:
        yield f"{spread.data_local} of {spread.data} copies in a pod: dataLocal"
    if spread.pipeline > 1 and not spread.has_no_devices:
        node = f"a node has {spread.devices_per_node} devices"
        if spread.devices_per_node is None:
            node = "the devices of a node are unknown"
        yield f"{spread.stages} of {spread.pipeline} pipeline stages in a pod: {node}"


def gibibytes(size: int) -> str:
    """Return a number of bytes as text in Gi, with at most one decimal."""
    text = f"{Decimal(size) / _GI:.1f}"
    return f"{text.removesuffix('.0')}Gi"
