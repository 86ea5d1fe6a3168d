"""Pod templates of rendered objects, and readers of their trees. A patch can give any field a value of any shape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from manifests.objects import Manifest
from models import trees
from models.paths import Path
from models.trees import mapping, sequence

Tree = Mapping[str, Any]

SECURITY = "securityContext"
_PLACES = (
    Path("spec", "template"),
    Path("spec", "leaderWorkerTemplate", "leaderTemplate"),
    Path("spec", "leaderWorkerTemplate", "workerTemplate"),
)
"""Pod templates of Deployments, Jobs and LeaderWorkerSets."""
_HOLDERS = frozenset(at[1] for at in _PLACES)
"""Keys of `spec` with pod templates below them. Most kinds of objects have none of these keys."""
_CONTAINERS = ("initContainers", "containers")


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod template of an object."""

    at: Path
    """Path of the template in the object."""
    kind: str
    """Kind of the object."""
    annotations: Tree
    spec: Tree


def templates(manifest: Manifest) -> Iterator[PodTemplate]:
    """Yield the pod templates of an object."""
    spec = mapping(manifest.get("spec"))
    if _HOLDERS.isdisjoint(spec):
        return
    for at in _PLACES:
        template = mapping(trees.at(manifest, *map(str, at)))
        if isinstance(template.get("spec"), Mapping):
            annotations = mapping(trees.at(template, "metadata", "annotations"))
            yield PodTemplate(at, manifest["kind"], annotations, mapping(template["spec"]))


def containers(pod: Tree) -> Iterator[tuple[Path, Tree]]:
    """Yield the containers of a pod spec, each after its path in the pod spec."""
    for field in _CONTAINERS:
        for index, container in enumerate(mappings(pod.get(field))):
            yield Path(field, index), container


def security(tree: Tree) -> Tree:
    """Return the security context of a pod spec or a container."""
    return mapping(tree.get(SECURITY))


def mappings(value: object) -> list[Tree]:
    """Return the mappings in a list. The schema refuses all other items."""
    return [cast("Tree", item) for item in sequence(value) if isinstance(item, Mapping)]
