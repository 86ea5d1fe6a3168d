"""Statuses that real kubelets wrote, with the evidence of the time at which they were written."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from judging.status.evidence import Evidence

_FILE = Path(__file__).parents[1] / "judging" / "status" / "captured" / "kubelet.yaml"
ENTRIES: list[dict[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
NAMESPACE, NAME, NODE_NAME = "models", "qwen-decode-5d4f8b7c9-x7k2p", "gpu-h100-0"
NODE = {"metadata": {"name": NODE_NAME}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def pod(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the pod of a captured status, as the API server would return it."""
    metadata = {
        "name": NAME,
        "namespace": NAMESPACE,
        "creationTimestamp": entry["status"]["startTime"],
        "ownerReferences": [{"kind": "ReplicaSet", "name": "qwen-decode-5d4f8b7c9"}],
    }
    return {"metadata": metadata, "spec": {"nodeName": NODE_NAME, **entry["spec"]}, "status": entry["status"]}


def reading(entry: dict[str, Any], *, unread: Iterable[str] = ()) -> Evidence:
    """Return the evidence at the time of a capture: its own time, or 70 s after the last one in it."""
    now = datetime.fromisoformat(entry["now"]) if "now" in entry else _last(entry["status"]) + timedelta(seconds=70)
    first, last = (stamp(now - timedelta(seconds=age)) for age in (60, 10))
    events = [{"firstTimestamp": first, "lastTimestamp": last, **event} for event in entry.get("events", ())]
    missing = dict.fromkeys(unread, "403 Forbidden")
    about = {("Pod", NAMESPACE, NAME): [] if "v1/Event" in missing else events}
    return Evidence(now, about, {NODE_NAME: NODE}, missing)


def stamp(moment: datetime) -> str:
    """Return a time as the API server writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _last(tree: object) -> datetime:
    return max(_times(tree))


def _times(tree: object) -> Iterator[datetime]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list):
        for value in tree:
            yield from _times(value)
    elif isinstance(tree, str) and tree.startswith("20") and tree.endswith("Z"):
        yield datetime.fromisoformat(tree)
