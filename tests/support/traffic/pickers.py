"""Real endpoint pickers, started as deployed: identity, arguments and configuration are taken from the API server."""

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from local import processes
from local.cluster import ControlPlane
from local.gateway.picker import command

METRICS = 9090
"""Port of a picker's metrics as it is deployed."""


@dataclass(frozen=True, slots=True)
class Picker:
    """A picker that runs here in the place of a Deployment's pod."""

    namespace: str
    labels: Mapping[str, str]
    """Labels that its pod would have."""
    ports: Mapping[int, int]
    """Address on loopback at which it listens, by the port that it was deployed with."""
    health: int
    """Address at which it tells how it is."""
    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """Return what it has logged."""
        return self.log.read_text(encoding="utf-8")

    def lines(self) -> list[dict[str, Any]]:
        """Return what it has logged, as records; a line that is still being written is none."""
        return [json.loads(line) for line in self.said().splitlines() if line.startswith("{") and line.endswith("}")]

    def serves(self, service: str, deadline: float = 120) -> bool:
        """Tell whether it comes to serve before the deadline."""
        until = time.monotonic() + deadline
        with grpc.insecure_channel(f"127.0.0.1:{self.health}") as channel:
            health = health_pb2_grpc.HealthStub(channel)
            while time.monotonic() < until and self.process.poll() is None:
                with contextlib.suppress(grpc.RpcError):
                    answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=2)
                    if answer.status == health_pb2.HealthCheckResponse.SERVING:
                        return True
                time.sleep(0.2)
        return False

    def listens(self) -> bool:
        """Tell whether something listens on each of its ports; it says that it is ready before it can be asked."""
        with contextlib.ExitStack() as held:
            connections = [held.enter_context(socket.socket()) for _ in self.ports]
            pairs = zip(connections, self.ports.values(), strict=True)
            return all(connection.connect_ex(("127.0.0.1", port)) == 0 for connection, port in pairs)

    def end(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def picker(plane: ControlPlane, tools: Mapping[str, Any], namespace: str, name: str, directory: Path):
    """Run the picker of a deployed stack; only ports and the folder of its configuration are this machine's.

    If the version of its image is among the tools, that picker runs, or else the tool `epp`.
    """
    found = command(plane, namespace, name, directory)
    with (directory / "log").open("wb") as log:
        tool = tools.get(f"epp-{found.image.rpartition(':v')[2]}", tools["epp"])
        line = processes.tied_command([str(tool.path), *found.arguments])
        process = subprocess.Popen(line, env=found.environment, stdout=log, stderr=subprocess.STDOUT)
        running = Picker(namespace, found.labels, found.ports, found.health, process, directory / "log")
        try:
            yield running
        finally:
            running.end()
