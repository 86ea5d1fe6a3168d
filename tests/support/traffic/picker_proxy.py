"""The proxy beside a picker, started as deployed: arguments and configuration are taken from the API server."""

import http.client
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from local import processes
from local.cluster import ControlPlane
from local.files import tail
from local.ports import free_ports
from tests.support.cluster.server import read_one
from tests.support.traffic.gateway import Tree
from tests.support.traffic.pickers import Picker
from tests.support.waits import eventually

CONTAINER = "proxy"
HTTP = "http"
"""Name of the proxy's port for requests."""


class PickerProxy:
    """The proxy of a picker's pod. It differs from the deployed one in these points alone.

    It listens on free ports of loopback, it asks the picker at the picker's port of this machine, and its configuration
    lies in a folder of this machine.
    """

    port: int

    def __init__(self, binary: Path, directory: Path, plane: ControlPlane, name: str) -> None:
        """`name` is the name of the picker's Deployment."""
        directory.mkdir(parents=True)
        self._binary = binary
        self._directory = directory
        self._plane = plane
        self._name = name
        self._of_picker = dict[int, int]()
        self._process: subprocess.Popen[bytes] | None = None

    def sync(self, namespace: str, pickers: Collection[Picker]) -> None:
        """Start the proxy beside the picker, if that runs at other ports than before; returns when it is ready."""
        deployment = read_one(self._plane, "deployment", self._name, namespace)
        labels = deployment["spec"]["selector"]["matchLabels"].items()
        ports = next((picker.ports for picker in pickers if labels <= picker.labels.items()), self._of_picker)
        if ports == self._of_picker:
            return
        self._of_picker = dict(ports)
        self.end()
        self._start(namespace, deployment["spec"]["template"]["spec"])

    def log(self) -> list[dict[str, Any]]:
        """Return nothing: the proxy logs no requests."""
        return []

    def behind(self, namespace: str, service: str) -> int:
        """Return where on this machine a connection to port 80 of a Service of this picker's pods would come out."""
        spec = read_one(self._plane, "service", service, namespace)["spec"]
        deployment = read_one(self._plane, "deployment", self._name, namespace)
        assert spec["selector"] == deployment["spec"]["selector"]["matchLabels"]
        (target,) = (port["targetPort"] for port in spec["ports"] if port["port"] == http.client.HTTP_PORT)
        return self._listening[target]

    def end(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self, namespace: str, pod: Tree) -> None:
        (container,) = (container for container in pod["containers"] if container["name"] == CONTAINER)
        (mount,) = container["volumeMounts"]
        (volume,) = (volume for volume in pod["volumes"] if volume["name"] == mount["name"])
        ports = [port["containerPort"] for port in container["ports"]]
        self._listening = dict(zip(ports, free_ports([str(port) for port in ports]).values(), strict=True))
        data = read_one(self._plane, "configmap", volume["configMap"]["name"], namespace)["data"]
        for key, text in data.items():
            (self._directory / key).write_text(text, encoding="utf-8")
        path = container["args"][container["args"].index("--config-path") + 1]
        file = self._directory / Path(path).relative_to(mount["mountPath"])
        file.write_text(yaml.safe_dump(_here(yaml.safe_load(file.read_text()), self._listening, self._of_picker)))
        arguments = [argument.replace(mount["mountPath"], str(self._directory)) for argument in container["args"]]
        with (self._directory / "log").open("wb") as log:
            command = processes.tied_command([str(self._binary), *arguments])
            self._process = subprocess.Popen(command, env={}, stdout=log, stderr=subprocess.STDOUT)
        (self.port,) = (self._listening[port["containerPort"]] for port in container["ports"] if port["name"] == HTTP)
        probe = container["readinessProbe"]["httpGet"]
        eventually(lambda: self._answers(self._listening[probe["port"]], probe["path"]))

    def _answers(self, port: int, path: str) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"Envoy ended:\n{tail(self._directory / 'log')}"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()


def _here(config: Tree, listening: Mapping[int, int], of_picker: Mapping[int, int]) -> Tree:
    """Return a configuration with addresses and ports of this machine."""
    resources = config["static_resources"]
    for listener in resources["listeners"]:
        address = listener["address"]["socket_address"]
        address |= {"address": "127.0.0.1", "port_value": listening[address["port_value"]]}
    for address in _fixed_addresses(resources["clusters"]):
        assert address["address"] == "127.0.0.1"
        address["port_value"] = of_picker[address["port_value"]]
    return config


def _fixed_addresses(clusters: Collection[Tree]) -> Iterator[dict[str, Any]]:
    for cluster in clusters:
        for group in cluster.get("load_assignment", {}).get("endpoints", ()):
            for entry in group["lb_endpoints"]:
                yield entry["endpoint"]["address"]["socket_address"]
