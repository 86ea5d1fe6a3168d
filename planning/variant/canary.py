"""Division of a service's requests between its primary and its canary."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.service import Canary

ALL = 100
"""All requests of a service, in percent."""


@dataclass(frozen=True, slots=True)
class Share:
    """The shares of both variants, in percent. A route states even a weight of 0, because the default weight is 1."""

    primary: int
    canary: int
    headers: Mapping[str, str]
    """Headers by name. A request that has all of them always goes to the canary."""


def share(canary: Canary | None) -> Share:
    """Return the share of each variant; the sum is always 100."""
    if canary is None:
        return Share(ALL, 0, {})
    return Share(ALL - canary.weight, canary.weight, dict(sorted(canary.headers.items())))
