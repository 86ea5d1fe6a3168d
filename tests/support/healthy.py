"""Snapshots of stacks in which everything is ready, with the statuses that controllers and kubelets write then."""

import copy
import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from judging.status import verdict
from judging.status.records import Finding, Link
from local.gateway import objects
from planning.ground import labels, snapshot
from planning.ground.cluster_facts import Unknown
from planning.ground.snapshot import Snapshot
from tests.support.cluster.status import marked
from tests.support.stacks import tree

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)
_GROUP = "leaderworkerset.sigs.k8s.io"
THEN = "2026-11-28T10:00:00Z"
SIZE = "leaderworkerset.sigs.k8s.io/size"


def whole(manifests: Sequence[Mapping[str, Any]]) -> Snapshot:
    """Return the snapshot of a cluster on which rendered objects have run for two hours."""
    everything = defaultdict[str, list[Any]](list)
    for manifest in manifests:
        item = copy.deepcopy(dict(manifest))
        item["metadata"] |= {"generation": 1, "creationTimestamp": THEN}
        for part in (_with_status(item), *_pods(item)):
            everything[f"{part['apiVersion']}/{part['kind']}"].append(part)
    for gateway in objects.gateways(objects.listeners([dict(manifest) for manifest in manifests])):
        gateway["metadata"] |= {"generation": 1, "creationTimestamp": THEN}
        everything[snapshot.GATEWAY].append({**gateway, "status": {"conditions": conditions("Accepted", "Programmed")}})
    return Snapshot(NOW, {kind: everything[kind] for kind in snapshot.KINDS})


def conditions(*kinds: str, **reasons: str) -> list[dict[str, Any]]:
    """Return conditions that are true since the beginning."""
    shared = {"status": "True", "lastTransitionTime": THEN, "lastUpdateTime": THEN, "observedGeneration": 1}
    return [{"type": kind, "reason": reasons.get(kind, kind), **shared} for kind in (*kinds, *reasons)]


def _with_status(item: dict[str, Any]) -> dict[str, Any]:
    match item["kind"]:
        case "Deployment" | "LeaderWorkerSet":
            replicas = item["spec"].setdefault("replicas", 1)
            counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), replicas)
            status = {"observedGeneration": 1, **counts}
            status["conditions"] = conditions("Available", Progressing="NewReplicaSetAvailable")
        case "InferencePool" | "HTTPRoute":
            verdict = conditions("Accepted", "ResolvedRefs")
            refs = item["spec"].get("parentRefs") or [{"name": "gateway"}]
            status = {"parents": [_parent(ref, verdict) for ref in refs]}
        case "PersistentVolumeClaim":
            status = {"phase": "Bound"}
        case "Job":
            status = {"succeeded": 1, "conditions": conditions("Complete")}
        case "HorizontalPodAutoscaler":
            replicas = item["spec"].get("minReplicas", 1)
            status = {"currentReplicas": replicas, "desiredReplicas": replicas}
            status["conditions"] = conditions("AbleToScale", "ScalingActive")
        case "ScaledObject":
            status = {"conditions": conditions("Ready", "Active")}
        case _:
            return item
    return {**item, "status": status}


def _parent(ref: Mapping[str, Any], verdict: list[dict[str, Any]]) -> dict[str, Any]:
    return {"parentRef": ref, "controllerName": "istio.io/gateway-controller", "conditions": verdict}


def _pods(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pods that a controller makes of a workload."""
    spec = item.get("spec", {})
    if item["kind"] == "Deployment":
        elects = "--ha-enable-leader-election" in str(spec["template"]["spec"])
        for index in range(spec["replicas"]):
            is_ready = index == 0 or not elects
            yield _pod(item, f"5d9c7-{index}", spec["template"], {"pod-template-hash": "5d9c7"}, is_ready=is_ready)
    elif item["kind"] == "LeaderWorkerSet":
        template = spec["leaderWorkerTemplate"]
        for group in range(spec["replicas"]):
            added = {labels.GROUP: item["metadata"]["name"], f"{_GROUP}/group-index": str(group)}
            leader = template.get("leaderTemplate", template["workerTemplate"])
            yield _pod(item, str(group), leader, added | {f"{_GROUP}/worker-index": "0"})
            for worker in range(1, template["size"]):
                yield _pod(
                    item,
                    f"{group}-{worker}",
                    template["workerTemplate"],
                    added | {f"{_GROUP}/worker-index": str(worker)},
                )


def _pod(
    item: Mapping[str, Any], name: str, template: Mapping[str, Any], more: Mapping[str, str], *, is_ready: bool = True
) -> dict[str, Any]:
    owner = item["metadata"]
    metadata = copy.deepcopy(template.get("metadata", {}))
    metadata |= {"namespace": owner["namespace"], "name": f"{owner['name']}-{name}", "creationTimestamp": THEN}
    metadata["labels"] = {**metadata.get("labels", {}), **more}
    spec = {**copy.deepcopy(template["spec"]), "nodeName": "node-0"}
    verdicts = conditions("PodScheduled", "Initialized", "ContainersReady", "Ready")
    if not is_ready:
        verdicts = [{**entry, "status": "True" if entry["type"] == "PodScheduled" else "False"} for entry in verdicts]
    state = {"started": True, "ready": is_ready, "restartCount": 0, "state": {"running": {"startedAt": THEN}}}
    running = [{"name": container["name"], **state} for container in spec["containers"]]
    status = {"phase": "Running", "startTime": THEN, "conditions": verdicts, "containerStatuses": running}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def service(
    change: Callable[[dict[str, Any]], None] | None = None, unread: Collection[str] = (), **keys: Any
) -> Snapshot:
    """Return the snapshot of a ready service, called qwen, whose decode workload a function changes.

    `unread` are kinds that could not be read.
    """
    ready = whole(marked(tree(qwen=keys)))
    everything = copy.deepcopy({kind: list(ready.of(kind)) for kind in ready.objects})
    for workload in (*everything[snapshot.DEPLOYMENT], *everything[snapshot.LEADER_WORKER_SET]):
        if change is not None and workload["metadata"]["name"] == "qwen-decode":
            change(workload)
    return dataclasses.replace(ready, objects=everything | dict.fromkeys(unread, Unknown("it answered 403")))


def replaced(ready: Snapshot, **objects: Sequence[Any]) -> Snapshot:
    """Return a snapshot with other objects of some kinds."""
    return dataclasses.replace(ready, objects={**ready.objects, **objects})


def states(ready: Snapshot, link: Link = Link.WORKLOAD) -> dict[str, Finding]:
    """Return the states of the links of a kind of the one service, by their ids."""
    (status,) = verdict.of(ready, {}).services
    return {state.state.id: state for part in status.components if part.link is link for state in part.findings}


def owned(workload: dict[str, Any], manager: str, *, scale: bool = False) -> None:
    """Let a manager own the number of replicas, and the provider the rest."""
    template = {"manager": "pulumi-kubernetes", "time": THEN, "fieldsV1": {"f:spec": {"f:template": {}}}}
    entries: list[dict[str, Any]] = [template]
    if manager:
        entry: dict[str, Any] = {"manager": manager, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
        entries.append(entry | ({"subresource": "scale"} if scale else {"time": THEN}))
    workload["metadata"]["managedFields"] = entries


def with_replicas(number: int, manager: str, *, scale: bool = False) -> Callable[[dict[str, Any]], None]:
    """Return a change of a workload: a manager has set its number of replicas."""

    def change(workload: dict[str, Any]) -> None:
        workload["spec"]["replicas"] = number
        owned(workload, manager, scale=scale)

    return change
