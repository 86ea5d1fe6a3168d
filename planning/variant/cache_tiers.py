"""Settings of vLLM for the tiers that hold cache blocks outside the memory of the devices (`kvCache.tiers`).

Engines of other services, and later engines of the same service, may find the blocks in a tier. vLLM names blocks by
their tokens, by numbers of the engine, and by the folder of the model, which is the same for every model (vllm 0.26.0
to 0.32.0, vllm/v1/kv_offload/file_mapper.py and PoolKey in mooncake/store/data.py). Each model therefore gets a
namespace in a tier.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models import flags
from models.kv_cache import CpuTier, FileSystemTier, LmcacheTier, MooncakeStoreTier, P2pTier, Tier
from models.role import Role
from models.service import Variant
from models.stack import Stack
from models.vocabulary import amount
from planning.ground.environment import EnvValue
from planning.hardware.devices import Layout
from planning.releases import Release, tier_facts
from planning.variant import generation, images
from planning.variant.roles import RoleSpecAt

_GI = 2**30
_DIGITS = 12
_ROLE = "kv_both"
"""Role of every connector: it may take blocks from a tier, and put blocks into the tier."""
_CPU = "cpu"
_TIERING = "TieringOffloadingSpec"
"""Class of vLLM that moves blocks between the host memory and further tiers (vllm 0.22.0, v1/kv_offload/factory.py)."""


@dataclass(frozen=True, slots=True)
class CacheTiers:
    """Tiers of a role, and the settings of its engine for them."""

    tiers: tuple[Tier, ...]
    """The tiers in the order in which the engine searches them; empty if there are none."""
    transfer: Mapping[str, Any] | None
    """Value of `--kv-transfer-config`, with the connector between roles; None if the engine gets no such flag. A single
    tier of type cpu has another flag."""
    environment: Mapping[str, EnvValue]
    """Variables of the engine for the tiers."""

    @property
    def host_size(self) -> str | None:
        """Return the size of the tier of type cpu; None if there is none."""
        return next((tier.size for tier in self.tiers if isinstance(tier, CpuTier)), None)

    @property
    def has_secondary(self) -> bool:
        """Tell whether blocks move from the host memory of type cpu to a further tier of the same connector."""
        return any(tier_facts.of_type(tier.type).secondary is not None for tier in self.tiers)

    @property
    def asks_peers(self) -> bool:
        """Tell whether engines take blocks from other pods of their role, and of other roles with the same tier.

        The memory that pods give to a store of Mooncake is read by other pods (MooncakeStoreConfig, mode embedded).
        """
        return any(isinstance(tier, P2pTier | MooncakeStoreTier) for tier in self.tiers)

    @property
    def is_hybrid(self) -> bool:
        """Tell whether layers with windows may free tokens beside the tiers."""
        return all(tier_facts.of_type(tier.type).hybrid for tier in self.tiers)


def of_role(spec: Variant, role: RoleSpecAt) -> tuple[Tier, ...]:
    """Return the tiers of a role, in the order in which its engine searches them; empty if it has none."""
    if not role.stage.exchanges_kv_cache or not role.kind.vllm_tables:
        return ()
    return spec.kv_cache.all_tiers


def namespace(spec: Variant, role: RoleSpecAt, stack: Stack, release: Release, image: str | None) -> str:
    """Return a hash of the settings that may change the bytes of a block, as a name of blocks in a tier."""
    names = release.engine.cache_flags
    settings = {
        "model": generation.model_identity(spec, stack),
        "image": images.identity(spec, image),
        "flags": [flag.tokens for flag in flags.parse(role.spec.engine.args) if flag.switch in names],
    }
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def plan(spec: Variant, role: RoleSpecAt, layout: Layout, transfer: Mapping[str, str] | None, space: str) -> CacheTiers:
    """Return the tiers of a role, with the settings of its engine.

    `transfer` is the connector for the transfer between roles, and `space` the namespace.
    """
    tiers = of_role(spec, role)
    between_roles = transfer if role.stage.exchanges_kv_cache else None
    return CacheTiers(
        tiers=tiers,
        transfer=_settings(tiers, role.spec, layout, between_roles, space),
        environment=_environment(tiers, role.spec, layout, space),
    )


def _settings(
    tiers: tuple[Tier, ...], role: Role, layout: Layout, transfer: Mapping[str, str] | None, space: str
) -> Mapping[str, Any] | None:
    """Return the value of `--kv-transfer-config`.

    The connector for the transfer between roles comes first: a decode pod first takes the blocks that prefill computed
    for the request (vllm 0.26.0 to 0.32.0, get_num_new_matched_tokens of MultiConnector).
    """
    types = [tier.type for tier in tiers]
    if types == [_CPU] and transfer is None:
        return None
    connectors = _connectors(tiers, role, layout, space)
    if transfer is not None:
        connectors.insert(0, dict(transfer))
    if len(connectors) > 1:
        wrapper = tier_facts.several().connector
        return _connector(wrapper, {"connectors": connectors})
    return next(iter(connectors), None)


def _environment(tiers: Iterable[Tier], role: Role, layout: Layout, space: str) -> dict[str, EnvValue]:
    """Return the variables of an engine for its tiers. Rules reject volumes that the engine does not mount."""
    env = dict[str, EnvValue]()
    workers = layout.tensor * layout.stages_per_pod * layout.data_local
    for tier in tiers:
        env |= tier_facts.of_type(tier.type).environment
        if isinstance(tier, LmcacheTier):
            env["LMCACHE_MAX_LOCAL_CPU_SIZE"] = _gibibytes(tier.size, workers)
        if isinstance(tier, LmcacheTier) and tier.volume is not None and tier.volume_size is not None:
            env["LMCACHE_LOCAL_DISK"] = f"file://{_folder(role, tier.volume)}/{space}/"
            env["LMCACHE_MAX_LOCAL_DISK_SIZE"] = _gibibytes(tier.volume_size, workers)
        if isinstance(tier, MooncakeStoreTier):
            env["MOONCAKE_CONFIG_PATH"] = f"{_folder(role, tier.volume)}/{tier.file}"
    return env


def _folder(role: Role, name: str) -> str | None:
    """Return the folder of a volume in the engine container; None if there is no such volume, or no mount of it."""
    volume = role.pod.volumes.get(name)
    if volume is None:
        return None
    return volume.mount_path


def _connectors(tiers: tuple[Tier, ...], role: Role, layout: Layout, space: str) -> list[dict[str, Any]]:
    """Return the connectors of tiers. All tiers that share the host memory of type cpu are one connector."""
    extras = dict[str, dict[str, Any]]()
    for tier in tiers:
        facts = tier_facts.of_type(tier.type)
        extra = extras.setdefault(facts.connector, {})
        if isinstance(tier, CpuTier):
            extra["cpu_bytes_to_use"] = int(amount(tier.size) / layout.data_local)
        if facts.secondary is not None:
            extra["spec_name"] = _TIERING
            extra.setdefault("secondary_tiers", []).append(_secondary(facts.secondary, tier, role, space))
        if isinstance(tier, MooncakeStoreTier):
            extra["cache_prefix"] = space
    return [_connector(name, extra) for name, extra in extras.items()]


def _secondary(type_name: str, tier: Tier, role: Role, space: str) -> dict[str, Any]:
    """Return an entry of `secondary_tiers`."""
    if isinstance(tier, FileSystemTier):
        return {"type": type_name, "root_dir": f"{_folder(role, tier.volume)}/{space}"}
    return {"type": type_name}


def _connector(name: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a connector."""
    connector = dict[str, Any]({"kv_connector": name, "kv_role": _ROLE})
    if extra:
        connector["kv_connector_extra_config"] = dict(extra)
    return connector


def _gibibytes(size: str, workers: int) -> str:
    """Return the share of a worker in GiB."""
    return f"{float(amount(size) / workers / _GI):g}"
