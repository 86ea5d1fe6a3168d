"""Stacks whose metrics are scraped, with rules and dashboards."""

from collections.abc import Mapping
from typing import Any

from planning.observing.board_records import Board
from tests.support.stacks import plan
from tests.support.stacks.watched import watched


def drawn(dashboards: Mapping[str, Any] | None = None, /, **services: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stack with dashboards, whose services have objectives unless they set others."""
    stack = watched("prometheus-operator", **services)
    return stack | {"observability": {**stack["observability"], "dashboards": dashboards or {}}}


def board(stack: Mapping[str, Any], key: str = "qwen") -> Board:
    """Return the dashboard of a service of a stack."""
    boards = plan(stack).boards
    assert boards is not None, "the stack has no dashboards"
    return boards.services[key]


def image(version: str) -> dict[str, Any]:
    """Return the engine of a service with a version of vLLM."""
    return {"image": f"registry.example/vllm/vllm-openai:v{version}"}
