"""How a service's requests are divided between it and its canary."""

from collections.abc import Mapping
from dataclasses import dataclass

from models.service import Canary

ALL = 100
"""Percent."""


@dataclass(frozen=True, slots=True)
class Share:
    """How requests are divided. A weight of 0 is written out, because one that is absent means 1."""

    primary: int
    canary: int
    headers: Mapping[str, str]
    """Requests with all of these always reach the canary."""


def share(canary: Canary | None) -> Share:
    """Return what each variant gets; the sum is always 100."""
    if canary is None:
        return Share(ALL, 0, {})
    return Share(ALL - canary.weight, canary.weight, dict(sorted(canary.headers.items())))
