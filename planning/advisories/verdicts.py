"""Advisories that a role meets, in the version of its engine or in another version."""

from collections.abc import Iterator
from dataclasses import dataclass

from planning.advisories import conditions, table
from planning.advisories.table import Advisory
from planning.variant.context import RoleContext


@dataclass(frozen=True, slots=True)
class Exposure:
    """A role, and the advisories whose conditions it meets."""

    role: RoleContext
    ids: frozenset[str]
    """Ids of the advisories that the role meets in the versions that they affect; empty for a custom engine."""

    @property
    def met(self) -> tuple[Advisory, ...]:
        """Return the advisories that the role meets in the version of its engine; none if the version is unknown."""
        return tuple(advisory for advisory in table.affecting(self.role.image) if advisory.id in self.ids)


def exposure(role: RoleContext) -> Exposure:
    """Return the exposure of a role to all advisories."""
    return Exposure(role, frozenset(_ids(role)))


def _ids(role: RoleContext) -> Iterator[str]:
    """Yield the ids of the advisories whose conditions hold. Each condition is evaluated once, as many share one."""
    if not role.kind.vllm_tables:
        return
    verdicts = dict[tuple[str, ...], bool]()
    for advisory in table.read().advisories:
        key = (advisory.condition, *advisory.words)
        if key not in verdicts:
            verdicts[key] = conditions.holds(role, advisory)
        if verdicts[key]:
            yield advisory.id
