"""Facts about inference engines from `overheads.yaml`: default batches, and memory besides weights and cache."""

from functools import cache

from models.base import Spec
from models.vocabulary import Quantity, amount
from planning.ground import tables
from planning.ground.tables import Sourced


class Overhead(Sourced):
    """Bytes that an engine takes on each device of a vendor. `overheads.yaml` explains the fields."""

    hidden: Quantity
    alone: Quantity
    together: Quantity
    graphs: Quantity
    graphs_since: str | None = None


class Batch(Spec):
    """Limits of an engine's batches: the number of tokens in one step, and the number of sequences in one batch."""

    tokens: int
    sequences: int


class Batches(Sourced):
    """Default batches of an engine, by the engine's device."""

    large: Batch
    small: Batch
    cpu: Batch
    large_from: Quantity
    small_products: list[str]


class _Table(Spec):
    vendors: dict[str, Overhead]
    activation: Quantity
    batches: Batches


def of_vendor(vendor: str) -> Overhead:
    """Return the overhead of an engine on devices of a vendor. Vendors that the table lacks share the entry `other`."""
    vendors = _table().vendors
    return vendors.get(vendor) or vendors["other"]


def batch(vendor: str, product: str | None, memory: int) -> Batch:
    """Return an engine's default batch on a device, by the device's vendor, product and bytes of memory."""
    batches = _table().batches
    if vendor == "cpu":
        return batches.cpu
    is_small = any(name in (product or "") for name in batches.small_products)
    if is_small or memory < size(batches.large_from):
        return batches.small
    return batches.large


def unknown_activation() -> int:
    """Return the bytes of the activations of a model whose widths are unknown."""
    return size(_table().activation)


@cache
def size(quantity: str) -> int:
    """Return the number of bytes that a quantity in a table stands for."""
    return int(amount(quantity))


@cache
def _table() -> _Table:
    return tables.read(_Table, "fit/overheads.yaml")
