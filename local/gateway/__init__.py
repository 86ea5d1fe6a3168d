"""A real Istio on loopback: an istiod that serves a `ControlPlane`, and an Envoy as the proxy of each Gateway."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any

from local import files, processes
from local.cluster import ATTEMPTS, PORT_IN_USE
from local.errors import LocalError
from local.gateway import istiod, objects, proxy
from local.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from local.cluster import ControlPlane
    from local.gateway.objects import GatewayListener, Manifest
    from local.tools import Tool

MARK = "INFERENCE_STACKS_GATEWAY"
"""Environment variable that marks all processes of a `Gateway`. Its value is the directory of this `Gateway`."""
READY_SECONDS = 60.0
FIELD_MANAGER = "inference-stacks-local"


class LocalGateway:
    """istiod, and proxies of Gateways, with their files in one directory.

    If `tie_to_parent` is true, the processes are killed when the thread that started them ends.
    """

    def __init__(
        self, directory: Path, tools: Mapping[str, Tool], plane: ControlPlane, *, tie_to_parent: bool = False
    ) -> None:
        self.directory = directory.resolve()
        self._tools = tools
        self._plane = plane
        self._tie = tie_to_parent
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: dict[str, int] = {}

    @property
    def access_log(self) -> Path:
        """Path of the file in which proxies log every request."""
        return self.directory / "access.log"

    def start(self) -> None:
        """Start istiod, and return when it is ready. A failure raises LocalError with the end of istiod's log."""
        files.private_directory(self.directory)
        istiod.write_files(self.directory, self.access_log)
        self.apply([objects.namespace_object(istiod.NAMESPACE), objects.gateway_class(), objects.proxies_node()])
        for attempt in range(1, ATTEMPTS + 1):
            self._ports = free_ports(istiod.PORTS)
            command = [str(self._tools["istiod"].path)]
            command += istiod.arguments(self.directory, self._plane.kubeconfig, self._ports)
            self.run("istiod", command, istiod.ENVIRONMENT)
            try:
                self.wait("istiod", lambda: get(f"127.0.0.1:{self._ports['http']}", "/ready") is not None)
            except LocalError as error:
                if PORT_IN_USE not in str(error) or attempt == ATTEMPTS:
                    raise
            else:
                return

    def serve(
        self,
        listeners: Sequence[GatewayListener],
        of_services: Collection[int],
        addresses: int,
        *,
        port: int | None = None,
        refresh: float = 1.0,
    ) -> EnvoyProxy:
        """Start the proxy of an existing Gateway, and return the proxy when it serves.

        `of_services` are the ports of the Services behind the routes. `addresses` is the port of `addresses.Server`;
        the proxy asks this server every `refresh` seconds. The first listener gets `port` on loopback,
        or a free port if `port` is None.
        """
        first = listeners[0]
        names = [str(listener.port) for listener in listeners]
        for attempt in range(1, ATTEMPTS + 1):
            ports = {int(name): number for name, number in free_ports(names).items()}
            if port is not None:
                ports[first.port] = port
            self.apply(objects.proxies(first.gateway, first.namespace, ports, of_services, refresh))
            proxy = self._start_proxy(first, ports, addresses)
            # If another program has taken a port meanwhile, the proxy rejects the listener of this port.
            self.wait(f"envoy-{first.gateway}", lambda proxy=proxy: proxy.serves() or proxy.rejections())
            if proxy.serves():
                return proxy
            if port is not None or attempt == ATTEMPTS:
                tail = files.tail(self.log(f"envoy-{first.gateway}"))
                problem = f"Envoy rejected a listener on loopback (ports by port of the Gateway: {ports})"
                raise LocalError(f"{problem}; the end of Envoy's log:\n{tail}")
            self.stop(f"envoy-{first.gateway}")
        raise AssertionError("the last attempt returns or raises")

    def _start_proxy(self, listener: GatewayListener, ports: Mapping[int, int], addresses: int) -> EnvoyProxy:
        pod = f"/api/v1/namespaces/{listener.namespace}/pods/{listener.gateway}-istio"
        self.wait("istiod", lambda: self._address(pod))
        folder = files.private_directory(self.directory / listener.gateway)
        config = folder / "envoy.json"
        admin = folder / "admin"
        admin.unlink(missing_ok=True)
        grpc = self._ports["grpc"]
        address = self._address(pod)
        bootstrap = proxy.bootstrap(listener.gateway, listener.namespace, address, grpc, addresses)
        files.write(config, json.dumps(bootstrap))
        command = [str(self._tools["envoy"].path), *proxy.arguments(str(config), str(admin))]
        self.run(f"envoy-{listener.gateway}", command, {})
        return EnvoyProxy(admin, ports)

    def apply(self, manifests: Iterable[Manifest]) -> None:
        """Apply objects server-side. Raises LocalError if an object is refused."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        flags = ("--server-side", "--force-conflicts", f"--field-manager={FIELD_MANAGER}")
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                self._plane.kubectl("apply", *flags, "-f", "-", input=json.dumps(items))
            except LocalError as error:
                # The API server refuses pods until the default ServiceAccount of their new namespace exists.
                if "serviceaccount" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def run(self, part: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a process under the name `part`. Its output goes to the log of this name."""
        private = {"PATH": os.defpath, "HOME": str(self.directory), MARK: str(self.directory)}
        with self.log(part).open("wb") as log:
            self._children[part] = subprocess.Popen(
                processes.tied_command(command, tied=self._tie),
                cwd=self.directory,
                env=private | dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self, part: str, condition: Callable[[], object]) -> None:
        """Wait until `condition` is true. Raises LocalError after a timeout, or if the process `part` ends before."""
        deadline = time.monotonic() + READY_SECONDS
        while not condition():
            problem = ""
            if self.has_ended(part):
                problem = "ended"
            elif time.monotonic() > deadline:
                problem = f"is not ready after {READY_SECONDS:.0f} s"
            if problem:
                raise LocalError(f"{part} {problem}; the end of {self.log(part)}:\n{files.tail(self.log(part))}")
            time.sleep(0.05)

    def has_ended(self, part: str) -> bool:
        """Return whether the process `part`, which was started before, has ended by itself."""
        return self._children[part].poll() is not None

    def log(self, part: str) -> Path:
        """Return the path of the log of the process `part`."""
        return self.directory / f"{part}.log"

    def stop(self, part: str) -> None:
        """Kill the process `part` without a graceful end."""
        child = self._children.pop(part)
        child.kill()
        child.wait()

    def end(self) -> None:
        """End all processes of this directory, even those of earlier runs."""
        processes.end(processes.find_marked(MARK, str(self.directory)), grace=0)
        for child in self._children.values():
            child.wait()
        self._children.clear()

    def ask(self, path: str) -> Any:  # noqa: ANN401 - JSON of any shape
        """Return the JSON at a path of istiod's HTTP server; None if istiod does not answer."""
        body = get(f"127.0.0.1:{self._ports['http']}", path)
        return json.loads(body or "null")

    def _address(self, pod: str) -> str:
        status, body = self._plane.api().get(pod)
        if status != http.client.OK:
            return ""
        return json.loads(body).get("status", {}).get("podIP", "")


