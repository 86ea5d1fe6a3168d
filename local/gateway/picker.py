"""Endpoint pickers as processes, with the identity, arguments and configuration of their Deployments."""

from __future__ import annotations

import http.client
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import files
from local.errors import LocalError
from local.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.cluster import ControlPlane

PORTS = ("--grpc-port", "--grpc-health-port", "--metrics-port")
VALID = "720h"
CONTAINER = "epp"
"""Name of the picker's container."""


@dataclass(frozen=True)
class PickerCommand:
    """Command line of a picker, and properties of the pods of its Deployment: image, labels and ports."""

    image: str
    arguments: list[str]
    environment: dict[str, str]
    labels: Mapping[str, str]
    ports: Mapping[int, int]
    """Ports on loopback, by the ports of the Deployment."""
    health: int
    """Port of the picker's health service, on loopback."""
    config: Path
    """File with the picker's configuration."""


def command(
    plane: ControlPlane, namespace: str, name: str, directory: Path, changes: Mapping[str, str] | None = None
) -> PickerCommand:
    """Write to `directory` the files that the picker of a Deployment needs, and return the picker's command.

    Only ports, paths of files and the flags in `changes` differ from the Deployment.
    """
    files.private_directory(directory)
    deployment = _object(plane, f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
    template = deployment["spec"]["template"]
    pod = template["spec"]
    flags = _flags(plane, pod, namespace, directory) | dict(changes or {})
    ports = dict(zip((int(flags[flag]) for flag in PORTS), free_ports(PORTS).values(), strict=True))
    health = ports[int(flags["--grpc-health-port"])]
    flags |= {flag: str(ports[int(flags[flag])]) for flag in PORTS}
    kubeconfig = _kubeconfig(plane, namespace, pod["serviceAccountName"], directory)
    environment = {"PATH": os.defpath, "HOME": str(directory), "KUBECONFIG": str(kubeconfig)}
    environment |= {"NAMESPACE": namespace, "POD_NAME": "picker"}
    return PickerCommand(
        image=_container(pod)["image"],
        arguments=[f"{flag}={value}" for flag, value in flags.items()],
        environment=environment,
        labels=template["metadata"]["labels"],
        ports=ports,
        health=health,
        config=Path(flags["--config-file"]),
    )


def _flags(plane: ControlPlane, pod: Mapping[str, Any], namespace: str, directory: Path) -> dict[str, str]:
    """Write the picker's configuration to `directory`, and return the flags of the picker."""
    container = _container(pod)
    flags = dict(argument.split("=", 1) for argument in container["args"])
    name = pod["volumes"][0]["configMap"]["name"]
    data = _object(plane, f"/api/v1/namespaces/{namespace}/configmaps/{name}")["data"]
    for key, text in data.items():
        files.write(directory / key, text)
    folder = container["volumeMounts"][0]["mountPath"]
    return flags | {"--config-file": flags["--config-file"].replace(f"{folder}/", f"{directory}/", 1)}


def _container(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the container of the picker; its pod may have further containers."""
    return next(container for container in pod["containers"] if container["name"] == CONTAINER)


def _object(plane: ControlPlane, path: str) -> dict[str, Any]:
    """Return the object at a path of the API server. Raises LocalError if the server does not return the object."""
    status, body = plane.api().get(path)
    if status != http.client.OK:
        raise LocalError(f"{path}: {status} {body.decode()}")
    return json.loads(body)


def _kubeconfig(plane: ControlPlane, namespace: str, account: str, directory: Path) -> Path:
    """Write a kubeconfig with a token of a ServiceAccount, and return its path."""
    config = json.loads(plane.kubeconfig.read_text(encoding="utf-8"))
    token = plane.kubectl("create", "token", account, f"--namespace={namespace}", f"--duration={VALID}").strip()
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    files.write(directory / "kubeconfig", json.dumps(config))
    return directory / "kubeconfig"
