"""Rollouts of Deployments, which an update of the provider may not have seen."""

import time
from collections.abc import Collection, Mapping
from typing import Any

from local.cluster import ControlPlane
from tests.support.cluster.server import read

STILL_SECONDS = 10.0
"""Time after which a rollout without progress counts as ended: its pods never become ready."""
INTERVAL = 0.2


def wait(plane: ControlPlane, places: Collection[tuple[str, str]]) -> None:
    """Wait until the rollouts of Deployments, given by namespace and name, have ended or make no progress."""
    latest = list[Any]()
    until = 0.0
    while going := _going(plane, places):
        if going != latest:
            latest = going
            until = time.monotonic() + STILL_SECONDS
        elif time.monotonic() > until:
            return
        time.sleep(INTERVAL)


def _going(plane: ControlPlane, places: Collection[tuple[str, str]]) -> list[Any]:
    """Return the states of the Deployments whose pods are not all new and ready."""
    namespaces = sorted({namespace for namespace, _ in places})
    found = [each for namespace in namespaces for each in read(plane, "deployments", namespace)]
    named = [each for each in found if (each["metadata"]["namespace"], each["metadata"]["name"]) in places]
    return [(each["metadata"]["generation"], each.get("status")) for each in named if not is_ended(each)]


def is_ended(deployment: Mapping[str, Any]) -> bool:
    """Return whether the controller has seen the present spec, and all its pods are ready and no others are left."""
    status = deployment.get("status", {})
    replicas = deployment["spec"]["replicas"]
    if status.get("observedGeneration") != deployment["metadata"]["generation"]:
        return False
    return all(status.get(name, 0) == replicas for name in ("replicas", "updatedReplicas", "readyReplicas"))
