"""Tiers of vLLM's KV cache outside the memory of the devices: connectors, versions and variables."""

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced


class TierPort(Sourced):
    """Port that an engine listens on for other engines. Each rank adds the number of the rank to the port."""

    variable: str
    """Environment variable that sets the port."""
    number: int
    """The port that engines use if the variable is not set."""


class TierFacts(Sourced):
    """Facts of the tiers of one type."""

    since: str
    """First version of vLLM that takes the generated settings."""
    connector: str
    """Value of `kv_connector`."""
    secondary: str | None = None
    """Value of `type` in `secondary_tiers`, for a tier behind that of type cpu; None for a tier of its own."""
    hybrid: bool = True
    """Whether layers with windows may free tokens beside the connector."""
    environment: dict[str, str] = Field(default={})
    """Variables of the engine, beside those with sizes and folders."""
    port: TierPort | None = None


class SeveralConnectors(Sourced):
    """The connector that wraps several others in one engine."""

    since: str
    connector: str


class _Table(Spec):
    tiers: dict[str, TierFacts]
    """Facts by the type of the tier."""
    several: SeveralConnectors


def of_type(name: str) -> TierFacts:
    """Return the facts of the tiers of a type in `kvCache.tiers`."""
    return _table().tiers[name]


def types() -> tuple[str, ...]:
    """Return the types of tiers, sorted."""
    return tuple(sorted(_table().tiers))


def several() -> SeveralConnectors:
    """Return the facts of the connector that wraps several others."""
    return _table().several


def _table() -> _Table:
    return tables.read(_Table, "releases/engines/cache-tiers.yaml")
