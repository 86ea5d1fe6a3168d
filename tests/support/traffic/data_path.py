"""A deployed stack's data path on loopback: a proxy as its gateway, a picker for every pool, a server for every pod.

All is configured from what the API server holds. Only ports of pickers are this machine's own.
"""

import contextlib
import http.client
import itertools
import json
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from local.cluster import ControlPlane
from local.tools import Tool
from planning.serving.engine_arguments import FORCED_USAGE
from tests.support.cluster.deployments import Deploy, Deployed
from tests.support.cluster.server import read, read_one
from tests.support.traffic.gateway import Tree, is_ready
from tests.support.traffic.model_servers import ModelServer
from tests.support.traffic.pickers import Picker, picker
from tests.support.traffic.translated import Translated
from tests.support.waits import DEADLINE, eventually

SERVER = "model-server"
POOLS = "inferencepools.inference.networking.k8s.io"
COPIES = "--data-parallel-multi-port-external-lb"
"""Flag by which an engine serves each of its copies on a port of its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def seen(self) -> Any:
        """Return what the model server saw of the request."""
        assert self.status == http.HTTPStatus.OK, self
        return json.loads(self.body)["seen"]


class Front(Protocol):
    """A gateway of data paths."""

    port: int
    """Port of loopback at which requests come in."""

    def sync(self, namespace: str, pickers: Collection[Picker]) -> None:
        """Return when the gateway uses what the API server holds, and these pickers of a namespace."""
        ...

    def log(self) -> list[dict[str, Any]]:
        """Return what the gateway did with each request."""
        ...

    def end(self) -> None:
        """End it at once."""
        ...


NewFront = Callable[[Path, Path, ControlPlane], Front]
"""Starts what requests go through, of the binary of a proxy, a folder for its files, and the control plane."""


class DataPath:
    """The data path of one namespace."""

    def __init__(
        self, plane: ControlPlane, tools: Mapping[str, Any], namespace: str, directory: Path, gateway: Front
    ) -> None:
        self.namespace = namespace
        self.gateway = gateway
        self.plane = plane
        self.servers = dict[str, list[ModelServer]]()
        """The servers of each pod: one, or one for each copy of the model in it."""
        self.pickers = dict[str, Picker]()
        self._tools = tools
        self._directory = directory
        self._ends = dict[str, contextlib.ExitStack]()

    def start(self) -> None:
        """Start servers and pickers; returns when every picker serves and knows its pods."""
        for pod in self.pods(SERVER):
            self.serve(pod["metadata"]["name"])
        self.start_pickers(*(pool["spec"]["endpointPickerRef"]["name"] for pool in self.listed(POOLS)))

    def serve(self, name: str) -> None:
        """Start the servers of a pod, on its address and on the ports that its engine is told."""
        (pod,) = self.listed(f"pod/{name}")
        arguments = dict(argument.partition("=")[::2] for argument in pod["spec"]["containers"][0]["args"])
        copies = int(arguments["--data-parallel-size-local"]) if COPIES in arguments else 1
        ports = [int(arguments["--port"]) + rank for rank in range(copies)]
        address = pod["status"]["podIP"]
        forces = FORCED_USAGE in arguments
        self.servers[name] = [ModelServer(name, address, port, forces_usage=forces) for port in ports]

    def start_pickers(self, *names: str) -> None:
        """Start pickers with the configuration that they now have.

        Returns when they serve, ask their pods for metrics, and are known to the gateway.
        """
        scrapes = {server: server.scrapes for name in names for server in self.selected(name)}
        for name in names:
            end = self._ends[name] = contextlib.ExitStack()
            folder = self._directory / f"{name}-{time.monotonic_ns()}"
            self.pickers[name] = end.enter_context(picker(self.plane, self._tools, self.namespace, name, folder))
        for name in names:
            assert self.pickers[name].serves("readiness", DEADLINE), self.pickers[name].said()[-3000:]
            eventually(self.pickers[name].listens)
        eventually(lambda: all(server.scrapes > before for server, before in scrapes.items()))
        self.sync()

    def stop_pickers(self, *names: str) -> None:
        """End pickers at once."""
        for name in names:
            self._ends.pop(name).close()
            del self.pickers[name]
        self.sync()

    def end(self) -> None:
        """End everything."""
        with contextlib.ExitStack() as ends:
            for server in itertools.chain(*self.servers.values()):
                ends.callback(server.end)
            for end in self._ends.values():
                ends.callback(end.close)

    def sync(self) -> None:
        """Let the gateway see what the API server holds now."""
        self.gateway.sync(self.namespace, self.pickers.values())

    @contextlib.contextmanager
    def through(self, gateway: Front) -> Iterator[None]:
        """Send requests through another gateway for the time of a `with` block."""
        usual = self.gateway
        self.gateway = gateway
        self.sync()
        try:
            yield
        finally:
            self.gateway = usual

    def listed(self, kinds: str) -> list[Tree]:
        """Return the objects of kinds, separated by commas, or the one of kind/name."""
        kind, _, name = kinds.partition("/")
        if name:
            return [read_one(self.plane, kind, name, self.namespace)]
        return read(self.plane, kinds, self.namespace)

    def pods(self, component: str) -> list[Tree]:
        """Return the ready pods of a component."""
        about = ("app.kubernetes.io/component", component)
        return [pod for pod in self.listed("pods") if is_ready(pod) and about in pod["metadata"]["labels"].items()]

    def selected(self, name: str) -> list[ModelServer]:
        """Return the servers of the pool that has this picker."""
        (pool,) = (pool for pool in self.listed(POOLS) if pool["spec"]["endpointPickerRef"]["name"] == name)
        labels = pool["spec"]["selector"]["matchLabels"].items()
        pods = [pod["metadata"] for pod in self.pods(SERVER)]
        return [server for pod in pods if labels <= pod["labels"].items() for server in self.servers[pod["name"]]]

    def of(self, variant: str) -> list[ModelServer]:
        """Return the servers of a variant, by the name of its pool."""
        return self.selected(f"{variant}-epp")

    def queue(self, service: str, length: float) -> None:
        """Let every server of a service report a queue; returns when the picker has read it."""
        servers = self.of(service)
        for server in servers:
            server.gauges["vllm:num_requests_waiting"] = length
        before = [server.scrapes for server in servers]
        eventually(lambda: all(server.scrapes >= count + 3 for server, count in zip(servers, before, strict=True)))

    def ask(
        self,
        service: str,
        path: str = "/v1/completions",
        *,
        headers: Mapping[str, str] | None = None,
        host: str = "llm.example.com",
        at: str | None = None,
        **body: object,
    ) -> Answer:
        """Ask a service for a completion, or for what lies under another path; `at` is another prefix than its own."""
        with self.asked(service, path, headers=headers, host=host, at=at, **body) as response:
            return Answer(response.status, dict(response.getheaders()), response.read())

    @contextlib.contextmanager
    def asked(
        self,
        service: str,
        path: str,
        *,
        headers: Mapping[str, str] | None,
        host: str,
        at: str | None = None,
        **body: object,
    ) -> Iterator[http.client.HTTPResponse]:
        """Ask, and hand out the response as it begins."""
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=DEADLINE)
        method = "GET" if path == "/v1/models" else "POST"
        text = None if method == "GET" else json.dumps({"model": "org/model", "prompt": "why", **body})
        sent = {"Host": host, "Content-Type": "application/json", **(headers or {})}
        try:
            prefix = f"/{self.namespace}/{service}" if at is None else at
            connection.request(method, f"{prefix}{path}", text, sent)
            yield connection.getresponse()
        finally:
            connection.close()

    def served(self, service: str, times: int, **more: Any) -> list[str]:
        """Ask many times, some at once, and return the pods that answered."""
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(self.ask, service, prompt=f"question {number}", **more) for number in range(times)]
            return [answer.result().seen["pod"] for answer in asked]

    @contextlib.contextmanager
    def altered(self, kind: str, name: str, *operations: Tree, field: str = "spec") -> Iterator[None]:
        """Alter an object of the cluster, as a mistake in the program would; it is afterwards as before."""
        before = self.listed(f"{kind}/{name}")[0][field]
        self.patch(kind, name, *operations)
        self.sync()
        try:
            yield
        finally:
            self.patch(kind, name, {"op": "replace", "path": f"/{field}", "value": before})
            self.sync()

    def patch(self, kind: str, name: str, *operations: Tree) -> None:
        """Patch an object of the namespace."""
        text = json.dumps(operations)
        self.plane.kubectl("patch", kind, name, "-n", self.namespace, "--type=json", "-p", text)

    def tell(self, pod: str, *, ready: bool) -> None:
        """Say of a pod what its kubelet would once a probe succeeds or fails."""
        status = {"conditions": [{"type": kind, "status": str(ready)} for kind in ("Ready", "ContainersReady")]}
        what = ("pod", pod, "-n", self.namespace, "--subresource=status", "-p", json.dumps({"status": status}))
        self.plane.kubectl("patch", *what)
        self.sync()


@pytest.fixture(scope="module")
def loopback_plane(new_plane: Callable[..., ControlPlane]):
    """Return a control plane on whose pods' addresses anybody can listen.

    The addresses are this run's alone, as the port is that they are made from.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        high, low = divmod(held.getsockname()[1], 256)
        addresses = json.dumps({"spec": {"podCIDR": f"127.{high}.{low}.0/24"}})
        plane = new_plane()
        for node in read(plane, "nodes"):
            plane.kubectl("patch", "node", node["metadata"]["name"], "-p", addresses)
        yield plane
        plane.remove()


