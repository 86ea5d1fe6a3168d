"""Specs of containers: resources, privileges, and further containers in pods."""

from typing import Annotated

from pydantic import Field

from models.base import Spec
from models.env import EnvName, EnvValue
from models.vocabulary import (
    Argument,
    DnsLabel,
    ImageRef,
    Items,
    LabelKey,
    MountPath,
    Port,
    Quantity,
    Shape,
    Text,
    Within,
)

Capability = Annotated[
    str,
    Shape(
        "is not the name of a capability",
        r"(?!CAP_)[A-Z][A-Z_]*",
        "write the name without CAP_, such as IPC_LOCK (capabilities(7))",
        64,
    ),
]
_User = Annotated[int, Within(1, 2**31 - 1, "write a user id above 0; root is refused")]


class Resources(Spec):
    """Requests and limits of a container. Devices are refused here, because `parallelism` decides them."""

    requests: dict[LabelKey, Quantity] = Field(default={}, examples=[{"cpu": "8"}])
    """Amounts that the scheduler reserves on the node."""
    limits: dict[LabelKey, Quantity] = Field(default={}, examples=[{"memory": "64Gi"}])
    """Maximum amounts that the container may use."""


class ContainerPrivileges(Spec):
    """Privileges of a container beyond those that the Pod Security level `restricted` admits."""

    reason: Text = Field(examples=["RDMA pins the memory of the KV cache"])
    """Reason for the privileges. It becomes an annotation of the pods."""
    capabilities: Items[Capability] = Field(default=(), examples=[["IPC_LOCK"]])
    """Capabilities that the container gets. Processes of a user other than root get no added capability, so they need
    root or a program with capabilities of its own."""
    root: bool = False
    """Run the container as root, with the default capabilities of the container runtime."""
    unconfined: bool = False
    """Let the container call all functions of the kernel (seccomp profile Unconfined)."""
    privileged: bool = False
    """Run the container with all capabilities and all devices of the node."""


class Privileges(ContainerPrivileges):
    """Privileges of the engine container, and of its pods."""

    host_ipc: bool = Field(default=False, alias="hostIPC")
    """Share shared memory and message queues with the processes of the node."""
    host_network: bool = False
    """Use the network of the node. Two such pods with equal ports cannot run on one node."""
    host_pid: bool = Field(default=False, alias="hostPID")
    """See the processes of the node."""


class FurtherContainer(Spec):
    """A further container of a pod."""

    image: ImageRef = Field(examples=["registry.example/vllm-openai-cpu:v0.21.0"])
    """Image of the container."""
    command: Items[Argument] = Field(default=(), examples=[["vllm", "launch", "render"]])
    """Program of the container with its first arguments; absent: the entrypoint of the image."""
    args: Items[Argument] = Field(default=(), examples=[["org/model", "--port=8000"]])
    """Arguments of the program; absent: the arguments of the image, or none if command is set."""
    env: dict[EnvName, EnvValue] = Field(default={}, examples=[{"HF_HOME": "/tmp"}])  # noqa: S108, an example
    """Environment variables of the container. A value is a text, or a reference to a Secret, a ConfigMap or a field of
    the pod."""
    ports: Items[Port] = Field(default=(), examples=[[8000]])
    """Ports that the container listens on. Two containers of a pod cannot listen on the same port, because all
    containers of a pod share one address."""
    resources: Resources = Resources.default()
    """Resource requests and limits of the container."""
    run_as_user: _User | None = Field(default=None, examples=[1000])
    """User id of the container's processes. Absent: the user of the image. The container then starts only if the image
    names a user by number, and this user is not root."""


class PodContainer(FurtherContainer):
    """A further container of the serving pods. It gets allowPrivilegeEscalation: false and no token for the API server.

    It has the volumes of pod.volumes that mounts names.
    """

    mounts: dict[DnsLabel, MountPath] = Field(default={}, examples=[{"templates": "/templates"}])
    """Paths at which volumes of pod.volumes are mounted, by name of the volume."""
    run_as_user: _User | None = Field(default=None, examples=[1000])
    """User id of the container's processes. Absent: pod.runAsUser; with privileges.root, root."""
    privileges: ContainerPrivileges | None = Field(
        default=None, examples=[{"privileged": True, "reason": "it sets limits of the node"}]
    )
    """Privileges of the container; absent: none."""
