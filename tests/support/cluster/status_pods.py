"""Pods on the control plane, and what a status says of them."""

import json
from datetime import UTC, datetime

from judging.status import evidence, pods
from local.cluster import ControlPlane
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import EVENT, NODE, POD, Snapshot
from tests.support.cluster.server import read

IMAGE = "registry.example/engine:1"


def apply(plane: ControlPlane, *items: dict, status: bool = False) -> None:
    """Apply objects, or their statuses."""
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    more = ("--subresource=status", "--force-conflicts") if status else ()
    plane.kubectl("apply", "--server-side", "--filename=-", *more, input=document)


def node(name: str, *, scene: str, allocatable: dict | None = None, taint: str = "", cordoned: bool = False) -> dict:
    """Return a node that kwok plays, with a label for the pods of a scene."""
    plenty = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110", **(allocatable or {})}
    taints = [{"key": "team", "value": taint, "effect": "NoSchedule"}] if taint else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"scene": scene, "kubernetes.io/hostname": name},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"unschedulable": cordoned, "taints": taints},
        "status": {"capacity": plenty, "allocatable": plenty},
    }


def pod(name: str, namespace: str, scene: str | None = None, requests: dict | None = None, **spec: object) -> dict:
    """Return a pod of one container that runs only on the nodes of a scene. `metadata` is added to its metadata."""
    metadata = spec.pop("metadata", {})
    extended = {key: number for key, number in (requests or {}).items() if "/" in key}
    container = {"name": "engine", "image": IMAGE, "resources": {"requests": requests or {}, "limits": extended}}
    container |= spec.pop("container", {})
    selector = {} if scene is None else {"nodeSelector": {"scene": scene}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 30, **selector, **spec},
    }


def evidence_of(plane: ControlPlane, namespace: str, *, unread: tuple[str, ...] = ()) -> evidence.Evidence:
    """Return the evidence as the command `status` would read it now."""
    objects = {
        EVENT: [entry for entry in read(plane, "events", namespace) if entry.get("type") == "Warning"],
        NODE: read(plane, "nodes"),
        POD: read(plane, "pods", namespace),
    }
    objects |= {kind: Unknown("403 Forbidden") for kind in unread}
    return evidence.of(Snapshot(datetime.now(UTC).replace(microsecond=0), objects), {}, ())


def pods_of(plane: ControlPlane, namespace: str) -> dict[str, dict]:
    """Return the pods of a namespace by name."""
    return {item["metadata"]["name"]: item for item in read(plane, "pods", namespace)}


def cause(plane: ControlPlane, namespace: str, name: str):
    """Return the state of a pod; None if it has none or does not exist."""
    manifest = pods_of(plane, namespace).get(name)
    return None if manifest is None else pods.cause(manifest, "decode", evidence_of(plane, namespace))
