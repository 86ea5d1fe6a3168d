"""Files of a Hugging Face repository that are not fetched by default: weights in formats that vLLM never reads."""

import json
from datetime import date
from functools import cache

from models.base import Spec
from planning.ground import tables


class _Variable(Spec):
    name: str
    source: str
    date: date


class _Pattern(Spec):
    pattern: str
    reason: str


class _Table(Spec):
    variable: _Variable
    patterns: list[_Pattern]
    source: str
    date: date


def variable() -> str:
    """Return the name of the environment variable from which the downloader reads the patterns, as a JSON list."""
    return _table().variable.name


@cache
def patterns() -> tuple[str, ...]:
    """Return the default patterns, as `fnmatch` reads them, in the order of the table."""
    return tuple(entry.pattern for entry in _table().patterns)


@cache
def text(patterns: tuple[str, ...]) -> str:
    """Return patterns as the value of `variable()`. The cache helps because most sources have the default patterns."""
    return json.dumps(patterns)


def _table() -> _Table:
    return tables.read(_Table, "weights/ignored-files.yaml")
