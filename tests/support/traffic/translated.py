"""A gateway in front of a data path that asks the picker of each backend, as GKE's and agentgateway do."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from local.cluster import ControlPlane
from tests.support.cluster.server import read
from tests.support.stacks import GATEWAY
from tests.support.traffic.envoy import Envoy
from tests.support.traffic.gateway import KINDS, Translation
from tests.support.traffic.pickers import Picker


class Translated:
    """The gateway `GATEWAY` of a control plane, for the routes of one namespace."""

    clusters: tuple[str, ...] = ()
    """Names of the clusters to which the routes lead."""

    def __init__(self, binary: Path, directory: Path, plane: ControlPlane, *others: str) -> None:
        """`others` are namespaces whose objects the routes need, too."""
        self._plane = plane
        self._others = others
        self._envoy = Envoy(binary, directory)
        self.port = self._envoy.port

    def sync(self, namespace: str, pickers: Collection[Picker]) -> None:
        """Let the proxy use what the API server holds now, and these pickers."""
        objects = [
            manifest for home in (namespace, *self._others) for manifest in read(self._plane, ",".join(KINDS), home)
        ]
        translation = Translation(objects, f"{GATEWAY['namespace']}/{GATEWAY['name']}", pickers)
        self.clusters = tuple(sorted(cluster["name"] for cluster in translation.clusters))
        self._envoy.configure(translation.clusters, translation.routes)

    def log(self) -> list[dict[str, Any]]:
        """Return what the proxy did with the requests so far."""
        return self._envoy.log()

    def end(self) -> None:
        """End it at once."""
        self._envoy.end()
