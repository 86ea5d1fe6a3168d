"""Stack trees for tests: a valid one, and copies with named deviations."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli import stackfile
from manifests.objects import Manifest
from manifests.stack import objects, render
from models.load import load
from planning import stack as planning
from planning.stack import StackPlan

SHIPPED = [Path("Pulumi.dev.yaml"), *sorted(Path("examples").glob("*.yaml"))]
SERVICE = {
    "model": {"name": "org/model", "source": "kit://registry.example/org/model:v1"},
    "accelerator": "nvidia",
}
GATEWAY = {"name": "gateway", "namespace": "gateways", "provider": "istio"}


def tree(**services: Mapping[str, Any]) -> dict[str, Any]:
    """Return a valid stack with the given services, each over `SERVICE`; one called `qwen` if none is given."""
    given = services or {"qwen": {}}
    return {
        "namespace": "models",
        "gateway": dict(GATEWAY),
        "services": {key: copy.deepcopy(SERVICE) | dict(service) for key, service in given.items()},
    }


def plan(stack: Mapping[str, Any]) -> StackPlan:
    """Plan a tree."""
    return planning.plan(load(dict(stack)))


def rendered(stack: Mapping[str, Any]) -> list[Manifest]:
    """Render a tree to its objects, in order."""
    return [one.manifest for one in objects(render(plan(stack)))]


def shipped(path: Path) -> dict[str, Any]:
    """Return the tree of a shipped stack file."""
    found = stackfile.read(path)
    assert isinstance(found, dict)
    return found


def find(everything: list[Manifest], kind: str, name: str) -> Any:
    """Return the object of a kind and name; exactly one."""
    (one,) = [one for one in everything if one["kind"] == kind and one["metadata"]["name"] == name]
    return one
