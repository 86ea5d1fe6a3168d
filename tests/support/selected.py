"""Selections among the shipped profiles, on clusters of one's choice."""

from dataclasses import replace
from functools import cache
from typing import Any

from models.accelerators import ExtendedResource
from models.layers import Layer, Origin
from models.paths import Path
from models.selection import Question, Selection
from planning.ground.cluster_facts import NOTHING_READ
from planning.ground.inventory import LiveNode, Nodes
from planning.hardware import accelerators
from planning.hardware.accelerators import AcceleratorClass
from planning.selection.catalogue import Declared, ProfileTable
from planning.selection.evaluation import evaluate
from planning.selection.fleet import Fleet
from planning.selection.records import Evaluation, Scope
from planning.selection.stages import StageFacts
from tests.support import catalogue


@cache
def classes() -> dict[str, AcceleratorClass]:
    """Return the shipped accelerator classes."""
    return dict(accelerators.classes({}))


@cache
def shipped() -> ProfileTable:
    """Return the shipped profiles as candidates."""
    return ProfileTable(map(declared, catalogue.profiles()), classes())


def declared(key: str, name: str | None = None, **changes: Any) -> Declared:
    """Return a shipped profile, or a changed copy of it with another name."""
    layer = Layer({**catalogue.profiles()[key], **changes}, Origin(Path("profiles", name or key)))
    return Declared(name or key, Scope.SHIPPED, layer)


def fleet(*names: str, devices: int = 8) -> Fleet:
    """Return a node of each class with some devices."""
    return of_nodes(_node(name, devices) for name in names)


def _node(name: str, devices: int) -> LiveNode:
    found = classes()[name]
    labels = {key: values[0] for key, values in found.node_labels.items()}
    allocation = found.allocation
    owned = {allocation.resource_name: devices} if isinstance(allocation, ExtendedResource) else {}
    return LiveNode(name, labels, ready=True, cordoned=False, taints=(), devices=owned)


def table(model: str, nodes: Fleet, profiles: ProfileTable | None = None, **requested: Any) -> Evaluation:
    """Return the table of a service that names a model, with its wishes and, among them, its class."""
    accelerator = requested.pop("accelerator", None)
    selection = Selection.model_validate(requested)
    question = Question.default(**selection.__dict__, model=model, image=None, accelerator=accelerator)
    return evaluate((profiles or shipped()).candidates(model), StageFacts(question, classes(), nodes, {}))


def of_nodes(nodes: Any) -> Fleet:
    """Return nodes as a cluster has them."""
    return Fleet(replace(NOTHING_READ, nodes=Nodes(tuple(nodes))))
