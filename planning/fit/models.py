"""Public models whose architecture is known without a lock, from the table `models.yaml`."""

import datetime as dt
from dataclasses import dataclass
from functools import cache

from models.architecture import Architecture
from models.base import Spec
from planning.ground import tables


class Row(Spec):
    """Row of the table: a public model with its architecture, or with the name of a row that has the architecture."""

    architecture: Architecture | None = None
    like: str | None = None
    """Name of another row whose architecture this model has."""
    context: int | None = None
    """Longest context in tokens, if it differs from that in the architecture."""
    bytes: int | None = None
    """Bytes of the published weights; None if no source states them."""
    source: str


class _Table(Spec):
    date: dt.date
    models: dict[str, Row]


@dataclass(frozen=True, slots=True)
class PublicModel:
    """A public model with its architecture, which may come from another row of the table."""

    architecture: Architecture
    bytes: int | None
    """Bytes of the published weights; None if unknown."""


@cache
def find(name: str) -> PublicModel | None:
    """Return the model by the name of its repository; None if the table has no row or no architecture for it."""
    rows = names()
    row = rows.get(name)
    if row is None:
        return None
    described = rows.get(row.like or name, row)
    architecture = described.architecture
    if architecture is None:
        return None
    if row.context is not None:
        architecture = architecture.model_copy(update={"context_length": row.context})
    return PublicModel(architecture, row.bytes or described.bytes)


def names() -> dict[str, Row]:
    """Return the rows of the table by name."""
    return tables.read(_Table, "fit/models.yaml").models
