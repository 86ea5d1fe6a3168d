"""Further volumes, containers and privileges that a user adds to the serving pods of a role."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from models.containers import ContainerPrivileges, PodContainer
from models.paths import Path
from models.role import Pod
from models.volumes import (
    ClaimVolume,
    ConfigMapVolume,
    CsiVolume,
    EmptyDirVolume,
    HostPathVolume,
    ImageVolume,
    SecretVolume,
    Volume,
)
from planning.ground import environment
from planning.ground.environment import Variable

_READ_ONLY = (ConfigMapVolume, SecretVolume, ImageVolume)
"""Volumes that Kubernetes never mounts for writing, or whose files are links to files of a kubelet."""
ROOT = 0
"""User id of root."""
_DIGITS = 8
"""Number of hex digits of the hash in the name of a ConfigMap."""


def is_read_only(volume: Volume) -> bool:
    """Tell whether the engine cannot write to a volume."""
    return volume.read_only or isinstance(volume, _READ_ONLY)


@dataclass(frozen=True, slots=True)
class PodVolume:
    """A volume of a pod."""

    name: str
    source: Mapping[str, Any]
    """Source of the volume, with the names of the Kubernetes API."""
    at: Path
    """Path of the volume in the configuration."""


@dataclass(frozen=True, slots=True)
class VolumeMount:
    """A mount of a volume in a container."""

    volume: str
    path: str
    sub_path: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class SecurityPlan:
    """Privileges of a container."""

    user: int | None
    """User id of the processes; None for the user of the pod, or for the user of the image."""
    capabilities: tuple[str, ...] = ()
    unconfined: bool = False
    privileged: bool = False

    @property
    def is_root(self) -> bool:
        """Tell whether the processes are those of root."""
        return self.user == ROOT


@dataclass(frozen=True, slots=True)
class PodContainerPlan:
    """A further container of a pod."""

    name: str
    at: Path
    """Path of the container in the configuration."""
    image: str
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    env: tuple[Variable, ...]
    ports: tuple[int, ...]
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    mounts: tuple[VolumeMount, ...]
    security: SecurityPlan


@dataclass(frozen=True, slots=True)
class FilesPlan:
    """The ConfigMap with the files of a role.

    It is named after its content. Pods that exist keep the ConfigMap with which they started, even if the rollout of
    other files fails.
    """

    name: str
    digest: str
    """Hash of the texts, with which the name ends."""
    texts: Mapping[str, str]
    """Texts by key."""


@dataclass(frozen=True, slots=True)
class PodAdditions:
    """All that a user adds to the pods of a role."""

    volumes: tuple[PodVolume, ...]
    mounts: tuple[VolumeMount, ...]
    """Mounts in the engine container."""
    files: FilesPlan | None
    """The ConfigMap that the stack creates for the role; None if the role has no files."""
    init_containers: tuple[PodContainerPlan, ...]
    containers: tuple[PodContainerPlan, ...]
    security: SecurityPlan
    """Privileges of the engine container."""
    host_namespaces: tuple[str, ...]
    """Fields of a PodSpec that let the pod share a namespace of the node, such as `hostIPC`."""
    reasons: Mapping[str, str]
    """Reasons for privileges, by name of the container."""
    privileges_at: Path
    """Path of the privileges of the engine container in the configuration."""

    @property
    def all_containers(self) -> tuple[PodContainerPlan, ...]:
        """Return the further containers, those that run before the engine first."""
        return (*self.init_containers, *self.containers)


def plan(at: Path, pod: Pod, engine: str, workload: str) -> PodAdditions:
    """Return what a user adds to the pods of a role. `at` is the path of `pod`.

    `engine` is the name of the engine's container, `workload` that of the role's workload.
    """
    volumes = {name: pod.volumes[name] for name in sorted(pod.volumes)}
    files = _files(volumes, workload)
    init_containers = tuple(_containers(at / "initContainers", pod.init_containers))
    containers = tuple(_containers(at / "containers", pod.containers))
    specs = {engine: pod.privileges, **_privileges(pod.init_containers), **_privileges(pod.containers)}
    return PodAdditions(
        volumes=tuple(
            PodVolume(name, _source(name, volume, files), at / "volumes" / name) for name, volume in volumes.items()
        ),
        mounts=tuple(
            VolumeMount(name, volume.mount_path, volume.sub_path, is_read_only(volume))
            for name, volume in volumes.items()
            if volume.mount_path is not None
        ),
        files=files,
        init_containers=init_containers,
        containers=containers,
        security=_security(pod.privileges, None),
        host_namespaces=tuple(_host_namespaces(pod)),
        reasons={name: spec.reason for name, spec in specs.items() if spec is not None},
        privileges_at=at / "privileges",
    )


def _privileges(containers: Mapping[str, PodContainer]) -> dict[str, ContainerPrivileges | None]:
    return {name: containers[name].privileges for name in sorted(containers)}


def _host_namespaces(pod: Pod) -> Iterator[str]:
    privileges = pod.privileges
    if privileges is None:
        return
    if privileges.host_ipc:
        yield "hostIPC"
    if privileges.host_network:
        yield "hostNetwork"
    if privileges.host_pid:
        yield "hostPID"


def file_key(volume: str, file: str) -> str:
    """Return the key of a file in the ConfigMap of a role. The name of a volume has no dot."""
    return f"{volume}.{file}"


def _files(volumes: Mapping[str, Volume], workload: str) -> FilesPlan | None:
    texts = dict(_texts(volumes))
    if not texts:
        return None
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:_DIGITS]
    return FilesPlan(f"{workload}-files-{digest}", digest, texts)


def _texts(volumes: Mapping[str, Volume]) -> Iterator[tuple[str, str]]:
    for name, volume in volumes.items():
        if isinstance(volume, ConfigMapVolume):
            for file, text in sorted(volume.files.items()):
                yield file_key(name, file), text


def _source(name: str, volume: Volume, files: FilesPlan | None) -> dict[str, Any]:
    """Return the source of a volume in a PodSpec."""
    if files is not None and isinstance(volume, ConfigMapVolume) and volume.files:
        items = [{"key": file_key(name, file), "path": file} for file in sorted(volume.files)]
        return {"configMap": {"name": files.name, "items": items}}
    if isinstance(volume, ConfigMapVolume | SecretVolume | ClaimVolume):
        return _object_source(volume)
    return _other_source(volume)


def _object_source(volume: ConfigMapVolume | SecretVolume | ClaimVolume) -> dict[str, Any]:
    """Return the source of a volume with the content of an object that exists already."""
    match volume:
        case ConfigMapVolume():
            return {"configMap": {"name": volume.name}}
        case SecretVolume():
            return {"secret": {"secretName": volume.name}}
        case ClaimVolume():
            return {"persistentVolumeClaim": {"claimName": volume.claim_name}}


def _other_source(volume: EmptyDirVolume | HostPathVolume | CsiVolume | ImageVolume) -> dict[str, Any]:
    match volume:
        case EmptyDirVolume():
            fields = {"medium": volume.medium, "sizeLimit": volume.size_limit}
            return {"emptyDir": {field: value for field, value in fields.items() if value is not None}}
        case HostPathVolume():
            return {"hostPath": {"path": volume.path, "type": volume.kind}}
        case CsiVolume():
            return {"csi": volume.source}
        case ImageVolume():
            fields = {"reference": volume.reference, "pullPolicy": volume.pull_policy}
            return {"image": {field: value for field, value in fields.items() if value is not None}}


def _containers(at: Path, containers: Mapping[str, PodContainer]) -> Iterator[PodContainerPlan]:
    for name in sorted(containers):
        container = containers[name]
        yield PodContainerPlan(
            name=name,
            at=at / name,
            image=container.image,
            command=container.command,
            arguments=container.args,
            env=environment.container_variables({}, environment.values(container.env), at / name / "env"),
            ports=container.ports,
            requests=container.resources.requests,
            limits=container.resources.limits,
            mounts=tuple(VolumeMount(volume, container.mounts[volume]) for volume in sorted(container.mounts)),
            security=_security(container.privileges, container.run_as_user),
        )


def _security(privileges: ContainerPrivileges | None, user: int | None) -> SecurityPlan:
    if privileges is None:
        return SecurityPlan(user)
    return SecurityPlan(
        user=ROOT if privileges.root else user,
        capabilities=privileges.capabilities,
        unconfined=privileges.unconfined,
        privileged=privileges.privileged,
    )
