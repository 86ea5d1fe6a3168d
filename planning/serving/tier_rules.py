"""Verdicts on the tiers that hold cache blocks outside the memory of the devices."""

from collections.abc import Iterator, Sequence

from models import flags
from models.kv_cache import CpuTier, FileSystemTier, LmcacheTier, MooncakeStoreTier, Tier
from models.paths import Path
from models.problems import Problem, warning
from planning.ground import stages
from planning.releases import tier_facts
from planning.serving import engine_arguments, mount_rules
from planning.variant.context import RoleContext, VariantContext

_P2P_CONNECTOR = "offloading"
"""Protocol of the routing sidecar that names the pod whose blocks an engine takes (llm-d-router, pkg/sidecar)."""
_OWN_KEYS = ("kv_connector", "kv_role", "kv_connector_module_path")


def place(variant: VariantContext) -> Path:
    """Return the path of the key with the host memory of a variant's cache blocks."""
    if variant.spec.kv_cache.cpu_offload is not None:
        return variant.path / "kvCache" / "cpuOffload"
    return variant.path / "kvCache" / "tiers"


def judge(context: RoleContext) -> Iterator[Problem]:
    """Check the tiers of one role."""
    tiers = context.variant.spec.kv_cache.tiers
    if not context.cache.tiers:
        return
    yield from _several_connectors(context)
    yield from _written_settings(context)
    at = context.variant.path / "kvCache" / "tiers"
    for index, tier in enumerate(tiers):
        yield from _order(at / index, context.cache.tiers, len(context.cache.tiers) - len(tiers) + index)
        yield from _version(context, at / index, tier)
        yield from _volume(context, at / index, tier)
    yield from _peers(context, at)
    yield from _master(context, at)


def _order(at: Path, tiers: Sequence[Tier], index: int) -> Iterator[Problem]:
    """Reject a tier that repeats an earlier one, and a tier whose blocks need the host memory of an earlier one.

    vLLM moves the blocks of some tiers through the host memory, and does not start without it (vllm 0.22.0 to 0.32.0,
    vllm/v1/kv_offload/cpu/spec.py: `cpu_bytes_to_use must be specified`).
    """
    tier = tiers[index]
    earlier = tiers[:index]
    if isinstance(tier, FileSystemTier):
        repeated = any(isinstance(other, FileSystemTier) and other.volume == tier.volume for other in earlier)
    else:
        repeated = any(other.type == tier.type for other in earlier)
    if repeated:
        remedy = "remove it"
        if isinstance(tier, CpuTier):
            remedy = "remove it, or remove kvCache.cpuOffload"
        yield Problem(at, f"repeats an earlier tier ({tier.type})", remedy)
    is_behind = tier_facts.of_type(tier.type).secondary is not None
    if is_behind and not any(isinstance(other, CpuTier) for other in earlier):
        what = f"needs host memory, through which the engine moves its blocks ({tier.type})"
        yield Problem(at, what, "write a tier of type cpu before it")


def _version(context: RoleContext, at: Path, tier: Tier) -> Iterator[Problem]:
    """Reject a tier that the engine's version does not have."""
    since = tier_facts.of_type(tier.type).since
    version = context.engine_version
    if version is not None and version.is_known and not version.is_at_least(since):
        what = f"is not known to vLLM {version.number} ({tier.type})"
        remedy = f"use an image of vLLM {since} or newer, or remove it"
        yield Problem(at / "type", what, remedy, (context.path / "engine" / "image",))


def _several_connectors(context: RoleContext) -> Iterator[Problem]:
    """Reject a transfer between roles beside tiers, if the engine's version has no handshake of several connectors."""
    several = tier_facts.several()
    version = context.engine_version
    transfer = context.cache.transfer or {}
    if version is None or not version.is_known or version.is_at_least(several.since):
        return
    if transfer.get("kv_connector") == several.connector and context.variant.kv_cache.transfer is not None:
        what = f"does not work with prefill in vLLM {version.number}"
        remedy = f"use an image of vLLM {several.since} or newer, or remove prefill"
        yield Problem(place(context.variant), what, remedy, (context.path / "engine" / "image",))


def _written_settings(context: RoleContext) -> Iterator[Problem]:
    """Reject arguments that would replace the generated connector. Other keys are merged into its settings."""
    if context.cache.transfer is None:
        return
    is_several = context.cache.transfer["kv_connector"] == tier_facts.several().connector
    for flag in flags.parse(context.role.engine.args):
        if flag.switch != engine_arguments.KV_TRANSFER:
            continue
        written = flags.json_object(flag) or {}
        if is_several or flag.name != engine_arguments.KV_TRANSFER or any(key in written for key in _OWN_KEYS):
            what = f"repeats a field ({engine_arguments.KV_TRANSFER})"
            remedy = f"remove it, or remove {place(context.variant).below(context.variant.path)}"
            yield Problem(context.path / "engine" / "args" / flag.index, what, remedy, (place(context.variant),))


def _volume(context: RoleContext, at: Path, tier: Tier) -> Iterator[Problem]:
    """Check the volume of a tier. Mooncake only reads its settings."""
    if isinstance(tier, FileSystemTier | LmcacheTier | MooncakeStoreTier) and tier.volume is not None:
        writes = not isinstance(tier, MooncakeStoreTier)
        yield from mount_rules.judge(context, at / "volume", tier.volume, writes=writes)


def _master(context: RoleContext, at: Path) -> Iterator[Problem]:
    """Warn of a store whose master the pods cannot reach, because its address is not in the configuration."""
    if context.variant.stack.network_policies is None or context.stage is not stages.DECODE:
        return
    for index, tier in enumerate(context.variant.spec.kv_cache.tiers):
        if isinstance(tier, MooncakeStoreTier):
            what = "has a master that is not in the configuration, and networkPolicies keep the pods from it"
            remedy = "add a NetworkPolicy that lets the pods reach the master"
            yield warning(at / index, what, remedy)


def _peers(context: RoleContext, at: Path) -> Iterator[Problem]:
    """Warn of a tier of other pods if no sidecar names a pod to ask."""
    variant = context.variant
    is_named = variant.kv_cache.connector == _P2P_CONNECTOR and variant.spec.sidecar is not None
    if is_named or context.stage is not stages.DECODE:
        return
    for index, tier in enumerate(variant.spec.kv_cache.tiers):
        if tier.type == "p2p":
            what = "gets blocks only for requests that name a pod, and the routing sidecar names none"
            remedy = f"set kvCache.connector: {_P2P_CONNECTOR} and sidecar: {{}}, or let clients name the pod"
            yield warning(at / index, what, remedy)
