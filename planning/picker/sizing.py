"""Requests and limits of the picker container, computed from the picker's expected traffic."""

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal

from models.base import Spec
from models.containers import Resources
from models.picker import FlowControl, Traffic
from models.vocabulary import Quantity, amount
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.variant.context import VariantContext, max_replicas

_GI = 2**30
_LIMIT_FACTOR = 2
"""Memory limit as a multiple of the requested memory. The default limit and the default request have the same ratio."""


class _Cores(Spec):
    """Cores of a picker."""

    base: float
    per_request: float
    """Cores for one request per second with a prompt of `of_tokens` tokens."""
    of_tokens: int
    per_endpoint: float
    """Cores for each endpoint of the pool: the picker reads the endpoint's metrics all the time."""


class _Memory(Spec):
    """Memory of a picker."""

    base: Quantity
    per_answer_token: Quantity
    """Memory for one token of answers per second."""
    per_band: Quantity
    """Memory for the waiting requests of a priority band without `max_bytes`."""


class _Sizing(Sourced):
    """Resources of a picker by its traffic."""

    cores: _Cores
    memory: _Memory


def resources(variant: VariantContext) -> Resources:
    """Return requests and limits of the picker container.

    If the spec has `traffic`, both are computed from `traffic`. If not, both are the spec's `resources`.
    """
    picker = variant.spec.endpoint_picker
    if picker.traffic is None:
        return picker.resources
    table = tables.read(_Sizing, "picker/sizing.yaml")
    memory = _memory(picker.traffic, picker.flow_control, table.memory)
    requests = {"cpu": str(_cores(picker.traffic, _endpoints(variant), table.cores)), "memory": f"{memory}Gi"}
    return Resources(requests=requests, limits={"memory": f"{memory * _LIMIT_FACTOR}Gi"})


def _endpoints(variant: VariantContext) -> int:
    """Return the maximum number of endpoints of the variant's pool."""
    return sum(max_replicas(role.spec) for role in variant.roles)


def _cores(traffic: Traffic, endpoints: int, table: _Cores) -> int:
    of_a_request = table.per_request * traffic.input_tokens / table.of_tokens
    total = table.base + traffic.requests_per_second * of_a_request + endpoints * table.per_endpoint
    return _rounded_up(Decimal(str(total)))


def _memory(traffic: Traffic, flow_control: FlowControl | None, table: _Memory) -> int:
    """Return the memory in Gi: for running requests, and for requests that wait in flow control."""
    tokens = Decimal(str(traffic.requests_per_second * traffic.output_tokens))
    total = amount(table.base) + tokens * amount(table.per_answer_token)
    return _rounded_up((total + _waiting(flow_control, table)) / _GI)


def _waiting(flow_control: FlowControl | None, table: _Memory) -> Decimal:
    """Return the maximum size of all waiting requests, in bytes."""
    if flow_control is None:
        return Decimal(0)
    if flow_control.max_bytes is not None:
        return amount(flow_control.max_bytes)
    return sum(_bands(flow_control, table), Decimal(0))


def _bands(flow_control: FlowControl, table: _Memory) -> Iterator[Decimal]:
    """Yield the maximum size of each band in `priority_bands`, and of one band that is not listed there."""
    for band in (*flow_control.priority_bands, flow_control.default_priority_band):
        if band is None or band.max_bytes is None:
            yield amount(table.per_band)
        else:
            yield amount(band.max_bytes)


def _rounded_up(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_CEILING))
