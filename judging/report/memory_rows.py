"""Fit of each role of a stack as a row of a table, and the memory that a change takes away from the KV cache."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judging.report import running
from models.trees import EMPTY
from planning.fit import memory, served
from planning.fit.memory import Fit
from planning.ground.cluster_facts import Unknown
from planning.plans import StackPlan
from planning.serving.device_memory import gibibytes
from planning.serving.workload import Workload

_PLACES = ("initContainers", "volumes", "affinity", "nodeSelector")
"""Fields of a pod that decide which weights and which devices the pod has."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A role, and the memory that its model takes of each device."""

    path: str
    """Path of the role, below `services`."""
    accelerator: str
    devices: int
    """Number of devices of a replica; 0 for a role without devices."""
    fit: Fit | Unknown


def rows(plan: StackPlan) -> Iterator[MemoryRow]:
    """Yield the fit of every role of a stack."""
    for service in plan.services:
        for variant in service.variants:
            for workload in variant.workloads:
                layout = workload.layout
                devices = layout.devices_per_pod * layout.pods_per_replica
                path = ".".join(map(str, workload.path[1:]))
                yield MemoryRow(path, variant.accelerators[workload.role], devices, workload.fit)


def cells(fit: Fit) -> tuple[str, ...]:
    """Return the cells of a row as texts.

    Their order is: weights, overhead, usable memory, cache of one sequence, free memory, requested context, longest
    possible context, number of sequences of the requested context that the cache holds. Contexts are in tokens.
    """
    sizes = (fit.weights, fit.overhead, fit.usable, fit.cache, fit.free)
    return *map(gibibytes, sizes), str(fit.request.tokens), str(fit.longest), str(fit.most_sequences)


def headroom(workload: Workload, old: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a text with the free memory of a device before and after a change that takes memory from the KV cache.

    The result is empty if the free memory does not shrink, or is unknown before or after the change.

    `old` is the workload object before the change. Only the engine's arguments are read from `old`, so the pods must
    have the same weights and devices before and after the change (`is_comparable`).
    """
    after = workload.fit
    spec = running.template(workload.kind, old).get("spec", EMPTY)
    containers = [
        container for container in spec.get("containers", ()) if container.get("name") == workload.engine.name
    ]
    if isinstance(after, Unknown) or not containers:
        return ()
    before = memory.fits(served.with_arguments(after.request, tuple(containers[0].get("args") or ())))
    if isinstance(before, Unknown) or before.free <= after.free:
        return ()
    numbers = f"{before.most_sequences} → {after.most_sequences} × {after.request.tokens} tokens"
    return (f"headroom of a device {gibibytes(before.free)} → {gibibytes(after.free)} ({numbers})",)


def is_comparable(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tell whether pods have the same weights and devices before and after a change."""
    before, after = (running.template(kind, workload).get("spec", EMPTY) for workload in (old, new))
    return all(before.get(name) == after.get(name) for name in _PLACES)
