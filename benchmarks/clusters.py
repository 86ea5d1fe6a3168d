"""A control plane for one benchmark, and projects that Pulumi's engine deploys onto this control plane."""

import contextlib
import json
import sys
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.cluster import NODES, ControlPlane
from local.engine import PulumiEngine
from local.report import Report
from local.tools import Tool, ensure
from local.up import TOOLS

ROOT = Path(__file__).parent.parent
PROGRAM = ("__main__.py", "models", "planning", "manifests", "judging", "components", "composition", "facts")
STACK = "dev"
_IGNORED = {"aliases", "created", "modified", "sourcePosition", "stackTrace", "outputs"}
"""Fields of a previewed resource that benchmarks do not compare between programs.

Pulumi's engine adds such a field, or only one of the programs sets it.
"""
_SERVED_DEVICES = 'nvidia.com/gpu: "8"'
_MORE_DEVICES = 'nvidia.com/gpu: "512"'


@dataclass(frozen=True, slots=True)
class BenchmarkCluster:
    """A control plane, the installed tools, and a directory for the projects of a benchmark."""

    directory: Path
    tools: Mapping[str, Tool]
    plane: ControlPlane
    report: Report

    def engine(
        self,
        name: str,
        program: Mapping[str, Path],
        tree: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
    ) -> PulumiEngine:
        """Make a project, and return the Pulumi engine that deploys it.

        `program` has the files of the project's program: each key is a name in the project, and becomes a link to the
        value. `tree` is the configuration of the stack.
        """
        project = self.directory / name / "project"
        project.mkdir(parents=True)
        for file, target in {**program, **{file: ROOT / file for file in ("Pulumi.yaml", ".venv")}}.items():
            (project / file).symlink_to(target)
        # Every JSON text is also YAML, so the standard library can write the stack file.
        stack = json.dumps({"config": {"inference-stacks:stack": tree}}, indent=2)
        (project / f"Pulumi.{STACK}.yaml").write_text(stack, encoding="utf-8")
        return PulumiEngine(
            project.parent / "engine",
            self.tools,
            self.plane.kubeconfig,
            project,
            STACK,
            report=self.report,
            environment=environment,
        )

    def program_engine(
        self, name: str, tree: Mapping[str, Any], environment: Mapping[str, str] | None = None
    ) -> PulumiEngine:
        """Make a project with the program of this repository, and return the Pulumi engine that deploys it."""
        return self.engine(name, {file: ROOT / file for file in PROGRAM}, tree, environment)


def planned_resources(engine: PulumiEngine) -> dict[str, Any]:
    """Return the resources that a preview plans, by URN."""
    steps = json.loads(engine.run("preview", "--json").stdout)["steps"]
    return {step["urn"]: _comparable(step["newState"]) for step in steps if "newState" in step}


def _comparable(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a previewed resource without the fields in `_IGNORED`, and with sorted dependencies."""
    fields = {key: value for key, value in state.items() if key not in _IGNORED}
    return {**fields, "dependencies": sorted(state.get("dependencies") or ())}


@contextlib.contextmanager
def cluster() -> Generator[BenchmarkCluster]:
    """Run a control plane during a `with` block. Its fake nodes have devices for hundreds of services."""
    report = Report(sys.stderr)
    tools = ensure(TOOLS, report)
    with tempfile.TemporaryDirectory(prefix="inference-stacks-bench-") as temporary:
        directory = Path(temporary)
        nodes = directory / "nodes.yaml"
        text = NODES.read_text(encoding="utf-8")
        nodes.write_text(text.replace(_SERVED_DEVICES, _MORE_DEVICES), encoding="utf-8")
        plane = ControlPlane(directory / "cluster", tools, nodes=nodes, tie_to_parent=True)
        try:
            plane.start(report)
            yield BenchmarkCluster(directory, tools, plane, report)
        finally:
            plane.remove()
