"""Departures from llm-d-router: plugins, parameters, keys, role labels, flags and metrics, with replacements.

The table `departures.yaml` has the versions of the router. A channel's version is the tag of its picker's images. A
channel with another picker than llm-d-router has no such version, and nothing departs from it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import Field

from models.base import Spec
from models.paths import Path
from models.problems import Problem, warning
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.releases import Release, channel, channels

ROUTER = "llm-d-router"
_HISTOGRAM = ("_bucket", "_count", "_sum")
"""Endings of the series of a histogram."""
Kind = Literal["plugin", "parameter", "key", "role", "flag", "sidecar-flag", "metric"]


class DepartureGroup(Sourced):
    """Names of one kind that leave together."""

    kind: Kind
    since: str | None = None
    """First version that has both the name and its replacement; None if there is none."""
    until: str | None = None
    """First version without the name; None if it is not known."""
    names: dict[str, str]
    """Names, each with the remedy that writes out its replacement."""


class Departures(Spec):
    """The table of departures."""

    routers: list[str]
    """Last segments of the repositories of the router's picker images."""
    departures: list[DepartureGroup] = Field(default=[])


@dataclass(frozen=True, slots=True)
class Departure:
    """One name that leaves."""

    kind: Kind
    name: str
    since: str | None
    until: str | None
    remedy: str


def router(release: Release) -> str | None:
    """Return the version of a channel's router, such as `v0.10`; None if its picker is not that of llm-d-router."""
    families = (family for family in release.line.images if family.repository in _table().routers)
    return next((family.tag for family in families), None)


def picker_name(release: Release) -> str:
    """Return the picker of a channel as messages name it, such as `llm-d-router v0.10 of llm-d-0.9`."""
    version = router(release)
    if version is None:
        return f"the picker of {release.name}"
    return f"{ROUTER} {version} of {release.name}"


@cache
def of_kind(kind: Kind) -> Mapping[str, Departure]:
    """Return all departures of a kind, by name."""
    return {
        name: Departure(kind, name, group.since, group.until, remedy)
        for group in _table().departures
        if group.kind == kind
        for name, remedy in group.names.items()
    }


def problems(at: Path, kind: Kind, name: str, release: Release) -> Iterator[Problem]:
    """Yield the problem of a name under a channel, if there is one.

    It is an error if the router of the channel lacks the name, and a warning if a later router will lack it.
    """
    departure = of_kind(kind).get(name)
    if departure is None:
        return
    if _has_reached(release, departure.until):
        what = f"is gone since {ROUTER} {departure.until} ({name}; {release.name} has {router(release)})"
        yield Problem(at, what, departure.remedy)
    elif _has_reached(release, departure.since):
        yield warning(at, f"is deprecated ({name})", f"{departure.remedy}, because {_end(departure)}")


def base_of_series(name: str) -> str:
    """Return the name under which the table has a series: a histogram has several, with further endings."""
    for ending in _HISTOGRAM:
        if name.endswith(ending) and name not in of_kind("metric"):
            return name.removesuffix(ending)
    return name


def _end(departure: Departure) -> str:
    """Return which router, and which channel with this router, removes a name."""
    if departure.until is None:
        return f"a later {ROUTER} removes it"
    ending = f"{ROUTER} {departure.until} removes it"
    for name in by_age():
        if _has_reached(channel(name), departure.until):
            return f"{ending} (release {name})"
    return ending


def by_age() -> tuple[str, ...]:
    """Return the names of all channels: other pickers first, then those of the router from the oldest to the newest."""
    return tuple(sorted(channels(), key=lambda name: order(router(channel(name)) or "")))


def _has_reached(release: Release, version: str | None) -> bool:
    version_of_channel = router(release)
    if version is None or version_of_channel is None:
        return False
    return order(version_of_channel) >= order(version)


def order(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which versions are ordered."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _table() -> Departures:
    return tables.read(Departures, "departures.yaml")
