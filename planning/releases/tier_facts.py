"""Tiers of vLLM's KV cache outside the memory of the devices: connectors, versions and variables."""

from pydantic import Field

from models.base import Spec
from planning.ground import tables
from planning.ground.tables import Sourced
from planning.releases.engine_versions import EngineVersion

_NEVER = "9999"
"""Version that no engine has."""


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
    shared_memory: dict[str, list[str]] = Field(default={})
    """Versions that keep the blocks in /dev/shm, by vendor: the first, and the first that no longer does so."""
    environment: dict[str, str] = Field(default={})
    """Variables of the engine, beside those with sizes and folders."""
    port: TierPort | None = None

    def is_shared_memory(self, vendor: str, version: EngineVersion) -> bool:
        """Tell whether a version keeps the blocks in /dev/shm, on devices of a vendor."""
        since, *until = self.shared_memory.get(vendor, [_NEVER])
        return version.is_at_least(since) and not any(version.is_at_least(end) for end in until)


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
