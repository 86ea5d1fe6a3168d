"""Replicas of a workload before, during and after a change, and pods that need places in addition to running pods."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from judging.report.running import RunningPods
from models.role import Recreate
from models.stack import Stack
from planning.ground.cluster_facts import Place
from planning.ground.names import CANARY
from planning.ground.turns import SIDE_BY_SIDE, Turn, Turns
from planning.plans import StackPlan, VariantPlan
from planning.serving.workload import Workload


@dataclass(frozen=True, slots=True)
class Range:
    """A number, or the smallest and the largest number if an autoscaler decides."""

    low: int
    high: int

    def times(self, factor: int) -> "Range":
        """Multiply both numbers by `factor`."""
        return Range(self.low * factor, self.high * factor)

    def plus(self, other: "Range") -> "Range":
        """Add the smallest numbers of both ranges, and the largest numbers."""
        return Range(self.low + other.low, self.high + other.high)

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return f"{self.low} to {self.high}"


NOTHING = Range(0, 0)


@dataclass(frozen=True, slots=True)
class Change:
    """A workload after a change, and its running pods before the change."""

    place: Place
    service: str
    """Key of the service."""
    variant: VariantPlan
    workload: Workload
    accelerator: str
    """Name of the accelerator class."""
    running: RunningPods | None
    """Pods of the workload that exists at `place`; None if no workload exists there."""
    restarts: bool
    """Whether the change replaces the running pods."""
    turn: Turn | None = None
    """Turn of the service; None if it waits for no other service."""
    waits: bool = False
    """Whether other services restart at the moment that counts."""

    @property
    def devices_per_replica(self) -> int:
        """Return the number of devices that a replica requests."""
        return self.workload.layout.chips_per_pod * self.workload.layout.pods_per_replica

    @property
    def has_devices(self) -> bool:
        """Tell whether the workload has devices before or after the change."""
        old = self.running
        return bool(self.workload.layout.devices_per_pod or (old is not None and old.devices_per_pod))

    @property
    def before(self) -> Range:
        """Return the number of running replicas.

        If the running object states no number, return the limits of the autoscaler, or 1 without an autoscaler.
        """
        if self.running is None:
            return NOTHING
        number = self.running.replicas
        scaler = self.workload.autoscaler
        if number is not None:
            return Range(number, number)
        if scaler is None:
            return Range(1, 1)
        return Range(scaler.min_replicas, scaler.max_replicas)

    @property
    def after(self) -> Range:
        """Return the number of replicas after the change."""
        scaler = self.workload.autoscaler
        if scaler is None:
            return Range(self.workload.max_replicas, self.workload.max_replicas)
        low = min(max(self.before.low, scaler.min_replicas), scaler.max_replicas)
        return Range(low, scaler.max_replicas)

    @property
    def is_reshaped(self) -> bool:
        """Tell whether new pods request more or other devices, and therefore cannot take the places of old pods."""
        old = self.running
        layout = self.workload.layout
        if old is None or (self.workload.claims_devices and not old.devices_per_pod):
            return False
        return old.accelerator != self.accelerator or old.devices_per_pod < layout.chips_per_pod

    @property
    def may_inherit(self) -> bool:
        """Tell whether reshaped pods may still get devices of the old pods.

        This is possible if the old pods can run on nodes of the new pods' class: if the class of the old pods is the
        same, is unknown, or demands no labels of nodes.
        """
        old = self.running
        if old is None or not self.is_reshaped:
            return False
        return old.is_of_any_product or old.accelerator == self.accelerator

    @property
    def additional(self) -> Range:
        """Return the number of replicas that need a place while all old pods still run.

        Other new replicas take the places of old replicas that have ended. A rollout starts at most `maxSurge` replicas
        beyond the requested number (Kubernetes documentation, Deployments, Max Surge).
        """
        surge = 0
        if self.restarts and not self.waits and not isinstance(self.workload.rollout, Recreate):
            surge = self.workload.rollout.max_surge
        return self._additional(surge)

    @property
    def passing(self) -> int:
        """Return the number of replicas that need a place only while the service restarts."""
        return self.additional.high - self._additional(0).high

    def _additional(self, surge: int) -> Range:
        if self.running is None or self.is_reshaped:
            return self.after
        before = self.before
        after = self.after
        if not before.high:
            return after
        return Range(max(0, after.low + surge - before.low), max(0, after.high + surge - before.low))


def changes(
    plan: StackPlan,
    running: Mapping[Place, RunningPods],
    restarted: Mapping[Place, bool],
    turns: Turns = SIDE_BY_SIDE,
) -> list[Change]:
    """Return the changes of all workloads. `restarted` tells, by place, whether running pods are replaced."""
    all_changes = list[Change]()
    by_service = turns.by_service
    for service in plan.services:
        for variant in service.variants:
            for workload in variant.workloads:
                at = place(variant, workload)
                accelerator = variant.accelerators[workload.role]
                old = running.get(at)
                restarts = restarted.get(at, old is not None)
                turn = by_service.get(service.key)
                all_changes.append(Change(at, service.key, variant, workload, accelerator, old, restarts, turn))
    return all_changes


def at_worst(
    changes: Sequence[Change], unit: Callable[[Change], Hashable], size: Callable[[Change], int]
) -> list[Change]:
    """Return the changes at the moment at which they need most of each unit, such as the devices of a class.

    Only services whose turns follow each other restart at the same time. For each unit, those are chosen that need most
    of it. `size` returns what a replica of a workload needs.
    """
    needs = dict[Hashable, dict[Turn, int]]()
    for change in changes:
        if change.turn is not None:
            of_unit = needs.setdefault(unit(change), {})
            of_unit[change.turn] = of_unit.get(change.turn, 0) + change.passing * size(change)
    busiest = {key: _busiest(of_unit) for key, of_unit in needs.items()}
    return [
        replace(change, waits=change.turn is not None and change.turn.position not in busiest[unit(change)])
        for change in changes
    ]


def _busiest(needs: Mapping[Turn, int]) -> range:
    """Return the positions of the services that restart at the same time and need most together."""
    by_position = {turn.position: need for turn, need in needs.items()}
    windows = (range(turn.position, turn.position + turn.at_once) for turn in needs)
    return max(windows, key=lambda window: sum(by_position.get(position, 0) for position in window))


def place(variant: VariantPlan, workload: Workload) -> Place:
    """Return the place of a workload's object in the cluster."""
    return workload.api_version.partition("/")[0], workload.kind, variant.names.namespace, workload.name


