"""Manifests with one edit, and whether our schemas take them."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from judging import validation
from models.problems import ConfigError
from tests.support.stacks import as_rendered


def edited(manifest: Mapping[str, Any], path: Sequence[str | int], value: Any) -> dict[str, Any]:
    """Return a copy in the namespace `default` that has the value at the path; without the key if it is none."""
    edited_copy = copy.deepcopy(dict(manifest))
    edited_copy["metadata"] = edited_copy["metadata"] | {"namespace": "default"}
    *way, last = path
    parent: Any = edited_copy
    for part in way:
        parent = parent[part]
    if value is None:
        del parent[last]
    else:
        parent[last] = value
    return edited_copy


def ours(manifest: Mapping[str, Any]) -> bool:
    """Say whether our schemas take it."""
    try:
        validation.check([as_rendered(manifest)])
    except (validation.SchemaError, ConfigError):
        return False
    return True
