"""Objects of a real control plane: stack of six services, whose pods kwok 0.8.0 runs, in Kubernetes 1.36.3.

`control_plane.json` has the lists as `facts.status` reads them, by kind, without what no status is made from: variables
of containers, probes, most of `managedFields`, and some pods.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from models.trees import mapping, sequence
from planning.ground.snapshot import GATEWAY, POOL, ROUTE, Snapshot

_FILE = Path(__file__).parents[1] / "judging" / "status" / "captured" / "control_plane.json"
NOW = datetime(2026, 11, 28, 2, 0, tzinfo=UTC)
"""Some minutes after the objects were captured."""
Place = tuple[str | int, ...]
"""Keys and indices of a value in a tree."""


@cache
def lists() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the objects by kind (`apiVersion/Kind`)."""
    return json.loads(_FILE.read_text(encoding="utf-8"))


def snapshot(**objects: object) -> Snapshot:
    """Return the snapshot of the objects, with some kinds replaced: `objects` has them by kind."""
    return Snapshot(NOW, {**lists(), **objects})  # type: ignore[arg-type]


@cache
def places() -> Sequence[tuple[str, int, Place]]:
    """Return kind, index and place of every value; of values that differ in indices alone the first."""
    first = dict[tuple[str, Place], tuple[str, int, Place]]()
    for kind, objects in lists().items():
        for index, item in enumerate(objects):
            for place in _places(item):
                shape = tuple("*" if isinstance(key, int) else key for key in place)
                first.setdefault((kind, shape), (kind, index, place))
    return tuple(first.values())


def mutated(kind: str, index: int, place: Place, value: object) -> Snapshot:
    """Return the snapshot of the objects, with a value at a place of one of them."""
    objects = list[object](lists()[kind])
    objects[index] = _replaced(objects[index], place, value)
    return snapshot(**{kind: objects})


def _places(tree: object, place: Place = ()) -> Iterator[Place]:
    entries: list[tuple[str | int, object]] = [*mapping(tree).items(), *enumerate(sequence(tree))]
    for key, value in entries:
        yield (*place, key)
        yield from _places(value, (*place, key))


def _replaced(tree: Any, place: Place, value: object) -> Any:
    if not place:
        return value
    changed = tree.copy()
    changed[place[0]] = _replaced(tree[place[0]], place[1:], value)
    return changed


def programmed() -> dict[str, list[Any]]:
    """Return the objects with what a gateway controller writes into Gateways, routes and pools that it accepts."""
    objects: dict[str, list[Any]] = {kind: list(copy.deepcopy(items)) for kind, items in lists().items()}
    for gateway in objects[GATEWAY]:
        listeners = [
            {"name": listener["name"], "attachedRoutes": 6, "conditions": conditions("Accepted", "Programmed")}
            for listener in gateway["spec"]["listeners"]
        ]
        gateway["status"] = {"conditions": conditions("Accepted", "Programmed"), "listeners": listeners}
    for route in objects[ROUTE]:
        route["status"] = {"parents": [parent(reference) for reference in route["spec"]["parentRefs"]]}
    for pool in objects[POOL]:
        pool["status"] = {"parents": [parent({"name": "gateway", "namespace": "gateways"})]}
    return objects


def parent(reference: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a controller writes for a parent that it accepts."""
    accepted = conditions("Accepted", "ResolvedRefs")
    return {"parentRef": reference, "controllerName": "istio.io/gateway-controller", "conditions": accepted}


def conditions(*types: str) -> list[dict[str, Any]]:
    """Return conditions of some types that are met."""
    fields = {"status": "True", "message": "", "lastTransitionTime": "2026-11-28T01:55:00Z", "observedGeneration": 1}
    return [{"type": name, "reason": name, **fields} for name in types]
