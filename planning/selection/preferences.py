"""Preferences among profiles, read from the table `preferences.yaml`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from pydantic import Field

from models.base import Spec
from models.selection import ProfileType
from models.vocabulary import Items, Text
from planning.ground import tables


class _Tier(Spec):
    name: Annotated[Text, Field(alias="class")]
    bandwidth: float
    source: Text


class _Table(Spec):
    types: Items[ProfileType]
    metrics: Items[Text]
    precisions: Items[Text]
    accelerators: Items[_Tier]


@dataclass(frozen=True, slots=True)
class Preferences:
    """Place of each value in its order of preference; the first place is 0."""

    types: dict[str, int]
    metrics: dict[str, int]
    precisions: dict[str, int]
    accelerators: dict[str, int]


@cache
def preferences() -> Preferences:
    """Return the preferences of the table."""
    table = tables.read(_Table, "selection/preferences.yaml")
    return Preferences(
        types=_places(table.types),
        metrics=_places(table.metrics),
        precisions=_places(table.precisions),
        accelerators=_places(tier.name for tier in table.accelerators),
    )


def bandwidths() -> dict[str, float]:
    """Return the memory bandwidth of each class of the table, in TB/s."""
    return {tier.name: tier.bandwidth for tier in tables.read(_Table, "selection/preferences.yaml").accelerators}


def _places(values: Iterable[str]) -> dict[str, int]:
    return {value: place for place, value in enumerate(values)}
