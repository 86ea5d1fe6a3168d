"""Consequences for cached keys and values when engines restart with another version."""

from functools import cache
from typing import Literal

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced


class CacheFate(Sourced):
    """A row of the table: a fate, and the conditions under which it is true."""

    transfer: bool | None = None
    """Whether prefill pods send their cache to decode pods; None for both."""
    connector: str | None = None
    """The connector that sends the cache; None for all."""
    fate: Literal["cold", "never share"]
    words: str


class _Table(Spec):
    rows: list[CacheFate]


def fate(connector: str | None) -> CacheFate:
    """Return the fate of the cache of engines that restart. `connector` sends it; None if no cache is sent."""
    facts = {"transfer": connector is not None, "connector": connector}
    return next(row for row in rows() if all(getattr(row, name) in {None, value} for name, value in facts.items()))


@cache
def rows() -> tuple[CacheFate, ...]:
    """Return the rows of the table in their order."""
    return tuple(tables.read(_Table, "report/cache_format.yaml", "judging").rows)