class EnvoyProxy:
    """A running Envoy."""

    def __init__(self, admin: Path, ports: Mapping[int, int]) -> None:
        self._admin = admin
        self.ports = ports
        """Ports on loopback, by the ports of the Gateway."""

    def serves(self) -> bool:
        """Return whether Envoy has accepted a listener for every port."""
        listening = self.ask("/listeners?format=json")
        statuses = json.loads(listening or b"{}").get("listener_statuses", ())
        taken = {status["local_address"]["socket_address"].get("port_value") for status in statuses}
        return set(self.ports.values()) <= taken

    def configuration(self) -> dict[str, Any]:
        """Return the whole configuration of Envoy."""
        return json.loads(self.ask("/config_dump") or b"{}")

    def rejections(self) -> dict[str, int]:
        """Return the number of updates that Envoy has rejected, by kind; kinds without rejections are left out."""
        lines = (self.ask("/stats?filter=update_rejected$") or b"").decode().splitlines()
        counts = dict(line.split(": ", 1) for line in lines if ": " in line)
        return {name: int(count) for name, count in counts.items() if count != "0"}

    def ask(self, path: str) -> bytes | None:
        """Return the answer of Envoy's administration interface; None if the interface does not answer."""
        try:
            address = self._admin.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        return get(address, path)


def get(address: str, path: str) -> bytes | None:
    """Return the body of the answer to a GET request; None if the request fails."""
    connection = http.client.HTTPConnection(address, timeout=10)
    with contextlib.closing(connection):
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            return None
    if response.status != http.client.OK:
        return None
    return body
