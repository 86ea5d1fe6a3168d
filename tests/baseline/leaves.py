"""Pytest plugin: writes what the two walks try, over every leaf that is rendered and over every leaf of the schema.

It asks the modules of the two tests, wherever they are, for what they try.
"""

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

OUT = "BASELINE_LEAVES"
"""Variable that names the file to write; nothing is written without it."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count, where a file to write is named."""
    if path := os.environ.get(OUT):
        modules = {getattr(item, "originalname", ""): getattr(item, "module", None) for item in session.items}
        rendered, effects = (
            modules[name] for name in ("test_every_rendered_leaf_matters", "test_a_leaf_field_has_an_effect")
        )
        Path(path).write_text(json.dumps(of_rendered(rendered) | of_effects(effects)), encoding="utf-8")


def of_rendered(module: ModuleType) -> dict[str, Any]:
    """Return how many mutations of each stack's objects are tried, how many go unnoticed, and which may."""
    return {
        "rendered leaves": {name: tried(module, stack) for name, stack in module.STACKS.items()},
        "rendered exceptions": sorted(module.SURVIVORS),
    }


def tried(module: ModuleType, stack: dict[str, Any]) -> list[int]:
    """Return how many mutations of a stack's objects are tried, and how many of them nothing notices."""
    objects = json.loads(json.dumps(module.rendered(stack)))
    mutations = (
        mutated
        for manifest in objects
        for field in module._CHECKED
        if field in manifest
        for at in module._leaves(manifest[field], (field,))
        for mutated in module._mutations(manifest, at)
    )
    return [sum(1 for _ in mutations), len([*module._survivors(stack, objects)])]


def of_effects(module: ModuleType) -> dict[str, Any]:
    """Return how many edits each leaf of the schema offers, and which leaves may have no effect."""
    return {
        "leaf edits": {name: offered(module, name) for name in module.LEAVES},
        "leaf exceptions": sorted(module.CONSTANTS),
    }


def offered(module: ModuleType, name: str) -> int:
    """Return how many values a leaf may take, times the places that the stacks have for it."""
    at, nodes = module.LEAVES[name]
    values = [value for node in nodes for value in module.candidates(at, node)]
    if "const" in nodes[0] and at[-1] == "type":
        at, values = at[:-1], module.GROUPS[str(at[-2])]
    if at[-1] == "[]":
        at = at[:-1]
    return len(values) * sum(1 for stack in module._moved(at) for _ in module.places(stack, at))
