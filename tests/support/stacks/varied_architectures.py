"""Valid stacks of models whose architecture the user says."""

from typing import Any

from tests.support.stacks import tree
from tests.support.stacks.fragments import LAYERED, MIXTURE


def _measured() -> dict[str, Any]:
    """Return two copies of a mixture of experts whose numbers the user says, on devices that are too small."""
    model = {"name": "org/m", "source": "s3://bucket/m", "architecture": MIXTURE}
    return tree(qwen={"model": model, "accelerator": "nvidia-l40s", "parallelism": {"data": 2, "expert": True}})


def _layered() -> dict[str, Any]:
    """Return a model whose layers cache in each of the known ways."""
    model = {"name": "org/m", "source": "s3://bucket/m", "size": "20Gi", "maxModelLen": 8192}
    return tree(qwen={"model": {**model, "architecture": LAYERED}, "accelerator": "nvidia-l40s"})


ARCHITECTURES = {"measured": _measured(), "layered": _layered()}
"""Stacks that between them reach every field of an architecture."""
