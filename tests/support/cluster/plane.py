"""The real parts as fixtures: every tool, one control plane for the session, more of them on request.

A tool that cannot be had is an error of every test that asks for it; nothing skips.
"""

from __future__ import annotations

import io
import json
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from local import files
from local.cluster import CRDS, ControlPlane
from local.report import Report
from local.tools import Tool, ensure
from tests.support.cluster import leftovers, pythons
from tests.support.traffic import llm_d

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

GOOGLES = (
    ("HealthCheckPolicy", "healthcheckpolicies", "networking.gke.io"),
    ("GCPBackendPolicy", "gcpbackendpolicies", "networking.gke.io"),
    ("PodMonitoring", "podmonitorings", "monitoring.googleapis.com"),
    ("Rules", "rules", "monitoring.googleapis.com"),
)
"""Kinds of Google's clusters, with their plurals and groups."""
MOVED = ("inferenceobjectives", "inferencemodelrewrites")
GO = {"GOGC": "400"}
"""Environment of programs in Go, which collect garbage four times less often than by default.

Their processor time shrinks by a tenth, that of an API server's start by a sixth. The API server takes 1.1 GB for 0.7.
"""
USED = pytest.StashKey[dict[str, str]]()
"""Tools in use, a line for each by its name; a worker process hands it to the one that reports."""


@pytest.fixture(scope="session")
def _leftovers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with leftovers.ended_afterwards(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(scope="session")
def tools(request: pytest.FixtureRequest, _leftovers: None) -> dict[str, Tool]:
    found = ensure(None, Report())
    lines = {name: f"{tool.version} sha256:{tool.sha256} {tool.path} ({tool.origin})" for name, tool in found.items()}
    request.config.stash[USED] = lines
    if hasattr(request.config, "workeroutput"):
        request.config.workeroutput["used"] = lines
    return found


@pytest.fixture(scope="session")
def new_plane(request: pytest.FixtureRequest, tools: dict[str, Tool], tmp_path_factory: pytest.TempPathFactory):
    """Return a function that starts a control plane of its own; all are gone at the end of the session."""
    planes: list[ControlPlane] = []
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if hasattr(request.config, "workerinput") else shared

    def start(crds: Sequence[str] = CRDS) -> ControlPlane:
        directory = tmp_path_factory.mktemp("plane")
        if crds == CRDS:
            shutil.copytree(prepared(shared, tools), directory, dirs_exist_ok=True)
        plane = ControlPlane(directory, tools, crds=crds, environment=GO, tie_to_parent=True)
        planes.append(plane)
        plane.start(Report(io.StringIO()))
        # A start that has nothing to prepare returns before every kind is announced.
        while not (plane.api().serves_custom_resources() and plane.api().describes_kinds()):
            time.sleep(0.2)
        return plane

    yield start
    for plane in planes:
        plane.remove()


def prepared(shared: Path, tools: dict[str, Tool]) -> Path:
    """Return the directory of a control plane that serves every kind and runs no more, made once for all processes.

    To serve every kind takes half a minute of a processor; a copy only has to be started.
    """
    directory = shared / "prepared-plane"
    with files.lock(shared / "prepared-plane.lock"):
        if not directory.exists():
            unfinished = shared / "unfinished-plane"
            shutil.rmtree(unfinished, ignore_errors=True)
            plane = ControlPlane(unfinished, tools, environment=GO, tie_to_parent=True)
            plane.start(Report(io.StringIO()))
            plane.stop()
            forget_ports(plane)
            unfinished.rename(directory)
    return directory


def forget_ports(plane: ControlPlane) -> None:
    """Let each copy take ports of its own."""
    plane._save(ports={})


@pytest.fixture(scope="session")
def plane(new_plane: Callable[..., ControlPlane]) -> ControlPlane:
    return new_plane()


def serve_moved_kinds(plane: ControlPlane, tools: dict[str, Tool]) -> None:
    """Serve under llm-d's group what it took over from the inference extension: no registry has its definitions."""
    folder = tools["crds"].path / "gateway-api-inference-extension"
    for name in MOVED:
        text = (folder / f"inference.networking.x-k8s.io_{name}.yaml").read_text(encoding="utf-8")
        moved = text.replace("inference.networking.x-k8s.io", "llm-d.ai")
        plane.kubectl("apply", "--server-side", "-f", "-", input=moved)
        plane.kubectl("wait", "--for=condition=established", f"crd/{name}.llm-d.ai", "--timeout=240s")


def serve_googles_kinds(plane: ControlPlane) -> None:
    """Serve Google's kinds, whatever is in them: no registry has their definitions."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for kind, plural, group in GOOGLES:
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
        names = {"kind": kind, "plural": plural, "singular": kind.lower()}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
        }
        plane.kubectl("apply", "-f", "-", input=json.dumps(definition))
        plane.kubectl("wait", "--for=condition=established", f"crd/{plural}.{group}", "--timeout=240s")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[USED] = node.config.stash.get(USED, {}) | getattr(node, "workeroutput", {}).get("used", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    used = config.stash.get(USED, {})
    if used:
        terminalreporter.section("real parts")
    for name, line in sorted(used.items()):
        terminalreporter.line(f"{name} {line}")
    if used:
        terminalreporter.line(f"{llm_d.NAME} {llm_d.report()}")
        terminalreporter.line(f"python {pythons.report()}")
