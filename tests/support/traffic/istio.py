"""A gateway that nobody plays: Envoy takes everything from istiod but addresses, which are those of this machine."""

import contextlib
import json
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.cluster import ControlPlane
from local.gateway import LocalGateway, addresses, objects
from local.gateway.objects import GatewayListener
from local.tools import Tool
from tests.support.traffic.pickers import Picker

REFRESH = 0.2
"""Seconds after which the proxy asks for addresses again."""


class Istio:
    """istiod beside a control plane, and the proxy of a Gateway."""

    port: int
    """Port of loopback at which requests come in."""

    def __init__(self, tools: Mapping[str, Tool], directory: Path, plane: ControlPlane) -> None:
        self._plane = plane
        self._gateway = LocalGateway(directory, tools, plane, tie_to_parent=True)
        self._addresses = addresses.Server(lambda: addresses.read(plane.api()))
        self._applied = list[tuple[str, str]]()

    def start(self, listeners: Sequence[GatewayListener], of_services: Collection[int]) -> None:
        """Start the proxy of the Gateway with these listeners; returns when it serves, of no route yet."""
        names = {listener.namespace for listener in listeners}
        self._gateway.start()
        gateways = objects.gateways(listeners)
        self._applied = [(gateway["metadata"]["namespace"], gateway["metadata"]["name"]) for gateway in gateways]
        self._gateway.apply([*map(objects.namespace_object, names), *gateways])
        self._proxy = self._gateway.serve(listeners, of_services, self._addresses.server_port, refresh=REFRESH)
        self.port = self._proxy.ports[listeners[0].port]

    def use(self, pickers: Collection[Picker]) -> None:
        """Let these pickers take the place of the pods with their labels; the proxy asks for addresses soon."""
        self._addresses.substitutes = [
            addresses.Substitute(picker.namespace, picker.labels, picker.ports) for picker in pickers
        ]

    def sync(self, namespace: str, pickers: Collection[Picker]) -> None:
        """Return when the proxy knows all clusters, and their addresses are those of the cluster and of these pickers.

        What else istiod makes of a change reaches the proxy a moment later.
        """
        self.use(pickers)
        moment = time.monotonic()
        self._gateway.wait("istiod", lambda: self._addresses.told_since(moment, self._clusters(namespace)))

    def controller(self) -> subprocess.Popen[bytes]:
        """Return the process of istiod."""
        return self._gateway._children["istiod"]

    def rejections(self) -> dict[str, int]:
        """Return how many updates the proxy has rejected, by kind."""
        return self._proxy.rejections()

    def log(self) -> list[dict[str, Any]]:
        """Return what the proxy did with each request."""
        lines = self._gateway.access_log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    @contextlib.contextmanager
    def patched(self, namespace: str, patch: Mapping[str, Any]) -> Iterator[None]:
        """Add an EnvoyFilter with one patch to the namespace of the Gateway for the time of a `with` block."""
        name = "control"
        self._gateway.apply([objects.envoy_filter(name, namespace, [patch])])
        try:
            yield
        finally:
            self._plane.kubectl("delete", "envoyfilter", name, "-n", namespace)

    def end(self) -> None:
        """End proxy and istiod, and remove the Gateways, which would still count as accepted in other tests."""
        self._gateway.end()
        self._addresses.end()
        for namespace, name in self._applied:
            self._plane.kubectl("delete", "gateway", name, "-n", namespace, "--ignore-not-found", "--wait=false")

    def services(self, namespace: str) -> dict[str, list[dict[str, str]]]:
        """Return the Services that metrics of Istio's proxies name, by the clusters that lead to a namespace."""
        return {
            cluster["name"]: cluster["metadata"]["filter_metadata"]["istio"]["services"]
            for cluster in self._clusters_of(namespace)
        }

    def _clusters(self, namespace: str) -> set[str]:
        """Return the names of the clusters of the proxy that lead to a namespace."""
        return {cluster["name"] for cluster in self._clusters_of(namespace)}

    def _clusters_of(self, namespace: str) -> list[dict[str, Any]]:
        dumps = self._proxy.configuration().get("configs", ())
        clusters = [
            state["cluster"]
            for dump in dumps
            if dump["@type"].endswith("ClustersConfigDump")
            for kind in ("dynamic_active_clusters", "dynamic_warming_clusters")
            for state in dump.get(kind, ())
        ]
        return [cluster for cluster in clusters if f".{namespace}.svc." in cluster["name"]]
