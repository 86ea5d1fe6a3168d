"""Accelerator classes: what a class name means for devices and nodes. The shipped ones are `accelerators.yaml`.

A class that a user amends keeps what the user does not say, its node labels key by key. What neither says about
allocation and tolerations comes from the vendor's own class, as the user has it.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import Field

from models.accelerators import Allocation, DevicesPerNode, ExtendedResource, Memory, ResourceClaim, UserClass, Vendor
from models.base import Spec
from models.kubernetes import Toleration
from models.vocabulary import Items, LabelKey, LabelValue, Text, amount
from planning.ground import tables


@dataclass(frozen=True, slots=True)
class AcceleratorClass:
    """One class of devices."""

    vendor: str
    product: str | None
    memory: int | None
    """Bytes of one device; absent: unknown."""
    devices_per_node: int | None
    """Devices of the largest node; absent: unknown."""
    node_labels: Mapping[str, tuple[str, ...]]
    """Labels of nodes that carry the devices, each with the values that qualify."""
    tolerations: tuple[Mapping[str, Any], ...]
    """As PodSpec has them."""
    allocation: ExtendedResource | ResourceClaim | None
    """How a pod gets its devices; absent: the class has none."""


class ShippedClass(Spec):
    vendor: Vendor
    product: Text | None = None
    memory: Memory | None = None
    devices_per_node: DevicesPerNode | None = None
    node_labels: dict[LabelKey, Items[LabelValue]] = Field(default={})
    tolerations: Items[Toleration] | None = None
    allocation: Allocation | None = None
    source: Text


class _Table(Spec):
    classes: dict[str, ShippedClass]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A class as far as it is said; what is absent comes from the vendor's class."""

    vendor: str
    product: str | None
    memory: str | None
    devices_per_node: int | None
    node_labels: Mapping[str, tuple[str, ...]]
    tolerations: tuple[Toleration, ...] | None
    allocation: ExtendedResource | ResourceClaim | None


def classes(user: Mapping[str, UserClass]) -> Mapping[str, AcceleratorClass]:
    """Return every class by name.

    What `planning.hardware.rules` refuses in a user's class is guessed, so that checks can go on.
    """
    return _classes(user) if user else _unamended()


@cache
def _unamended() -> Mapping[str, AcceleratorClass]:
    """Return the classes of the package's own table, as they are where no user amends them."""
    return _classes({})


def _classes(user: Mapping[str, UserClass]) -> Mapping[str, AcceleratorClass]:
    drafts = {name: _draft(shipped) for name, shipped in shipped_classes().items()}
    for name, own in user.items():
        drafts[name] = _amended(drafts.get(name) or _new(name, own), own)
    vendors = {vendor: [drafts[name] for name in names] for vendor, names in vendor_classes().items()}
    return {name: _resolved(draft, vendors[draft.vendor]) for name, draft in drafts.items()}


def resource_names(known: Mapping[str, AcceleratorClass]) -> frozenset[str]:
    """Return the name of every extended resource that stands for a device: the shipped ones and those of `known`."""
    shipped = [one.allocation for one in shipped_classes().values()]
    allocations = [*shipped, *(one.allocation for one in known.values())]
    return frozenset(one.resource_name for one in allocations if isinstance(one, ExtendedResource))


def shipped_classes() -> dict[str, ShippedClass]:
    """Return the shipped classes by name."""
    return tables.read(_Table, "hardware/accelerators.yaml").classes


def vendor_classes() -> dict[str, list[str]]:
    """Return the names of the classes that take any product, by vendor; Intel has one for each of its drivers."""
    found = dict[str, list[str]]()
    for name, shipped in shipped_classes().items():
        if shipped.product is None:
            found.setdefault(shipped.vendor, []).append(name)
    return found


def _draft(shipped: ShippedClass) -> _Draft:
    return _Draft(
        vendor=shipped.vendor,
        product=shipped.product,
        memory=shipped.memory,
        devices_per_node=shipped.devices_per_node,
        node_labels=shipped.node_labels,
        tolerations=shipped.tolerations,
        allocation=shipped.allocation,
    )


def _new(name: str, own: UserClass) -> _Draft:
    near = nearest(name, shipped_classes())
    vendor = own.vendor or (shipped_classes()[near].vendor if near is not None else "nvidia")
    return _Draft(vendor, None, None, None, {}, None, None)


def _amended(base: _Draft, own: UserClass) -> _Draft:
    return replace(
        base,
        product=own.product or base.product,
        memory=own.memory or base.memory,
        devices_per_node=own.devices_per_node or base.devices_per_node,
        node_labels={**base.node_labels, **{key: (value,) for key, value in own.node_selector.items()}},
        tolerations=base.tolerations if own.tolerations is None else own.tolerations,
        allocation=own.allocation or base.allocation,
    )


def _resolved(draft: _Draft, vendor: list[_Draft]) -> AcceleratorClass:
    tolerations = draft.tolerations
    if tolerations is None:
        tolerations = tuple(one for own in vendor for one in own.tolerations or ())
    return AcceleratorClass(
        vendor=draft.vendor,
        product=draft.product,
        memory=None if draft.memory is None else int(amount(draft.memory)),
        devices_per_node=draft.devices_per_node,
        node_labels=draft.node_labels,
        tolerations=tuple(one.model_dump(by_alias=True, exclude_none=True) for one in dict.fromkeys(tolerations)),
        allocation=draft.allocation or vendor[0].allocation,
    )


def nearest(name: str, every: Iterable[str]) -> str | None:
    """Return the class that a name most likely means: one that spells it out, one that it spells out, or the likest."""
    lowered, choices = name.lower(), list(every)
    longer = [one for one in choices if lowered in one]
    shorter = sorted((one for one in choices if one in lowered), key=len, reverse=True)
    return next(iter(longer or shorter or difflib.get_close_matches(lowered, choices, n=1, cutoff=0.5)), None)
