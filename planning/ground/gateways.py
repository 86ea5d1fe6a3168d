"""Facts of gateways: how each implementation of the Gateway API, and each version, treats the objects of a stack."""

import re
from typing import Literal

from pydantic import Field

from models.base import Spec
from models.routing import Gateway
from planning.ground import tables
from planning.ground.tables import Sourced

_NUMBERS = re.compile(r"v?([0-9]+(?:\.[0-9]+)*)")


class WeightedPools(Sourced):
    """Rules of a route that divide requests among several pools."""

    since: list[str] = Field(default=[])
    """First version in each minor line that asks the picker of each pool. All versions of newer lines do so, too.
    Empty if every version does so."""


class Timeouts(Sourced):
    """Time limits of requests."""

    route: bool
    """Whether the timeouts of routes have an effect."""


class Proxies(Sourced):
    """Proxies outside of the cluster, which no selector of pods finds."""

    ranges: list[str]
    """Source ranges of requests and health checks."""
    checks_pickers: bool
    """Whether the proxies send health checks to the health port of endpoint pickers."""
    subnet: str | None = None
    """Name of a further source range of requests, which is in the user's network. None if there is no such range."""


class Minimum(Sourced):
    """First version that serves pools."""

    version: str


class TargetPorts(Sourced):
    """First version that reaches every target port of a pool."""

    version: str


class GatewayFacts(Spec):
    """Facts of one implementation."""

    title: str
    """Name in messages."""
    minimum: Minimum | None = None
    """None if release channels state the minimum, or if it is unknown."""
    weighted_pools: WeightedPools
    target_ports: TargetPorts | None = None
    """None if no version is known to reach more than one target port."""
    timeouts: Timeouts | None = None
    """None if the effect of timeouts is unknown."""
    proxies: Proxies | None = None
    """None if its proxies are pods in the gateway's namespace."""


class PayloadProcessors(Sourced):
    """Processors in front of a gateway that read the model from the bodies of requests."""

    labels: list[str]
    """Labels of the ConfigMaps that tell a processor which models there are. Each label has the value `true`."""


class _Table(Spec):
    providers: dict[Literal["istio", "gke", "agentgateway"], GatewayFacts]
    payload_processors: PayloadProcessors


def facts(gateway: Gateway) -> GatewayFacts | None:
    """Return the facts of a gateway's implementation; None for provider `none`: its implementation is unknown."""
    return None if gateway.provider == "none" else _table().providers[gateway.provider]


def payload_processors() -> PayloadProcessors:
    """Return the facts of payload processors."""
    return _table().payload_processors


def asks_each_picker(gateway: Gateway) -> bool:
    """Tell whether the picker of each pool is asked if a rule has several pools.

    If the version is unknown, the answer is yes only if every version asks.
    """
    known = facts(gateway)
    if known is None or not known.weighted_pools.since:
        return True
    return gateway.version is not None and is_at_least_one(gateway.version, known.weighted_pools.since)


def is_at_least_one(version: str, minimums: list[str]) -> bool:
    """Tell whether a version is at least the minimum of its minor line, or at least the highest minimum."""
    found, first = numbers(version), sorted(map(numbers, minimums))
    return found >= first[-1] or any(found[:2] == line[:2] and found >= line for line in first)


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: major, minor and patch. Empty for a text that is no version."""
    match = _NUMBERS.match(version)
    parts = [int(part) for part in match[1].split(".")] if match else []
    return tuple([*parts, 0, 0][:3]) if parts else ()


def _table() -> _Table:
    return tables.read(_Table, "gateways.yaml")
