"""Further volumes, containers and privileges that users add to serving pods."""

from collections.abc import Iterator
from typing import Any

from manifests.objects import Manifest, compact
from models.paths import Path
from planning.serving.additions import PodAdditions, PodContainerPlan, PodVolume, SecurityPlan, VolumeMount


def security(plan: SecurityPlan) -> dict[str, Any]:
    """Render the security context of a container.

    Containers of root keep the default capabilities of the container runtime, because programs of images for root need
    some of them, such as the one to read files of other users. All others lose these capabilities.
    """
    capabilities: dict[str, Any] = {"add": list(plan.capabilities)}
    if not plan.is_root:
        capabilities["drop"] = ["ALL"]
    # The API server refuses a privileged container that may not get further privileges.
    context: dict[str, Any] = {
        "allowPrivilegeEscalation": None if plan.privileged else False,
        "capabilities": compact(capabilities),
        "privileged": plan.privileged or None,
        "runAsUser": plan.user,
    }
    if plan.is_root:
        context |= {"runAsGroup": plan.user, "runAsNonRoot": False}
    if plan.unconfined:
        context["seccompProfile"] = {"type": "Unconfined"}
    return compact(context)


def volumes(additions: PodAdditions) -> list[Manifest]:
    """Render the volumes that a user adds to a pod."""
    return [{"name": volume.name, **volume.source} for volume in additions.volumes]


def mounts(volume_mounts: tuple[VolumeMount, ...]) -> list[Manifest]:
    """Render the mounts of such volumes in a container."""
    return [
        compact(
            {
                "name": mount.volume,
                "mountPath": mount.path,
                "subPath": mount.sub_path,
                "readOnly": mount.read_only or None,
            }
        )
        for mount in volume_mounts
    ]


def origins(additions: PodAdditions, engine: str, spec: Path, pod: Manifest) -> Iterator[tuple[Path, Path]]:
    """Yield the origins of what a user adds to a rendered pod, by the path of the value in the object.

    `engine` is the name of the engine's container, and `spec` the path of the pod's spec in the object.
    """
    volumes_at = {volume.name: volume for volume in additions.volumes}
    for index, rendered in enumerate(pod.get("volumes", ())):
        volume = volumes_at.get(rendered["name"])
        if volume is not None:
            yield from _volume_origins(volume, Path(*spec, "volumes", index))
    for field in additions.host_namespaces:
        yield spec / field, additions.privileges_at / field
    containers = {container.name: container.at for container in additions.all_containers}
    for field in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(field, ())):
            at = Path(*spec, field, index)
            if container["name"] == engine and engine in additions.reasons:
                yield at / "securityContext", additions.privileges_at
            elif container["name"] in containers:
                yield at, containers[container["name"]]
                yield at / "securityContext", containers[container["name"]] / "privileges"


def _volume_origins(volume: PodVolume, at: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the origins of a volume. Only the fields of type csi have the names of the Kubernetes API."""
    yield at, volume.at
    for kind in volume.source:
        yield at / kind, volume.at / "source" if kind == "csi" else volume.at
    yield Path(*at, "secret", "secretName"), volume.at / "name"


def host_namespaces(additions: PodAdditions) -> dict[str, Any]:
    """Render the fields of a pod spec that share namespaces of the node.

    Pods in the node's network ask the cluster's DNS only with a policy of their own (k8s.io/api v0.36.3,
    core/v1/types.go, DNSClusterFirstWithHostNet).
    """
    fields: dict[str, Any] = dict.fromkeys(additions.host_namespaces, True)
    if "hostNetwork" in fields:
        fields["dnsPolicy"] = "ClusterFirstWithHostNet"
    return fields


def arguments(container: PodContainerPlan) -> dict[str, Any]:
    """Render image, program, ports and resources of a further container."""
    resources = compact({"requests": dict(container.requests), "limits": dict(container.limits)})
    return {
        "name": container.name,
        "image": container.image,
        "command": list(container.command),
        "args": list(container.arguments),
        "ports": [{"containerPort": port, "protocol": "TCP"} for port in container.ports],
        "resources": resources,
        "securityContext": security(container.security),
        "volumeMounts": mounts(container.mounts),
    }
