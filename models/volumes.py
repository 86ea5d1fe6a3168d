"""Specs of further volumes of serving pods, with their mounts in the engine container."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import (
    Bytes,
    DnsSubdomain,
    ImageRef,
    KubernetesObject,
    MountPath,
    Shape,
    SubPath,
    refuse,
)

FileName = Annotated[
    str,
    Shape(
        "is no name of a file",
        r"(?!\.\.)(?!\.$)[A-Za-z0-9._-]+",
        "use letters, digits, '-', '_' and '.', such as config.yaml",
        189,
    ),
]
"""Name of a file in a volume, which must not begin with '..' (k8s.io/kubernetes v1.36.3,
pkg/apis/core/validation/validation.go, validateLocalNonReservedPath).

The name of a volume, a dot and this name are a key of a ConfigMap, which has at most 253 characters.
"""
NodePath = Annotated[
    str, Shape("is not a path of the node", r"/(?!(.*/)?\.\.(/|$)).*", "write one such as /var/lib/models", 4096)
]


class _Volume(Spec):
    """Keys of all volumes."""

    mount_path: MountPath | None = Field(default=None, examples=["/etc/engine"])
    """Path of the volume in the engine container. Absent: the engine does not see the volume; other containers of the
    pods name it in mounts."""
    sub_path: SubPath | None = Field(default=None, examples=["qwen"])
    """Folder or file of the volume that is mounted; absent: all of the volume."""
    read_only: bool = False
    """Mount the volume read-only in the engine container. Volumes of type config-map, secret and image always are."""


class ConfigMapVolume(_Volume):
    """Files of a ConfigMap."""

    type: Literal["config-map"]
    """Files of a ConfigMap: of an existing one, or of one that the stack creates."""
    name: DnsSubdomain | None = Field(default=None, examples=["engine-config"])
    """Existing ConfigMap, in the namespace of the service. A change of its content restarts no pod."""
    files: dict[FileName, str] = Field(default={}, examples=[{"config.yaml": "cache: 8\n"}])
    """Texts of a ConfigMap that the stack creates, by name of the file. A change of a text restarts the pods. Either
    this key or name is required."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> "ConfigMapVolume":
        if (self.name is None) == (not self.files):
            raise refuse("needs the name of a ConfigMap, or files, and not both", "write one of them", echoed=False)
        return self


class SecretVolume(_Volume):
    """Files of an existing Secret."""

    type: Literal["secret"]
    """Files of an existing Secret."""
    name: Annotated[DnsSubdomain, Field(examples=["engine-license"])]
    """The Secret, in the namespace of the service."""


class ClaimVolume(_Volume):
    """An existing PersistentVolumeClaim."""

    type: Literal["claim"]
    """An existing PersistentVolumeClaim."""
    claim_name: Annotated[DnsSubdomain, Field(examples=["kv-cache"])]
    """The claim, in the namespace of the service."""


class EmptyDirVolume(_Volume):
    """A folder that is empty when a pod starts, and that ends with the pod."""

    type: Literal["empty-dir"]
    """A folder that is empty when a pod starts, and that ends with the pod."""
    size_limit: Bytes | None = Field(default=None, examples=["20Gi"])
    """Size above which the pod is evicted; absent: no limit."""
    medium: Literal["Memory"] | None = Field(default=None, examples=["Memory"])
    """Memory: the files are in memory, which counts to the containers' limits; absent: on the disk of the node."""


class HostPathVolume(_Volume):
    """A folder or file of the node."""

    type: Literal["host-path"]
    """A folder or file of the node. Namespaces of the Pod Security level baseline or restricted refuse it."""
    path: Annotated[NodePath, Field(examples=["/mnt/nvme"])]
    """Path on the node."""
    kind: Literal["Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"] = (
        "Directory"
    )
    """Kind of the file that the node must have. DirectoryOrCreate and FileOrCreate make it if it is missing."""


class CsiVolume(_Volume):
    """A volume that a CSI driver makes for each pod."""

    type: Literal["csi"]
    """A volume that a CSI driver makes for each pod."""
    source: Annotated[KubernetesObject, Field(examples=[{"driver": "gcsfuse.csi.storage.gke.io", "readOnly": True}])]
    """Fields of the volume's `csi`, with the names of the Kubernetes API."""


class ImageVolume(_Volume):
    """The files of an OCI image or artifact."""

    type: Literal["image"]
    """The files of an OCI image or artifact. Clusters before Kubernetes 1.35 need the feature gate ImageVolume."""
    reference: Annotated[ImageRef, Field(examples=["registry.example/chat-templates:v2"])]
    """The image. Its pull secrets are those of the pods."""
    pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(default=None, examples=["IfNotPresent"])
    """Pull policy of the image; absent: the default of Kubernetes."""


Volume = Annotated[
    ConfigMapVolume | SecretVolume | ClaimVolume | EmptyDirVolume | HostPathVolume | CsiVolume | ImageVolume,
    Field(discriminator="type"),
]
"""A volume of the serving pods."""
