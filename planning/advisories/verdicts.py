"""Advisories that a role meets, in the version of its engine or in another version."""

from collections.abc import Iterable, Iterator

from planning.advisories import conditions, table
from planning.advisories.table import Advisory
from planning.variant.context import RoleContext


def exposures(role: RoleContext) -> frozenset[str]:
    """Return the ids of the advisories whose conditions a role meets, whatever the version of its engine."""
    return frozenset(advisory.id for advisory in _holding(role, table.read().advisories))


def met(role: RoleContext) -> tuple[Advisory, ...]:
    """Return the advisories that a role meets. A custom engine, or an engine of an unknown version, meets none."""
    return tuple(_holding(role, table.affecting(role.image)))


def _holding(role: RoleContext, advisories: Iterable[Advisory]) -> Iterator[Advisory]:
    """Yield the advisories whose conditions a role meets. Each condition is evaluated once, because many share one."""
    if role.is_custom:
        return
    verdicts = dict[tuple[str, ...], bool]()
    for advisory in advisories:
        key = (advisory.condition, *advisory.words)
        if key not in verdicts:
            verdicts[key] = conditions.holds(role, advisory)
        if verdicts[key]:
            yield advisory
