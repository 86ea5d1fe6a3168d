"""Workloads of renderings: which objects have pods, and which container of the pods is the engine."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from migration import command_lines
from migration.accounts import without_credentials
from models.trees import at, mapping, sequence

_ENGINES = ("vllm", "main", "engine", "kserve-container", "zerfoo")
"""Names of the engine's container in renderings, the most certain first."""
_INFERENCE_SERVICE = "InferenceService"
"""Kind of KServe, from which its controller makes a Deployment. It stands for the Deployment."""
_WORKLOADS = frozenset({
    "DaemonSet", "Deployment", _INFERENCE_SERVICE, "LeaderWorkerSet", "Pod", "ReplicaSet", "StatefulSet",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class RenderedWorkload:
    """An object with pods. Credentials in it are hidden."""

    kind: str
    name: str
    namespace: str
    """Empty if the object states none."""
    replicas: object
    size: object
    """Number of pods of a replica."""
    labels: Mapping[str, Any]
    """Labels of the pods."""
    pod: Mapping[str, Any]
    """Spec of the pods; of the first one, if a replica has several."""
    engine: Mapping[str, Any] | None
    """The container of the engine; None if the pods have none."""

    def __str__(self) -> str:
        if not self.namespace:
            return f"{self.kind} {self.name}"
        return f"{self.kind} {self.namespace}/{self.name}"


def workloads(objects: Iterable[Mapping[str, Any]]) -> Iterator[RenderedWorkload]:
    """Yield the workloads among some objects. A workload that another one made is none."""
    for manifest in objects:
        if str(manifest.get("kind")) in _WORKLOADS and not _is_made_by_workload(manifest):
            hidden, _ = without_credentials(manifest)
            yield _workload(hidden)


def other_kinds(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the kind of each object that has no pods."""
    for manifest in objects:
        kind = str(manifest.get("kind") or "document without a kind")
        if kind not in _WORKLOADS:
            yield kind


def _is_made_by_workload(manifest: Mapping[str, Any]) -> bool:
    owners = sequence(at(manifest, "metadata", "ownerReferences"))
    return any(str(at(owner, "kind")) in _WORKLOADS for owner in owners)


def _workload(manifest: Mapping[str, Any]) -> RenderedWorkload:
    template = _template(manifest)
    pod = mapping(at(template, "spec"))
    return RenderedWorkload(
        kind=str(manifest.get("kind")),
        name=str(at(manifest, "metadata", "name") or ""),
        namespace=str(at(manifest, "metadata", "namespace") or ""),
        replicas=_number(_replicas(manifest)),
        size=_number(at(manifest, "spec", "leaderWorkerTemplate", "size")),
        labels=mapping(at(template, "metadata", "labels")),
        pod=pod,
        engine=_engine(pod),
    )


def _replicas(manifest: Mapping[str, Any]) -> object:
    if manifest.get("kind") == _INFERENCE_SERVICE:
        return at(manifest, "spec", "predictor", "minReplicas")
    return at(manifest, "spec", "replicas")


def _number(value: object) -> object:
    """Return a number of replicas or pods. Without one, Kubernetes has one."""
    if value is None:
        return 1
    return value


def _template(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the pod template of a workload; that of the leader if a replica has several pods."""
    if manifest.get("kind") == "Pod":
        return manifest
    if manifest.get("kind") == _INFERENCE_SERVICE:
        # KServe gives the labels of the object to the pods.
        return {"metadata": manifest.get("metadata"), "spec": at(manifest, "spec", "predictor")}
    group = at(manifest, "spec", "leaderWorkerTemplate")
    if group is None:
        return mapping(at(manifest, "spec", "template"))
    return mapping(at(group, "leaderTemplate") or at(group, "workerTemplate"))


def _engine(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the engine's container of a pod; None if no container has a known name or starts an engine."""
    containers = [mapping(cast("object", container)) for container in sequence(pod.get("containers"))]
    for name in _ENGINES:
        for container in containers:
            if container.get("name") == name and not command_lines.is_picker(container):
                return container
    return next((container for container in containers if command_lines.is_engine(container)), None)
