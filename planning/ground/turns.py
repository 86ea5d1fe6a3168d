"""Turns of services that a run restarts: at most so many at the same time, in an order."""

from collections.abc import Collection
from dataclasses import dataclass

from models.upgrades import Upgrades


@dataclass(frozen=True, slots=True)
class Turn:
    """The place of a service in the order of restarts."""

    position: int
    """Position among the services that restart, from 0."""
    at_once: int
    """Maximum number of services that restart at the same time."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The services that a run restarts, and their order.

    A service begins when all services are ready that are as many places before it as may restart at the same time, or
    more. Services that restart at the same time therefore follow each other in the order, and a service that does not
    become ready stops all but the few that follow it directly.
    """

    at_once: int = 0
    """Maximum number of services that restart at the same time; 0 for no limit."""
    services: tuple[str, ...] = ()
    """Keys of the services that restart, in their order; empty if there is no limit."""

    @property
    def predecessors(self) -> dict[str, tuple[str, ...]]:
        """Return the services for which each service waits. Those are left out for which these services wait."""
        return {
            key: self.services[max(0, position - 2 * self.at_once + 1) : max(0, position - self.at_once + 1)]
            for position, key in enumerate(self.services)
        }

    @property
    def by_service(self) -> dict[str, Turn]:
        """Return the turn of each service."""
        return {key: Turn(position, self.at_once) for position, key in enumerate(self.services)}


SIDE_BY_SIDE = Turns()
"""The turns of a run without a limit."""


def of(restarting: Collection[str], upgrades: Upgrades | None) -> Turns:
    """Return the turns of services. `restarting` has their keys."""
    if upgrades is None:
        return SIDE_BY_SIDE
    named = dict.fromkeys(key for key in upgrades.order if key in restarting)
    return Turns(upgrades.at_once, (*named, *sorted({*restarting} - named.keys())))
