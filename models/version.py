"""The version of this project, which stands in `pyproject.toml` alone."""

import tomllib
from functools import cache
from pathlib import Path

_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
"""File with the version. A program that reaches this module by a link finds the file beside the link's target."""


@cache
def read() -> str:
    """Return the version of program, component package and reader, such as `0.1.0`."""
    return tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"]
