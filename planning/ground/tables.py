"""Reader of the tables of this program: YAML data with a source for each entry."""

from datetime import date
from functools import cache
from importlib.resources import files
from typing import Literal, TypeVar

from models.base import Spec
from planning.ground import yaml_text

Table = TypeVar("Table", bound=Spec)


class Sourced(Spec):
    """A fact of other software, or a group of facts, with its source and proof."""

    source: str
    date: date
    """Day on which the source was read."""
    proof: Literal["binary", "source", "stated", "none"]
    """Proof of the fact: a binary was run, its source code was read, a page of the project or of its users
    states it, or none of these."""


@cache
def read(kind: type[Table], name: str, package: str = "planning") -> Table:
    """Return the table at the path `name` below a package.

    Raises `FileNotFoundError` if there is no such table, and `pydantic.ValidationError` if the table is malformed.
    """
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return kind.model_validate(yaml_text.load(text))


@cache
def names(folder: str) -> tuple[str, ...]:
    """Return the names of the tables in a folder below the package `planning`, sorted."""
    entries = files("planning").joinpath(folder).iterdir()
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in entries if entry.name.endswith(".yaml")))
