"""Engines at the addresses of pods: one process of vLLM for each pod, with the command of the pod's container."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local import files
from local.vllm import families, variables
from local.vllm.command import Adjustment, engine_command
from local.vllm.server import MARK, EngineServer, end_marked, engine_processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from local.cluster.api import Api
    from local.report import Report
    from local.vllm.deployments import EngineDeployment

MODEL_SECONDS = 20.0
GRACE = 20.0
"""Time for engines to end by themselves."""
SUPERVISED = Adjustment(f"TMPDIR, SPT_NOENV and {MARK}", "`make down` finds files and processes by them")
SMALL_MODELS = "small-models"


@dataclass(frozen=True)
class _ModelServer:
    pod: Mapping[str, Any]
    engine: EngineDeployment
    server: EngineServer


class ModelServers:
    """The engines of a control plane's pods, with their files in one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running: list[_ModelServer] = []

    def megabytes(self) -> float:
        """Return the memory of the engines of an earlier run."""
        return sum(process.megabytes() for process in engine_processes(self._directory))

    def end(self) -> None:
        """End the engines of an earlier run."""
        end_marked(self._directory, GRACE)

    def start(self, engine: EngineDeployment, pods: Iterable[Mapping[str, Any]], api: Api, report: Report) -> None:
        """Start an engine at the address of each pod of a Deployment, and print what differs from the container.

        Variables of the container that name objects of the cluster are read from `api`.
        """
        model = self._directory / SMALL_MODELS / engine.family.name
        files.private_directory(self._directory)
        with report.step(f"model of random numbers in the place of {engine.family.name}", MODEL_SECONDS):
            families.write_model(model, engine.family, engine.version)
        for pod in pods:
            server = self._server(pod, engine, model, api)
            report.say(_differences(pod, engine, server))
            server.start()
            self._running.append(_ModelServer(pod, engine, server))

    def wait(self, report: Report) -> None:
        """Wait until the probes of all containers succeed. Raises LocalError if an engine ends, or is late."""
        for row in self._running:
            metadata = row.pod["metadata"]
            title = f"vLLM {row.engine.version.name} for {metadata['namespace']}/{metadata['name']}"
            container = row.pod["spec"]["containers"][0]
            row.server.wait_until_ready(container, row.pod["status"]["podIP"], report, title)

    def explanation(self, address: str) -> list[str]:
        """Return a line about the engine at the address of a pod; no line if the pod is simulated."""
        return [
            f"Engine       vLLM {row.engine.version.name}, pid {row.server.pid}, log {row.server.log}"
            for row in self._running
            if row.pod["status"]["podIP"] == address
        ]

    def _server(self, pod: Mapping[str, Any], engine: EngineDeployment, model: Path, api: Api) -> EngineServer:
        """Return the engine of a pod, which is not started. Its model is a link to the small model."""
        directory = self._directory / f"{pod['metadata']['namespace']}.{pod['metadata']['name']}"
        shutil.rmtree(directory, ignore_errors=True)
        root = files.private_directory(directory) / "root"
        container = pod["spec"]["containers"][0]
        items = container.get("env", ())
        values = {item["name"]: variables.value(api, pod, item) for item in items if "valueFrom" in item}
        env = [item for item in items if "valueFrom" not in item or values[item["name"]] is not None]
        command = engine_command(
            {**container, "env": env},
            engine.version,
            root,
            address=pod["status"]["podIP"],
            read_variable=lambda item: values[item["name"]] or "",
        )
        # A name of a hub instead of a path names a directory below that of the process.
        link = directory / command.model
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(model)
        return EngineServer(command, directory)


def _differences(pod: Mapping[str, Any], engine: EngineDeployment, server: EngineServer) -> str:
    """Return a list of what a process gets otherwise than the container that it stands for."""
    rows = (*server.command.adjustments, SUPERVISED)
    title = f"vLLM {engine.version.name} runs for {pod['metadata']['name']}. Its command, environment, probes and port"
    lines = (f"  {row.text}: {row.reason}" for row in rows)
    return "\n".join((f"{title} are those of the container, except:", *lines))
