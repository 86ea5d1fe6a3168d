"""Mistakes in accelerator classes, and in how a role's replica is spread over their devices."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isqrt

from models.accelerators import ExtendedResource, UserClass
from models.paths import Path
from models.problems import Problem
from models.role import Role
from models.vocabulary import amount
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.hardware.devices import Spread, chooses, gibibytes, spread_of, sufficient

_COMMON_NODE = 8
"""Devices of a node that acceleratorMemory may count on where the class does not say: the boards of every vendor."""
_LISTED = 8
"""Divisors that a message lists before it names the nearest alone."""
_DOUBLINGS = 16
"""Doublings of the pipeline that a remedy tries."""
_SERVICE_PARTS = 2
"""Parts of the path of a service, which its roles and variants inherit from."""


def problems(user: Mapping[str, UserClass]) -> list[Problem]:
    """Check what a user adds to the shipped classes, or amends in them."""
    return [problem for name, own in user.items() for problem in _class_problems(name, own)]


def known(path: Path, name: str, every: Mapping[str, AcceleratorClass]) -> list[Problem]:
    """Refuse a role, at `path`, whose class is none of `every`."""
    if name in every:
        return []
    at = path / "accelerator"
    vendors = ", ".join(one for names in accelerators.vendor_classes().values() for one in names)
    use = accelerators.nearest(name, every) or f"one of {vendors}"
    remedy = f"use {use}, or define {name} under accelerators"
    return [Problem(at, f"unknown class ({name})", remedy, depends_on=(at, Path("accelerators", name)))]


def _class_problems(name: str, own: UserClass) -> Iterator[Problem]:
    path, shipped = Path("accelerators", name), accelerators.shipped_classes().get(name)
    vendor = own.vendor or (shipped.vendor if shipped is not None else None)
    if vendor is None:
        near = accelerators.nearest(name, accelerators.shipped_classes())
        remedy = f"add it ({', '.join(accelerators.vendor_classes())})" + (f", or amend {near}" if near else "")
        at = path / "vendor"
        yield Problem(at, f"is missing and {name} is no shipped class", remedy, depends_on=(at,))
    elif shipped is not None and vendor != shipped.vendor:
        what = f"is another than the shipped class's ({vendor}, {shipped.vendor})"
        yield Problem(path / "vendor", what, "remove it, or choose another name")
    elif vendor == "cpu":
        yield from _needless(path, own)
    elif shipped is None and own.allocation is None and len(accelerators.vendor_classes()[vendor]) > 1:
        yield _ambiguous(path / "allocation", vendor)


def _needless(path: Path, own: UserClass) -> Iterator[Problem]:
    said = {"memory": own.memory, "devicesPerNode": own.devices_per_node, "allocation": own.allocation}
    for key, value in said.items():
        if value is not None:
            yield Problem(path / key, "has no effect (cpu has no devices)", "remove it")


def _ambiguous(at: Path, vendor: str) -> Problem:
    own = (accelerators.shipped_classes()[name].allocation for name in accelerators.vendor_classes()[vendor])
    resources = [one.resource_name for one in own if isinstance(one, ExtendedResource)]
    what = f"is missing and {vendor} has more than one resource ({', '.join(resources)})"
    return Problem(at, what, f"add it: {{type: extended-resource, resourceName: {resources[-1]}}}", depends_on=(at,))


def layout_problems(path: Path, role: Role, cls: AcceleratorClass) -> list[Problem]:
    """Check that a role's replica can be spread over nodes of its class, and that one copy has memory enough."""
    spread = spread_of(role.parallelism, role.accelerator_memory, cls)
    if spread.data % spread.local:
        what = f"does not divide data ({spread.local}, {spread.data})"
        remedy = f"use {_choices(spread.data, spread.local)}"
        at = path / "parallelism" / "dataLocal"
        apart = replace(spread, local=1)
        return [Problem(at, what, remedy, _read(path, role)), *_memory(path, role, cls, apart)]
    return [*_memory(path, role, cls, spread), *_placement(path, role, cls, spread)]


def _memory(path: Path, role: Role, cls: AcceleratorClass, spread: Spread) -> Iterator[Problem]:
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
        total = f"{devices} × {gibibytes(cls.memory)} is {gibibytes(cls.memory * devices)}"
        what = f"is more than the devices of one copy have ({memory}; {total})"
        yield Problem(at, what, _enlarged(memory, cls.memory, spread, written=True), _read(path, role))


def _known_memory(name: str, vendor: str) -> str:
    shipped = accelerators.classes({})
    product = next((one for one, cls in shipped.items() if cls.vendor == vendor and cls.memory is not None), None)
    use = f"use a product class such as {product}, or " if product is not None else ""
    return f"{use}set accelerators.{name}.memory"


def _too_large(at: Path, path: Path, role: Role, per_device: int, spread: Spread) -> Iterator[Problem]:
    """Refuse a chosen tensor that no node carries; where a node's devices are unknown, it is taken to have 8."""
    most = spread.most or _COMMON_NODE
    if spread.per_stage <= most:
        return
    name, memory = role.accelerator, role.accelerator_memory or ""
    known = spread.most is not None
    local = f", dataLocal {spread.local}" if spread.local > 1 else ""
    what = (
        f"would need {spread.per_stage} devices in a pod ({memory}, {gibibytes(per_device)} a device{local}), "
        f"nodes of {name} {'have' if known else 'are taken to have'} {most}"
    )
    remedy = _enlarged(memory, per_device, spread, written=False)
    more = "" if known else f", or accelerators.{name}.devicesPerNode"
    yield Problem(at, what, remedy + more, _read(path, role))


def _enlarged(memory: str, per_device: int, spread: Spread, *, written: bool) -> str:
    """Return how the devices of one copy suffice: by tensor while a node carries it, else by pipeline stages, too."""
    most = spread.most or _COMMON_NODE
    for local in _upto(most, spread.local):
        for doublings in range(_DOUBLINGS):
            pipeline = spread.pipeline << doublings
            enlarged = replace(spread, tensor=sufficient(memory, per_device, pipeline), pipeline=pipeline, local=local)
            if enlarged.fits and enlarged.per_stage <= most:
                return f"set under parallelism {_changes(spread, enlarged, tensor=written)}"
    more = "use a class with more memory"
    if spread.data == 1:
        return more
    alone = _enlarged(memory, per_device, replace(spread, data=1, local=1), written=written)
    return alone if alone == more else f"{alone}, data: 1, dataLocal: 1 and more replicas"


def _placement(path: Path, role: Role, cls: AcceleratorClass, spread: Spread) -> Iterator[Problem]:
    at, most = path / "parallelism", spread.most
    if not spread.fits_node:
        if not chooses(role.parallelism, role.accelerator_memory, cls):
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


def _reduced(spread: Spread) -> str:
    """Return how the same devices are spread over more pods, with as few changes as possible."""
    most = spread.most or _COMMON_NODE
    for tensor in _upto(most, spread.tensor):
        for local in _upto(most, spread.local):
            smaller = replace(spread, tensor=tensor, pipeline=spread.pipeline * (spread.tensor // tensor), local=local)
            if smaller.fits:
                return _changes(spread, smaller)
    return f"{_reduced(replace(spread, data=1, local=1))}, data: 1, dataLocal: 1 and more replicas"


def _changes(old: Spread, new: Spread, *, tensor: bool = True) -> str:
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
