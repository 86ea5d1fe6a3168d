"""Reader of the tables of states, one for each link in the folder `tables`."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from pydantic import Field

from models.base import Spec
from planning.ground import tables

LINKS = ("claims", "pickers", "pods", "pools", "routes", "scaling", "workloads")
"""Names of the tables."""


class Level(StrEnum):
    """Meaning of a state for the task of its object, from harmless to worst."""

    NORMAL = "normal"
    """The object is in order, for example while a rollout makes progress."""
    DEGRADED = "degraded"
    """Something is wrong, but requests may be answered."""
    BROKEN = "broken"
    """The object cannot do its task. A service may serve nevertheless, by other objects."""


class State(Spec):
    """A row: a state that an object may be in."""

    id: str = Field(pattern="^[a-z]+(-[a-z]+)*$")
    level: Level = Field(strict=False)
    words: str
    """The predicate of a sentence about the object; with fields in braces."""
    steady: str = ""
    """The same words without a duration that grows from reading to reading; empty if the words have none."""
    remedy: str = ""
    """Advice, as a sentence; with the same fields. Empty if there is nothing to do but to wait."""
    caused_by: tuple[str, ...] = Field(default=(), strict=False)
    """Links (`records.Link`) and ids of the states of deeper links that may be the cause of this state."""
    source: str
    """Upstream's code that writes the state: repository, version and file."""
    judge: str
    """The real part that makes the state in the tests."""


class _Table(Spec):
    states: list[State]


@cache
def by_id() -> Mapping[str, State]:
    """Return the states of all links by id."""
    return {state.id: state for name in LINKS for state in of_link(name)}


def of_link(name: str) -> list[State]:
    """Return the states of a link. `name` is one of `LINKS`."""
    return tables.read(_Table, f"status/tables/{name}.yaml", "judging").states
