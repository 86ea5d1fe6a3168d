"""Real deployments for tests: a project of its own for each, on the shared control plane."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from local.cluster import ControlPlane
from local.engine import Engine
from local.report import Report
from tests.stacks import tree

PROGRAM = ("__main__.py", "models", "planning", "manifests", "components", "facts", "Pulumi.yaml", ".venv")
ROOT = Path(__file__).parent.parent

Deploy = Callable[..., "Deployed"]


class Deployed:
    """One stack of a project of its own, with the engine that deploys it."""

    def __init__(self, directory: Path, tools: Any, plane: ControlPlane) -> None:
        self.project = directory / "project"
        self.project.mkdir(parents=True)
        for name in PROGRAM:
            (self.project / name).symlink_to(ROOT / name)
        self.plane = plane
        self.engine = Engine(directory / "engine", tools, plane.kubeconfig, self.project, "dev", report=Report())

    def write(self, stack: dict[str, Any]) -> None:
        """Write the stack file as a user would."""
        text = yaml.safe_dump({"config": {"inference-stacks:stack": stack}}, sort_keys=False)
        (self.project / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")

    def up(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Deploy; raises where that fails."""
        return self.engine.run("up", "--yes", "--skip-preview", *more)

    def destroy(self) -> None:
        """Destroy; raises where that fails."""
        self.engine.run("destroy", "--yes", "--skip-preview")

    def preview(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Preview; the caller looks at the exit code."""
        return self.engine.run("preview", *more, check=False)

    def assert_unchanged(self) -> None:
        """Assert that a further preview is empty, plain and refreshed."""
        for more in ((), ("--refresh",)):
            done = self.preview("--expect-no-changes", "--diff", *more)
            assert done.returncode == 0, done.stdout + done.stderr

    def changes(self) -> dict[str, str]:
        """Preview and return the operation of each resource that would change, by its logical name."""
        done = self.preview("--json")
        assert done.returncode == 0, done.stdout + done.stderr
        steps = json.loads(done.stdout)["steps"]
        return {step["urn"].rpartition("::")[2]: step["op"] for step in steps if step["op"] != "same"}

    def get(self, kind: str, name: str, namespace: str) -> Any:
        """Return an object of the cluster."""
        return json.loads(self.plane.kubectl("get", kind, name, "-n", namespace, "-o", "json"))


@pytest.fixture
def deploy(tools: Any, plane: ControlPlane, tmp_path: Path) -> Iterator[Deploy]:
    """Make deployments of a test; what a test leaves is destroyed after it."""
    made = list[Deployed]()

    def new(stack: dict[str, Any], on: ControlPlane = plane) -> Deployed:
        one = Deployed(tmp_path / f"deployment-{len(made)}", tools, on)
        one.write(stack)
        made.append(one)
        return one

    yield new
    for one in made:
        if one.plane.alive():
            one.destroy()
        one.engine.stop()


def in_namespace(name: str, **services: Any) -> dict[str, Any]:
    """Return a stack that makes its own namespace, metered."""
    stack = tree(**services) | {"namespace": name, "namespaceOptions": {"create": True}}
    return stack | {"interceptor": {"mode": "label", "namespace": "metering"}}


def volume(name: str, size: str, class_name: str) -> dict[str, Any]:
    """Return a volume that claims of a class can be bound to; nothing lies behind it."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": size},
            "hostPath": {"path": "/nowhere"},
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
        },
    }
