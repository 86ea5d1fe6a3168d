"""The real parts as fixtures: every tool, one control plane for the session, more of them on request.

A tool that cannot be had is an error of every test that asks for it; nothing skips.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from local.cluster import CRDS, NODES, ControlPlane
from local.report import Report
from local.tools import Tool, ensure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MOVED = ("inferenceobjectives", "inferencemodelrewrites")
USED = pytest.StashKey[dict[str, str]]()
"""What was used, a line for each tool by its name; a worker process hands it to the one that reports."""


@pytest.fixture(scope="session")
def tools(request: pytest.FixtureRequest) -> dict[str, Tool]:
    found = ensure(None, Report())
    lines = {name: f"{one.version} sha256:{one.sha256} {one.path} ({one.origin})" for name, one in found.items()}
    request.config.stash[USED] = lines
    if hasattr(request.config, "workeroutput"):
        request.config.workeroutput["used"] = lines
    return found


@pytest.fixture(scope="session")
def new_plane(tools: dict[str, Tool], tmp_path_factory: pytest.TempPathFactory):
    """Return a function that starts a control plane of its own; all are gone at the end of the session."""
    planes: list[ControlPlane] = []

    def start(crds: Sequence[str] = CRDS, nodes: Path = NODES) -> ControlPlane:
        plane = ControlPlane(tmp_path_factory.mktemp("plane"), tools, crds=crds, nodes=nodes, tie_to_parent=True)
        planes.append(plane)
        plane.start(Report(io.StringIO()))
        return plane

    yield start
    for plane in planes:
        plane.remove()


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
        plane.kubectl("wait", "--for=condition=established", f"crd/{name}.llm-d.ai", "--timeout=60s")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[USED] = node.config.stash.get(USED, {}) | getattr(node, "workeroutput", {}).get("used", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    used = config.stash.get(USED, {})
    if used:
        terminalreporter.section("real parts")
    for name, line in sorted(used.items()):
        terminalreporter.line(f"{name} {line}")