@contextlib.contextmanager
def data_path(
    deployed: Deployed, tools: Mapping[str, Any], directory: Path, namespace: str, front: NewFront = Translated
) -> Iterator[DataPath]:
    """Deploy and run the data path of a namespace."""
    gateway = front(tools["envoy"].path, directory / "envoy", deployed.plane)
    path = DataPath(deployed.plane, tools, namespace, directory, gateway)
    try:
        deployed.up()
        path.start()
        yield path
    finally:
        path.end()
        gateway.end()


@pytest.fixture(scope="module")
def new_path(
    deploy_for_all: Deploy,
    loopback_plane: ControlPlane,
    tools: Mapping[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
):
    """Return a function that deploys a stack with its data path, which ends with the module.

    Its second argument is another picker than the one that is built here.
    """
    with contextlib.ExitStack() as ends:

        def start(stack: Tree, epp: Tool | None = None) -> DataPath:
            folder = tmp_path_factory.mktemp(stack["namespace"])
            deployed = deploy_for_all(stack, loopback_plane)
            used = tools if epp is None else {**tools, "epp": epp}
            return ends.enter_context(data_path(deployed, used, folder / "path", stack["namespace"]))

        yield start


def named(servers: Sequence[ModelServer]) -> set[str]:
    """Return the names of the servers' pods."""
    return {server.pod for server in servers}
