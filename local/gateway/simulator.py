"""Process that answers requests in the place of model servers' pods, and tells proxies the pods' addresses.

The command line is `simulator CLUSTER DIRECTORY`. Until the process is killed, it follows the pods of the control plane
in the folder CLUSTER. To the folder DIRECTORY, it writes the port at which it tells addresses. From there, it reads the
list of processes that take the place of picker pods, and the labels of pods for which engines run.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local import files
from local.cluster import ControlPlane
from local.gateway import addresses
from local.gateway.model_server import ModelServer, models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PORT = "addresses.port"
SUBSTITUTES = "substitutes.json"
ENGINES = "engines.json"
"""Names of files in DIRECTORY."""
INTERVAL = 1.0
SELECTED = ("app.kubernetes.io/component", "model-server")


class Simulator:
    """The model servers of a control plane's pods."""

    def __init__(self, cluster: Path, directory: Path) -> None:
        plane = ControlPlane(cluster, {})
        self._directory = directory
        self._servers: dict[addresses.Address, ModelServer] = {}
        self._addresses = addresses.Server(lambda: addresses.read(plane.api()), age=INTERVAL)
        files.write(directory / PORT, str(self._addresses.server_port))

    def follow(self) -> None:
        """Start and end servers so that they match the pods of the cluster, and read the list of picker processes."""
        self._addresses.substitutes = _substitutes(self._directory / SUBSTITUTES)
        engines: list[dict[str, Any]] = json.loads(files.text(self._directory / ENGINES) or "[]")
        pods = _pods(self._addresses.listing(), engines)
        for address in [*self._servers.keys() - pods.keys()]:
            self._servers.pop(address).end()
        for address, pod in pods.items():
            if address not in self._servers:
                self._servers[address] = ModelServer(pod["metadata"]["name"], models(pod), *address)


def _pods(
    listing: addresses.Listing, engines: Sequence[Mapping[str, Any]] = ()
) -> dict[addresses.Address, addresses.Tree]:
    """Return the pods of model servers without engines, by the address at which a Service reaches each pod.

    `engines` has namespace and labels of pods for which engines run.
    """
    pods = dict[addresses.Address, addresses.Tree]()
    for service in listing.services:
        selector = service["spec"].get("selector")
        if not selector:
            continue
        for pod in listing.ready_pods(service["metadata"]["namespace"], selector):
            for port in service["spec"].get("ports", ()):
                number = addresses.container_port(pod, port.get("targetPort", port["port"]))
                is_ours = SELECTED in pod["metadata"]["labels"].items() and pod["status"]["podIP"].startswith("127.")
                if is_ours and number is not None and not any(_has_labels(pod, row) for row in engines):
                    pods[pod["status"]["podIP"], number] = pod
    return pods


def _has_labels(pod: addresses.Tree, row: Mapping[str, Any]) -> bool:
    metadata = pod["metadata"]
    return metadata["namespace"] == row["namespace"] and row["labels"].items() <= metadata["labels"].items()


def _substitutes(path: Path) -> list[addresses.Substitute]:
    """Read the list of processes that take the place of pods."""
    if not path.exists():
        return []
    return [
        addresses.Substitute(row["namespace"], row["labels"], {int(port): at for port, at in row["ports"].items()})
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]


def main() -> None:
    """Follow the cluster until the process is killed."""
    simulator = Simulator(Path(sys.argv[1]), Path(sys.argv[2]))
    while True:
        simulator.follow()
        time.sleep(INTERVAL)


if __name__ == "__main__":
    main()