def weights_size(change: Change, stack: Stack) -> str | None:
    """Return the bytes of a workload's weights; None if they are unknown."""
    service = stack.services[change.service]
    if service.canary is not None and change.variant.names.variant_name == CANARY:
        return service.canary.model.size
    return service.model.size


def lacks(rendered: object, fields: Mapping[str, Any]) -> bool:
    """Tell whether a rendered value lacks one of the `fields` that Pulumi set in the live object.

    If so, the change removes the field from the live object. `fields` is a tree in the format of the API server. A key
    of the tree is `f:` and a field, `k:` and the keys of a list's item, or `v:` and a value of a set (Kubernetes API,
    FieldsV1).
    """
    for key, below in fields.items():
        kind, _, name = key.partition(":")
        part = rendered
        if name:
            part = _child(rendered, kind, name)
        if part is None or (below and lacks(part, below)):
            return True
    return False


def _child(rendered: object, kind: str, name: str) -> object:
    """Return the part of a rendered value that a key of FieldsV1 names; None if there is none.

    The API server adds keys to items of lists, such as the protocol of a port. Keys that the rendered item lacks are
    therefore not compared.
    """
    if kind == "f":
        if isinstance(rendered, Mapping):
            return cast("Mapping[str, object]", rendered).get(name)
        return None
    items = ()
    if isinstance(rendered, list | tuple):
        items = cast("Sequence[object]", rendered)
    if kind == "v":
        return next((item for item in items if item == json.loads(name)), None)
    keys = json.loads(name)
    mappings = (cast("Mapping[str, object]", item) for item in items if isinstance(item, Mapping))
    return next((item for item in mappings if all(item.get(key, value) == value for key, value in keys.items())), None)


def is_contained(rendered: object, live: object) -> bool:
    """Tell whether a live value equals the rendered value, except for keys that the API server and its hooks add."""
    if isinstance(rendered, Mapping):
        live_fields = None
        if isinstance(live, Mapping):
            live_fields = cast("Mapping[str, object]", live)
        items = cast("Mapping[str, object]", rendered).items()
        return live_fields is not None and all(
            key in live_fields and is_contained(value, live_fields[key]) for key, value in items
        )
    if isinstance(rendered, list | tuple):
        expected = cast("Sequence[object]", rendered)
        values = ()
        if isinstance(live, list | tuple):
            values = cast("Sequence[object]", live)
        return len(expected) == len(values) and all(map(is_contained, expected, values))
    return rendered == live
