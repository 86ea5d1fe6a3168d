"""Deployments and pods that random patches of a serving workload make, the same in every run."""

import pathlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from planning.ground import patch
from tests.support.stacks import find, rendered, tree

Tree = Mapping[str, Any]

NAMESPACE = "judged"
SEED = 20_261_125
MOST = 3
"""Most patches of an object."""


def patches(name: str) -> list[Tree]:
    """Return the patches of a list of the file, `pods` or `workloads`."""
    text = pathlib.Path(__file__).with_name("pod_patches.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)[name]


def deployments(count: int) -> Iterator[Tree]:
    """Yield Deployments with patches of pods and of workloads: each patch alone, then random ones together."""
    workloads = [*patches("workloads"), *({"spec": {"template": change}} for change in patches("pods"))]
    for index, changes in enumerate(_chosen(workloads, count)):
        yield _named(_patched(changes), f"workload-{index}")


def of_pods(count: int) -> Iterator[Tree]:
    """Yield Deployments with patches of pods alone: each patch alone, then random ones together."""
    for index, changes in enumerate(_chosen(patches("pods"), count)):
        yield _named(_patched([{"spec": {"template": change}} for change in changes]), f"pod-{index}")


def pod(deployment: Tree) -> dict[str, Any]:
    """Return a pod of a Deployment, as its controller would create it."""
    template = deployment["spec"]["template"]
    metadata = {**template["metadata"], "name": deployment["metadata"]["name"], "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _chosen(known: list[Tree], count: int) -> Iterator[list[Tree]]:
    chooser = random.Random(SEED)
    yield []
    yield from ([change] for change in known)
    for _ in range(count - len(known) - 1):
        yield chooser.sample(known, chooser.randint(2, MOST))


def _patched(changes: list[Tree]) -> Tree:
    made = find(rendered(tree()), "Deployment", "qwen-decode")
    for change in changes:
        made = patch.apply(made, change)
    return made


def _named(manifest: Tree, name: str) -> Tree:
    return {**manifest, "metadata": {**manifest["metadata"], "name": name, "namespace": NAMESPACE}}
