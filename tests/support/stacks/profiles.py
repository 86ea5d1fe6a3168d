"""Serving profiles for tests, the nodes of a cluster, and selections among them without a stack."""

import unittest.mock
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from composition import Composition, Given, LockFile, Refusal, compose, locking
from composition.locking import LockOrder
from composition.sources import Configuration
from facts import source_sizes
from models.layers import Layer, Origin
from models.lock import Lock, file_name, text
from models.paths import Path as ConfigPath
from models.problems import Problem
from models.selection import Question, Selection
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.inventory import LiveNode, Nodes
from planning.hardware import accelerators
from planning.selection.catalogue import Declared, ProfileTable
from planning.selection.evaluation import evaluate
from planning.selection.fleet import Fleet
from planning.selection.records import Candidate, Evaluation, Scope
from planning.selection.stages import STAGES, Stage, StageFacts
from planning.weights.contents import Content
from tests.support.stacks import NAME

MODEL = "org/model"
"""The model of every profile that names no other one."""
DEVICES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}


def profile(accelerator: str = "amd-mi300x", count: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a profile as it is written; `service` adds to its keys of a service."""
    service = {"accelerator": accelerator, "model": {"source": "hf://org/model", "size": "16Gi"}}
    facts = {"model": MODEL, "type": "optimized", "deviceCount": count, "source": "a page"}
    return facts | changes | {"service": service | changes.get("service", {})}


def node(name: str, accelerator: str | None = None, count: int = 8, **changes: Any) -> LiveNode:
    """Return a node with devices of a class, or without devices."""
    labels, resources = {}, {}
    if accelerator is not None:
        found = accelerators.classes({})[accelerator]
        labels = {key: values[0] for key, values in found.node_labels.items()}
        resources = {DEVICES[found.vendor]: count}
    whole = {"name": name, "labels": labels, "ready": True, "cordoned": False, "taints": (), "devices": resources}
    return LiveNode(**(whole | changes))


def facts(nodes: Iterable[LiveNode]) -> ClusterFacts:
    """Return the facts of a cluster of which only the nodes are known."""
    return replace(NOTHING_READ, nodes=Nodes(tuple(nodes)))


def cluster(*names: str, count: int = 8) -> ClusterFacts:
    """Return a cluster with one node of each class, and one without devices."""
    return facts([node("plain"), *(node(name, name, count) for name in names)])


def catalogue(
    profiles: Mapping[str, Mapping[str, Any]], scopes: Mapping[str, Scope] | None = None, user: Any = None
) -> ProfileTable:
    """Return a catalogue of profiles by id, all of which are of the stack file if `scopes` does not say otherwise."""
    declared = [
        Declared(name, (scopes or {}).get(name, Scope.STACK), Layer(tree, Origin(ConfigPath("profiles", name))))
        for name, tree in profiles.items()
    ]
    return ProfileTable(declared, accelerators.classes(user or {}))


def question(**requested: Any) -> Question:
    """Return a question for a profile of `MODEL`, with wishes as they are written in `selection`."""
    explicit = requested.pop("accelerator", None)
    wished = Selection.model_validate(requested)
    return Question.default(**wished.__dict__, model=MODEL, image=None, accelerator=explicit)


def selection(
    candidates: Iterable[Candidate],
    asked: Question | None = None,
    known: ClusterFacts = NOTHING_READ,
    stages: tuple[Stage, ...] = STAGES,
) -> Evaluation:
    """Return the table of a question."""
    situation = StageFacts(asked or question(), accelerators.classes({}), Fleet(known), {})
    return evaluate(candidates, situation, stages)


def among(
    profiles: Mapping[str, Mapping[str, Any]], known: ClusterFacts = NOTHING_READ, **requested: Any
) -> Evaluation:
    """Return the table of wishes among profiles."""
    return selection(catalogue(profiles).candidates(MODEL), question(**requested), known)


def reasons(table: Evaluation) -> dict[str, str]:
    """Return the reason of each candidate."""
    return {row.candidate.id: str(row.reason) for row in table.rows}


def stack(profiles: Mapping[str, Mapping[str, Any]], *, shipped: bool = False, **services: Any) -> dict[str, Any]:
    """Return a stack with a catalogue; one service called `qwen` that names the model, if none is given."""
    return {
        "namespace": "models",
        "catalogue": {"shipped": shipped, "profiles": dict(profiles)},
        "services": services or {"qwen": {"model": {"name": MODEL}}},
    }


def composed(tree: Mapping[str, Any], known: ClusterFacts = NOTHING_READ, **more: Any) -> Composition:
    """Compose a stack for a cluster; raises the error of a refusal."""
    found = compose(dict(tree), Given(known), NAME, **more)
    if isinstance(found, Refusal):
        raise found.error
    return found


def lock(
    tree: Mapping[str, Any], folder: Path, *updated: str, known: ClusterFacts = NOTHING_READ
) -> tuple[Lock, tuple[Problem, ...]]:
    """Write the lock of a stack without asking any source, and return it with its problems.

    What a source has is none of a selection's business.
    """
    request = LockOrder(Configuration(dict(tree)), NAME, Given(known), LockFile(folder), updated=updated)
    with unittest.mock.patch.object(source_sizes, "contents", _contents):
        made = locking.make(request)
    (folder / file_name(NAME.stack)).write_text(text(made.lock), encoding="utf-8")
    return made.lock, made.problems


def _contents(questions: Iterable[Any]) -> dict[Any, Content]:
    return {each: Content(f"{each.source}@{'c1' * 20}", None, 2**34, origin="hub") for each in questions}
