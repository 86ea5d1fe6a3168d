"""Rules of the API server that no schema has, for rendered objects.

The rooms of planning apply these rules to what users write, at the paths where they write it. What is left to be found
here is what a patch makes of an object.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from manifests.objects import Manifest
from models.paths import Path
from models.problems import Problem
from models.trees import mapping, sequence
from planning.ground.patch import TEMPLATES
from planning.refusals import autoscaling, resources, scheduling, sizes
from planning.refusals.values import Tree, trees

_ANNOTATIONS = Path("metadata", "annotations")


def problems(manifest: Manifest) -> Iterator[Problem]:
    """Yield the problems of an object, with paths in the object."""
    yield from _annotations(Path(), manifest)
    for at in TEMPLATES:
        template = _at(manifest, at)
        if template:
            yield from _annotations(at, template)
            yield from _pod(at / "spec", mapping(template.get("spec")))
    if manifest["kind"] == "HorizontalPodAutoscaler":
        spec = mapping(manifest.get("spec"))
        yield from autoscaling.behavior(Path("spec", "behavior"), spec.get("behavior"))
        for index, metric in enumerate(sequence(spec.get("metrics"))):
            yield from autoscaling.metric(Path("spec", "metrics", index), metric)


def _annotations(at: Path, tree: Tree) -> Iterator[Problem]:
    written = {key: value for key, value in _at(tree, _ANNOTATIONS).items() if isinstance(value, str)}
    yield from sizes.rendered_annotations(Path(*at, *_ANNOTATIONS), written)


def _pod(at: Path, pod: Tree) -> Iterator[Problem]:
    yield from scheduling.affinity(at / "affinity", pod.get("affinity"))
    yield from scheduling.topology_spread(at / "topologySpreadConstraints", pod.get("topologySpreadConstraints"))
    for field in ("initContainers", "containers"):
        for here, container in trees(at / field, pod.get(field)):
            amounts = mapping(container.get("resources"))
            requests = _amounts(amounts.get("requests"))
            limits = _amounts(amounts.get("limits"))
            yield from resources.problems(here / "resources", requests, limits, computes=False)
            yield from _texts(here, container)


def _texts(at: Path, container: Tree) -> Iterator[Problem]:
    """Check that a process can get the variables of a container."""
    for here, variable in trees(at / "env", container.get("env")):
        if "\0" in str(variable.get("value", "")):
            yield Problem(here / "value", "has a NUL character", "remove it: no variable of a process may contain NUL")


def _amounts(value: object) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in mapping(value).items()}


def _at(tree: Mapping[str, Any], path: Path) -> Tree:
    for key in path:
        tree = mapping(tree.get(str(key)))
    return tree
