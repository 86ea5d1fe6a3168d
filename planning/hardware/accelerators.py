"""Accelerator classes: the devices and nodes that a class name stands for. `accelerators.yaml` has the shipped classes.

A user may amend a shipped class. Fields that the user does not set keep their shipped values. The user's node labels
are added to the shipped ones; a label with the same key replaces the shipped label.

If neither the user nor the table sets `allocation` or `tolerations`, the classes for all products of the vendor provide
the missing field. A vendor that no shipped class has is unknown: its classes have the user's fields alone.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import Field

from models.accelerators import (
    Allocation,
    DevicesPerChip,
    DevicesPerNode,
    ExtendedResource,
    Memory,
    ResourceClaim,
    UserClass,
)
from models.base import Spec
from models.kubernetes import Toleration
from models.vocabulary import DnsLabel, Items, LabelKey, LabelValue, Text, amount
from planning.ground import tables

_FALLBACK = "nvidia"
"""Class whose vendor a new class gets if neither its spec nor its name tells a vendor, and whose allocation a class of
an unknown vendor gets if its spec has none."""


@dataclass(frozen=True, slots=True)
class AcceleratorClass:
    """A class of devices."""

    vendor: str
    product: str | None
    """Name of the product; None for a class of all products of the vendor."""
    memory: int | None
    """Memory of one device in bytes; None if unknown."""
    devices_per_node: int | None
    """Number of devices in the largest node; None if unknown."""
    devices_per_chip: int
    """Number of devices that the engine sees in one chip. The extended resource or the device claim counts chips."""
    device_files: tuple[str, ...]
    """Device files that by default only root and a special group may open on a node; empty if everyone may open
    them."""
    node_labels: Mapping[str, tuple[str, ...]]
    """Labels of the nodes that have the devices, each with its possible values."""
    tolerations: tuple[Mapping[str, Any], ...]
    """Tolerations in the form of a PodSpec."""
    allocation: ExtendedResource | ResourceClaim | None
    """Way in which a pod gets its devices; None if the class has no devices."""
    provisioned: bool = False
    """Whether nodes of the class are created on demand."""


class ShippedClass(Spec):
    """A class of the shipped table."""

    vendor: DnsLabel
    product: Text | None = None
    memory: Memory | None = None
    devices_per_node: DevicesPerNode | None = None
    devices_per_chip: DevicesPerChip = 1
    device_files: Items[Text] = ()
    node_labels: dict[LabelKey, Items[LabelValue]] = Field(default={})
    tolerations: Items[Toleration] | None = None
    allocation: Allocation | None = None
    source: Text


class _Table(Spec):
    classes: dict[str, ShippedClass]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A shipped class with the user's changes, or a new class.

    If `tolerations` or `allocation` is None, the classes for all products of the vendor provide the field.
    """

    vendor: str
    product: str | None
    memory: str | None
    devices_per_node: int | None
    devices_per_chip: int
    device_files: tuple[str, ...]
    node_labels: Mapping[str, tuple[str, ...]]
    tolerations: tuple[Toleration, ...] | None
    allocation: ExtendedResource | ResourceClaim | None
    provisioned: bool = False


def classes(user: Mapping[str, UserClass]) -> Mapping[str, AcceleratorClass]:
    """Return all classes by name: the shipped classes, with the user's changes and additions.

    If a new class lacks a vendor, or one of an unknown vendor an allocation, the missing field is guessed, so that the
    other checks can proceed. The rules reject such a class.
    """
    if not user:
        return _default_classes()
    return _classes(user)


@cache
def _default_classes() -> Mapping[str, AcceleratorClass]:
    """Return the shipped classes, without any changes of a user."""
    return _classes({})


def _classes(user: Mapping[str, UserClass]) -> Mapping[str, AcceleratorClass]:
    drafts = {name: _draft(shipped) for name, shipped in shipped_classes().items()}
    for name, spec in user.items():
        drafts[name] = _amend(drafts.get(name) or _new_draft(name, spec), spec)
    vendors = {vendor: [drafts[name] for name in names] for vendor, names in vendor_classes().items()}
    return {name: _resolve(draft, vendors.get(draft.vendor, [])) for name, draft in drafts.items()}


