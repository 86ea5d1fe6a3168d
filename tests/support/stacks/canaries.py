"""Stacks with a canary, and what is made for each variant."""

from typing import Any

from manifests.assembly import objects, render
from manifests.objects import Manifest, Rendered
from planning.ground.order import Id
from tests.support.stacks import plan, tree
from tests.support.stacks.shapes import label, model_servers


def stack(weight: int = 10, service: dict[str, Any] | None = None, **canary: Any) -> dict[str, Any]:
    """Return a stack with one service and its canary."""
    return tree(qwen={**(service or {}), "canary": {"weight": weight, **canary}})


def by_id(given: dict[str, Any]) -> dict[Id, Rendered]:
    """Return the objects of a stack by their ids."""
    return {rendered.id: rendered for rendered in objects(render(plan(given)))}


def of(everything: list[Manifest], variant: str) -> list[Any]:
    """Return the templates of a variant's model servers."""
    return [
        template for template in model_servers(everything) if label(template, "inference-stacks.io/variant") == variant
    ]
