"""Families of models that cache in a known way, from the table `families.yaml`."""

from functools import cache

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced

ENCODER = "encoder"
"""Shape of the families that cache nothing."""


class FamilyShape(Sourced):
    """Families whose layers cache in the same way."""

    families: list[str]


class _Table(Spec):
    shapes: dict[str, FamilyShape]


def knows(family: str) -> bool:
    """Tell whether the table has a family."""
    return family in _shapes()


def shape(family: str) -> str:
    """Return the name of the shape of a known family."""
    return _shapes()[family]


@cache
def _shapes() -> dict[str, str]:
    table = tables.read(_Table, "fit/families.yaml")
    return {family: name for name, entry in table.shapes.items() for family in entry.families}
