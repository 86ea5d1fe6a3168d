"""A data path whose pods are real engines: gateway, picker and engine take everything from the API server."""

import contextlib
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from local import processes
from local.cluster import ControlPlane
from tests.support.engine.engines import Engine, Pod, Tree
from tests.support.traffic.data_path import SERVER, DataPath, Front


class EnginePath(DataPath):
    """The data path of a namespace with one engine for each pod."""

    def __init__(
        self,
        plane: ControlPlane,
        tools: Mapping[str, Any],
        namespace: str,
        directory: Path,
        gateway: Front,
        model: Path,
    ) -> None:
        super().__init__(plane, tools, namespace, directory, gateway)
        self.engines = dict[str, Engine]()
        """Engines by the names of their pods."""
        self._model = model

    def serve(self, name: str, change: Callable[[Tree], None] | None = None) -> None:
        """Start the engine of a pod. `change` edits its container before. Returns when the engine is ready."""
        (pod,) = self.listed(f"pod/{name}")
        if change is not None:
            change(pod["spec"]["containers"][0])
        engine = Engine(Pod(pod, pod["status"]["podIP"]), self._directory / name, self._model)
        self.engines[name] = engine
        self.servers[name] = []
        engine.start()
        engine.wait()

    def delete(self, name: str) -> None:
        """Delete a pod, and end its container as kubelet does: first the preStop hook, then SIGTERM."""
        (pod,) = self.listed(f"pod/{name}")
        self.plane.kubectl("delete", "pod", name, "-n", self.namespace, "--wait=false")
        time.sleep(pod["spec"]["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"])
        process = processes.Process.of(self.engines[name].server.pid)
        assert process is not None
        process.signal(signal.SIGTERM)

    def pod(self) -> str:
        """Return the name of the only pod that is not being deleted."""
        (pod,) = (pod for pod in self.pods(SERVER) if "deletionTimestamp" not in pod["metadata"])
        return pod["metadata"]["name"]

    def end(self) -> None:
        with contextlib.ExitStack() as ends:
            ends.callback(super().end)
            for engine in self.engines.values():
                ends.callback(engine.end)
