"""Tables that the pack carries: copies of the program's tables, which `tests/policy/rules/test_tables.py` compares."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def read(name: str) -> Any:  # noqa: ANN401, any value of YAML
    """Return the content of a table."""
    text = files("policy.rules.tables").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, _LOADER)  # noqa: S506, both loaders are safe
