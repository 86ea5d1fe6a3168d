"""Reader of the tables of this package: YAML data with a source for each entry."""

from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

import yaml

from models.base import Spec

Table = TypeVar("Table", bound=Spec)


@cache
def read(kind: type[Table], name: str) -> Table:
    """Return the table at the path `name` below the package `planning`.

    Raises `FileNotFoundError` if there is none and `pydantic.ValidationError` if it is malformed.
    """
    text = files("planning").joinpath(name).read_text(encoding="utf-8")
    loader = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return kind.model_validate(yaml.load(text, Loader=loader))  # noqa: S506, a safe loader either way


@cache
def names(folder: str) -> tuple[str, ...]:
    """Return the names of the tables in a folder below the package `planning`, sorted."""
    entries = files("planning").joinpath(folder).iterdir()
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in entries if entry.name.endswith(".yaml")))
