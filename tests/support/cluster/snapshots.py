"""Everything that a cluster holds, to be compared with what it held before."""

import time
from typing import Any

from local.cluster import ControlPlane
from tests.support.cluster.server import read, read_all

MANAGED = ("status", "managedFields", "resourceVersion", "generation")
VOLATILE = {"events", "leases.coordination.k8s.io", "events.events.k8s.io"}
SECONDS = 240

Snapshot = dict[tuple[str, str, str | None, str], Any]


def snapshot(plane: ControlPlane) -> Snapshot:
    """Return every listable object of the cluster without what controllers manage about it."""
    return {
        (item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): _stripped(item)
        for item in read_all(plane, VOLATILE)
    }


def at_rest(plane: ControlPlane) -> Snapshot:
    """Return a snapshot, taken once nothing is being deleted."""
    until = time.monotonic() + SECONDS
    while going := _going(plane):
        assert time.monotonic() < until, going
        time.sleep(0.3)
    return snapshot(plane)


def _going(plane: ControlPlane) -> list[str]:
    found = read(plane, "namespaces,pods")
    return [item["metadata"]["name"] for item in found if "deletionTimestamp" in item["metadata"]]


def _stripped(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _stripped(value) for key, value in item.items() if key not in MANAGED}
    return [_stripped(value) for value in item] if isinstance(item, list) else item
