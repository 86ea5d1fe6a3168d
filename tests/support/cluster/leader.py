"""Pickers that elect a leader, played by fake nodes: readiness follows the lease, so one pod is ready at a time."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

from local.cluster import ControlPlane
from local.errors import LocalError
from planning.ground import labels
from planning.ground.names import PRIMARY
from tests.support.cluster.server import read

WAITING = {f"pod-ready.stage.kwok.x-k8s.io/{delay}": "24h" for delay in ("delay", "jitter-delay")}
"""Annotations of pods that a fake node leaves unready: they wait for the lease, or for an image that never comes."""
READY = {
    "phase": "Running",
    "conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")],
}


def pods(plane: ControlPlane, namespace: str, service: str) -> list[dict[str, Any]]:
    """Return the pods of a service's picker that are not being deleted, the oldest first."""
    chosen = f"{labels.PICKER}={service},{labels.VARIANT}={PRIMARY}"
    live = [pod for pod in read(plane, "pods", namespace, chosen) if "deletionTimestamp" not in pod["metadata"]]
    return sorted(live, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))


def is_ready(pod: dict[str, Any]) -> bool:
    """Say whether a pod is ready."""
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in pod["status"].get("conditions", ())
    )


@contextlib.contextmanager
def leading(plane: ControlPlane, namespace: str, service: str, count: int = 2) -> Iterator[None]:
    """Make one of `count` waiting pickers ready whenever all are there and none is."""
    stop = threading.Event()

    def play() -> None:
        while not stop.wait(0.3):
            # The namespace may not be there yet, and a pod may go while it is looked at.
            with contextlib.suppress(LocalError):
                found = pods(plane, namespace, service)
                if len(found) == count and all("podIP" in pod["status"] for pod in found):
                    _elect(plane, namespace, found)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _elect(plane: ControlPlane, namespace: str, found: list[dict[str, Any]]) -> None:
    if not any(map(is_ready, found)):
        body = json.dumps({"status": READY})
        name = found[0]["metadata"]["name"]
        plane.kubectl("patch", "pod", name, "-n", namespace, "--subresource=status", "--type=strategic", "-p", body)


def settled(plane: ControlPlane, namespace: str, service: str, ready: list[bool], deadline: float = 120) -> None:
    """Wait until the pods of a picker are ready or not as said, the oldest first."""
    until = time.monotonic() + deadline
    while (found := [is_ready(pod) for pod in pods(plane, namespace, service)]) != ready:
        assert time.monotonic() < until, found
        time.sleep(0.2)
