"""Validation of accelerator classes, and of the layout of replicas over their devices."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isqrt

from models.accelerators import ExtendedResource, ResourceClaim, UserClass
from models.paths import Path
from models.problems import Problem
from models.role import Role
from models.vocabulary import amount
from planning.hardware import accelerators, device_claims
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import Spread, gibibytes, is_tensor_chosen, smallest_tensor

_ASSUMED_NODE_DEVICES = 8
"""Assumed number of devices of a node, for classes that do not state this number. The boards of every vendor have 8."""
_MAX_LISTED = 8
"""Maximum number of divisors that a message lists. If there are more, the message lists only the nearest divisors."""
_MAX_DOUBLINGS = 16
"""Number of pipeline sizes that the search for a remedy tries. Each size is twice the previous size."""
_SERVICE_PATH_LENGTH = 2
"""Number of segments in the path of a service, such as `services.qwen`."""


def judge(user: Mapping[str, UserClass]) -> Iterator[Problem]:
    """Yield the problems of the classes that a user adds or changes."""
    for name, spec in user.items():
        yield from _class_problems(name, spec)


def check_class(path: Path, name: str, classes: Mapping[str, AcceleratorClass]) -> list[Problem]:
    """Reject `name`, the accelerator class of the role at `path`, if `classes` lacks it."""
    if name in classes:
        return []
    at = path / "accelerator"
    any_product = ", ".join(cls for names in accelerators.vendor_classes().values() for cls in names)
    use = accelerators.nearest(name, classes) or f"one of {any_product}"
    remedy = f"use {use}, or define {name} under accelerators"
    return [Problem(at, f"unknown class ({name})", remedy, depends_on=(at, Path("accelerators", name)))]


def _class_problems(name: str, spec: UserClass) -> Iterator[Problem]:
    path = Path("accelerators", name)
    if isinstance(spec.allocation, ResourceClaim):
        yield from device_claims.judge(path / "allocation", spec.allocation)
    shipped = accelerators.shipped_classes().get(name)
    vendor = spec.vendor
    if vendor is None and shipped is not None:
        vendor = shipped.vendor
    if vendor is None:
        yield _missing_vendor(path / "vendor", name)
    elif shipped is not None and vendor != shipped.vendor:
        what = f"differs from the vendor of the shipped class ({vendor}, {shipped.vendor})"
        yield Problem(path / "vendor", what, "remove it, or choose another name")
    elif vendor == "cpu":
        yield from _check_cpu(path, spec)
    elif not accelerators.is_known(vendor):
        yield from _check_unknown_vendor(path, vendor, spec)
    elif shipped is None and spec.allocation is None and len(accelerators.vendor_classes()[vendor]) > 1:
        yield _missing_allocation(path / "allocation", vendor)


def _missing_vendor(at: Path, name: str) -> Problem:
    remedy = f"add it ({', '.join(accelerators.vendor_classes())})"
    near = accelerators.nearest(name, accelerators.shipped_classes())
    if near is not None:
        remedy = f"{remedy}, or amend {near}"
    return Problem(at, f"is missing and {name} is no shipped class", remedy, depends_on=(at,))


def _check_cpu(path: Path, spec: UserClass) -> Iterator[Problem]:
    fields = {
        "memory": spec.memory,
        "devicesPerNode": spec.devices_per_node,
        "devicesPerChip": spec.devices_per_chip,
        "allocation": spec.allocation,
    }
    for key, value in fields.items():
        if value is not None:
            yield Problem(path / key, "has no effect (cpu has no devices)", "remove it")


def _check_unknown_vendor(path: Path, vendor: str, spec: UserClass) -> Iterator[Problem]:
    """Reject a class of an unknown vendor that does not say how pods get its devices."""
    if spec.allocation is not None:
        return
    known = ", ".join(accelerators.vendor_classes())
    what = f"is missing and {vendor} is none of the vendors with a default ({known})"
    remedy = f"add it, such as {{type: extended-resource, resourceName: {vendor}.com/device}}"
    near = accelerators.nearest(vendor, accelerators.vendor_classes())
    if near is not None:
        remedy = f"write vendor: {near}, or {remedy}"
    yield Problem(path / "allocation", what, remedy, depends_on=(path / "allocation", path / "vendor"))


def _missing_allocation(at: Path, vendor: str) -> Problem:
    allocations = (accelerators.shipped_classes()[name].allocation for name in accelerators.vendor_classes()[vendor])
    resources = [allocation.resource_name for allocation in allocations if isinstance(allocation, ExtendedResource)]
    what = f"is missing and {vendor} has more than one resource ({', '.join(resources)})"
    return Problem(at, what, f"add it: {{type: extended-resource, resourceName: {resources[-1]}}}", depends_on=(at,))


def layout_problems(path: Path, role: Role, cls: AcceleratorClass, spread: Spread) -> list[Problem]:
    """Check that a replica of a role fits nodes of its class, and that a copy of the model has enough device memory.

    `spread` are the sizes of a replica of the role.
    """
    if spread.data % spread.data_local:
        what = f"does not divide data ({spread.data_local}, {spread.data})"
        remedy = f"use {_data_local_choices(spread.data, spread.data_local)}"
        at = path / "parallelism" / "dataLocal"
        divisible = replace(spread, data_local=1)
        return [Problem(at, what, remedy, _dependencies(path, role)), *_check_memory(path, role, cls, divisible)]
    return [*_check_memory(path, role, cls, spread), *_check_placement(path, role, cls, spread)]


def _check_memory(path: Path, role: Role, cls: AcceleratorClass, spread: Spread) -> Iterator[Problem]:
    memory = role.accelerator_memory
    name = role.accelerator
    if memory is None:
        return
    at = path / "acceleratorMemory"
    if amount(memory) <= 0:
        yield Problem(at, f"is not above zero ({memory})", "write the memory that one copy needs, such as 160Gi")
    elif cls.allocation is None:
        what = f"has no effect with {name} ({memory}; this class has no devices)"
        yield Problem(at, what, "remove it", _dependencies(path, role), explicit_only=True)
    elif cls.memory is None:
        what = f"cannot be used with {name} (its devices' memory is unknown)"
        yield Problem(at, what, _memory_remedy(name, cls.vendor), _dependencies(path, role))
    elif role.parallelism.tensor is None:
        yield from _check_chosen_tensor(at, path, role, cls.memory, spread)
    elif cls.memory * spread.tensor * spread.pipeline < amount(memory):
        devices = spread.tensor * spread.pipeline
        total = f"{devices} × {gibibytes(cls.memory)} is {gibibytes(cls.memory * devices)}"
        what = f"is more than the devices of one copy have ({memory}; {total})"
        remedy = _enlarge_remedy(memory, cls.memory, spread, explicit_tensor=True)
        yield Problem(at, what, remedy, _dependencies(path, role))


def _memory_remedy(name: str, vendor: str) -> str:
    remedy = f"set accelerators.{name}.memory"
    for product, cls in accelerators.classes({}).items():
        if cls.vendor == vendor and cls.memory is not None:
            return f"use a product class such as {product}, or {remedy}"
    return remedy


def _check_chosen_tensor(at: Path, path: Path, role: Role, per_device: int, spread: Spread) -> Iterator[Problem]:
    """Reject `acceleratorMemory` if the `tensor` that follows from this memory needs more devices than a node has.

    If the class does not state the devices of a node, 8 are assumed.
    """
    node_devices = spread.devices_per_node or _ASSUMED_NODE_DEVICES
    if spread.devices_per_stage <= node_devices:
        return
    name = role.accelerator
    memory = role.accelerator_memory or ""
    sizes = f"{memory}, {gibibytes(per_device)} a device"
    if spread.data_local > 1:
        sizes = f"{sizes}, dataLocal {spread.data_local}"
    remedy = _whole_node_remedy(memory, per_device, spread) or _enlarge_remedy(
        memory, per_device, spread, explicit_tensor=False
    )
    nodes = f"nodes of {name} have"
    if spread.devices_per_node is None:
        nodes = f"nodes of {name} are assumed to have"
        remedy = f"{remedy}, or set accelerators.{name}.devicesPerNode"
    what = f"would need {spread.devices_per_stage} devices in a pod ({sizes}), but {nodes} {node_devices}"
    yield Problem(at, what, remedy, _dependencies(path, role))


def _whole_node_remedy(memory: str, per_device: int, spread: Spread) -> str | None:
    """Return the remedy that sets `tensor` so that a pod takes all devices of a node.

    None if the number of devices of a node is unknown, if this `tensor` gives a copy of the model too little memory, or
    if the layout is impossible.
    """
    if spread.devices_per_node is None:
        return None
    tensor = spread.devices_per_node // spread.data_local
    whole = replace(spread, tensor=tensor)
    if not tensor or not whole.fits or per_device * tensor * spread.pipeline < amount(memory):
        return None
    return f"under parallelism, set tensor: {tensor}, if it divides the model's attention heads"


def _enlarge_remedy(memory: str, per_device: int, spread: Spread, *, explicit_tensor: bool) -> str:
    """Return settings with which one copy has enough memory: a larger tensor, and more pipeline stages if needed."""
    node_devices = spread.devices_per_node or _ASSUMED_NODE_DEVICES
    for local in _divisors_up_to(node_devices, spread.data_local):
        for doublings in range(_MAX_DOUBLINGS):
            pipeline = spread.pipeline << doublings
            tensor = smallest_tensor(memory, per_device, pipeline)
            enlarged = replace(spread, tensor=tensor, pipeline=pipeline, data_local=local)
            if enlarged.fits and enlarged.devices_per_stage <= node_devices:
                return f"under parallelism, set {_changes(spread, enlarged, tensor=explicit_tensor)}"
    larger_class = "use a class with more memory"
    if spread.data == 1:
        return larger_class
    single = _enlarge_remedy(memory, per_device, replace(spread, data=1, data_local=1), explicit_tensor=explicit_tensor)
    if single == larger_class:
        return larger_class
    return f"{single}, data: 1, dataLocal: 1 and more replicas"


def _check_placement(path: Path, role: Role, cls: AcceleratorClass, spread: Spread) -> Iterator[Problem]:
    if spread.fits:
        return
    at = path / "parallelism"
    node_devices = spread.devices_per_node
    if not spread.fits_node:
        if not is_tensor_chosen(role.parallelism, role.accelerator_memory, cls):
            sizes = f"tensor {spread.tensor} × dataLocal {spread.data_local}"
            nodes = f"nodes of {role.accelerator} have {node_devices}"
            what = f"a pod would need {spread.devices_per_stage} devices ({sizes}), but {nodes}"
            yield Problem(at, what, f"use {_reduce_remedy(spread)}", _dependencies(path, role))
    else:
        pods = f"data {spread.data} over {spread.data // spread.data_local} pods"
        stages = f"pipeline {spread.pipeline} over {spread.pipeline // spread.stages} pods"
        together = replace(spread, data_local=spread.data)
        remedy = f"data: {spread.data_local} and more replicas"
        if together.fits:
            remedy = _changes(spread, together)
        yield Problem(
            at, f"data and pipeline would both span pods ({pods}, {stages})", f"use {remedy}", _dependencies(path, role)
        )


def _reduce_remedy(spread: Spread) -> str:
    """Return settings that spread the same devices over more pods, with as few changes as possible."""
    node_devices = spread.devices_per_node or _ASSUMED_NODE_DEVICES
    for tensor in _divisors_up_to(node_devices, spread.tensor):
        for local in _divisors_up_to(node_devices, spread.data_local):
            pipeline = spread.pipeline * (spread.tensor // tensor)
            smaller = replace(spread, tensor=tensor, pipeline=pipeline, data_local=local)
            if smaller.fits:
                return _changes(spread, smaller)
    return f"{_reduce_remedy(replace(spread, data=1, data_local=1))}, data: 1, dataLocal: 1 and more replicas"


def _changes(old: Spread, new: Spread, *, tensor: bool = True) -> str:
    """Return the fields in which `new` differs from `old`, as a user writes them.

    If the parameter `tensor` is false, the user does not set the field `tensor`, and the result leaves the field out.
    """
    fields = {
        "tensor": (old.tensor, new.tensor),
        "pipeline": (old.pipeline, new.pipeline),
        "dataLocal": (old.data_local, new.data_local),
    }
    if not tensor:
        del fields["tensor"]
    return ", ".join(f"{name}: {value}" for name, (old_value, value) in fields.items() if value != old_value)


def _divisors_up_to(limit: int, number: int) -> list[int]:
    """Return the divisors of a number that do not exceed a limit, the largest first."""
    return [divisor for divisor in range(min(limit, number), 0, -1) if number % divisor == 0]


def _divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})


def _data_local_choices(data: int, local: int) -> str:
    """Return the values of `dataLocal` that divide `data`. If there are many, return only those nearest to `local`."""
    choices = _divisors(data)
    if len(choices) > _MAX_LISTED:
        below = [choice for choice in choices if choice < local]
        above = [choice for choice in choices if choice > local]
        choices = [*below[-1:], *above[:1]]
    *first, last = map(str, choices)
    if not first:
        return last
    return f"{', '.join(first)} or {last}"


def _dependencies(path: Path, role: Role) -> tuple[Path, ...]:
    """Return the paths on which the layout depends: in the role, in its service and variant, and in the class."""
    owners = [Path(*path[:length]) for length in range(_SERVICE_PATH_LENGTH, len(path) + 1)]
    keys = ("accelerator", "acceleratorMemory")
    sizes = ("tensor", "pipeline", "data", "dataLocal")
    class_keys = ("vendor", "memory", "devicesPerNode", "allocation")
    return (
        *(owner / key for owner in owners for key in keys),
        *(owner / "parallelism" / key for owner in owners for key in sizes),
        *(Path("accelerators", role.accelerator, key) for key in class_keys),
    )
