"""Counts of the requests of a primary and its canary, minute by minute; `facts` reads, `judging.gates` judges them.

All counts are numbers of requests. There are no averages and no quantiles, because they cannot be added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from planning.ground.cluster_facts import Unknown


@dataclass(frozen=True, slots=True)
class Block:
    """Requests of one variant in one minute.

    A number may have a fraction, because queries of users may extrapolate.
    """

    requests: float
    bad: float
    """Requests of these that are bad, from 0 to `requests`."""


@dataclass(frozen=True, slots=True)
class VariantMinutes:
    """One variant from the begin of the comparison on: entry `n` of each sequence is minute `n`."""

    counts: Mapping[str, Sequence[Block | None] | Unknown]
    """Blocks by the name of the gate. None for a minute that nobody scraped; its requests may be in the next block.
    `Unknown` if the query failed."""
    ready: Sequence[int | None] | Unknown
    """Replicas that answered in the minute. None for a minute for which nobody knows."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Measured numbers of both variants, in complete minutes. All four sequences of a gate have the same minutes."""

    changed_at: datetime
    """Later time of the last change of the weights and of the newest pod that became ready, in UTC."""
    read_at: datetime
    """Time of the reading, in UTC."""
    primary: VariantMinutes
    canary: VariantMinutes
    """Minute 0 of both begins at `changed_at` and the warm-up time."""