def resource_names(classes: Mapping[str, AcceleratorClass]) -> frozenset[str]:
    """Return the names of all extended resources that stand for devices, in the shipped classes and in `classes`."""
    shipped = [cls.allocation for cls in shipped_classes().values()]
    allocations = [*shipped, *(cls.allocation for cls in classes.values())]
    return frozenset(allocation.resource_name for allocation in allocations if isinstance(allocation, ExtendedResource))


def shipped_classes() -> dict[str, ShippedClass]:
    """Return the shipped classes by name."""
    return tables.read(_Table, "hardware/accelerators.yaml").classes


def vendor_classes() -> dict[str, list[str]]:
    """Return, for each vendor, the names of the classes that stand for all products of the vendor.

    Intel has one such class for each driver. Every other vendor has one such class.
    """
    names = dict[str, list[str]]()
    for name, shipped in shipped_classes().items():
        if shipped.product is None:
            names.setdefault(shipped.vendor, []).append(name)
    return names


def _draft(shipped: ShippedClass) -> _Draft:
    return _Draft(
        vendor=shipped.vendor,
        product=shipped.product,
        memory=shipped.memory,
        devices_per_node=shipped.devices_per_node,
        devices_per_chip=shipped.devices_per_chip,
        device_files=shipped.device_files,
        node_labels=shipped.node_labels,
        tolerations=shipped.tolerations,
        allocation=shipped.allocation,
    )


def _new_draft(name: str, spec: UserClass) -> _Draft:
    near = nearest(name, shipped_classes()) or _FALLBACK
    vendor = spec.vendor or shipped_classes()[near].vendor
    return _Draft(vendor, None, None, None, 1, (), {}, None, None)


def _amend(base: _Draft, spec: UserClass) -> _Draft:
    return replace(
        base,
        product=spec.product or base.product,
        memory=spec.memory or base.memory,
        devices_per_node=spec.devices_per_node or base.devices_per_node,
        devices_per_chip=spec.devices_per_chip or base.devices_per_chip,
        node_labels={**base.node_labels, **{key: (value,) for key, value in spec.node_selector.items()}},
        tolerations=base.tolerations if spec.tolerations is None else spec.tolerations,
        allocation=spec.allocation or base.allocation,
        provisioned=spec.provisioned,
    )


def _resolve(draft: _Draft, vendor: list[_Draft]) -> AcceleratorClass:
    """Return the class of a draft.

    `vendor` has the classes for all products of the vendor; it is empty for an unknown vendor. A draft without
    tolerations gets those of all these classes. A draft without an allocation gets that of the first class.
    """
    tolerations = draft.tolerations
    if tolerations is None:
        tolerations = tuple(toleration for cls in vendor for toleration in cls.tolerations or ())
    memory = None
    if draft.memory is not None:
        memory = int(amount(draft.memory))
    allocation = draft.allocation
    if allocation is None:
        allocation = vendor[0].allocation if vendor else shipped_classes()[_FALLBACK].allocation
    return AcceleratorClass(
        vendor=draft.vendor,
        product=draft.product,
        memory=memory,
        devices_per_node=draft.devices_per_node,
        devices_per_chip=draft.devices_per_chip,
        device_files=vendor[0].device_files if vendor else (),
        node_labels=draft.node_labels,
        tolerations=tuple(
            toleration.model_dump(by_alias=True, exclude_none=True) for toleration in dict.fromkeys(tolerations)
        ),
        allocation=allocation,
        provisioned=draft.provisioned,
    )


def is_known(vendor: str) -> bool:
    """Tell whether a shipped class has the vendor."""
    return vendor in vendor_classes()


def nearest(name: str, classes: Iterable[str]) -> str | None:
    """Return the class that a name most likely means, or None.

    A class whose name contains `name` comes first, then the longest class name that `name` contains, then the class
    name most similar to `name`.
    """
    lowered = name.lower()
    choices = list(classes)
    longer = [choice for choice in choices if lowered in choice]
    shorter = sorted((choice for choice in choices if choice in lowered), key=len, reverse=True)
    return next(iter(longer or shorter or difflib.get_close_matches(lowered, choices, n=1, cutoff=0.5)), None)
