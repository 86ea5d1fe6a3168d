"""Rows of tests of which `make test` runs a few, and `make prove` the others."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def mostly_proven(rows: Iterable[str], usual: Container[str]) -> list[Any]:
    """Return the names of rows for `parametrize`. Those that are not usual run in `make prove` only."""
    return [pytest.param(row, id=row, marks=() if row in usual else pytest.mark.prove) for row in rows]
