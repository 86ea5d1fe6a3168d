"""Specs of the KV cache, and of the tiers that hold cache blocks outside the memory of the devices."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.base import Spec
from models.vocabulary import BlockSize, Bytes, DnsLabel, Items, amount, refuse
from models.volumes import FileName


class CpuTier(Spec):
    """Host memory of each pod."""

    type: Literal["cpu"]
    """Host memory of each pod, from which the engine moves blocks to the devices."""
    size: Annotated[Bytes, Field(examples=["32Gi"])]
    """Host memory of each pod. The copies of the model in a pod share it equally."""


class FileSystemTier(Spec):
    """Files of a volume, behind a tier of type cpu."""

    type: Literal["file-system"]
    """Files of a volume. The engine never deletes them, and moves blocks through the tier of type cpu. Pods that mount
    the same claim share the blocks."""
    volume: Annotated[DnsLabel, Field(examples=["kv-cache"])]
    """Key of the volume in pod.volumes. It needs a mountPath, and the engine writes to it."""


class P2pTier(Spec):
    """Blocks in the host memory of other pods, behind a tier of type cpu."""

    type: Literal["p2p"]
    """Blocks in the tier of type cpu of other pods. A request names the pod to ask; the routing sidecar does so with
    kvCache.connector: offloading."""


class LmcacheTier(Spec):
    """LMCache in the processes of the engine."""

    type: Literal["lmcache"]
    """LMCache in the processes of the engine, whose image needs the package lmcache."""
    size: Annotated[Bytes, Field(examples=["64Gi"])]
    """Host memory of each pod. The worker processes of the engine share it equally."""
    volume: DnsLabel | None = Field(default=None, examples=["kv-cache"])
    """Key of the volume in pod.volumes for blocks that no longer fit the host memory; absent: none. It needs a
    mountPath and volumeSize."""
    volume_size: Bytes | None = Field(default=None, examples=["500Gi"])
    """Bytes that each pod may write to the volume. The worker processes of the engine share them equally."""

    @model_validator(mode="after")
    def _sizes_its_volume(self) -> "LmcacheTier":
        if (self.volume is None) != (self.volume_size is None):
            raise refuse("needs volume and volumeSize together", "write both of them, or none", echoed=False)
        return self


class MooncakeStoreTier(Spec):
    """A store of Mooncake, which other pods share."""

    type: Literal["mooncake-store"]
    """A store of Mooncake, which the pods share. Its master runs beside the stack."""
    volume: Annotated[DnsLabel, Field(examples=["mooncake"])]
    """Key of the volume in pod.volumes with the store's settings. It needs a mountPath."""
    file: FileName = "mooncake_config.json"
    """File of the settings in the volume."""
    size: Bytes | None = Field(default=None, examples=["80Gi"])
    """Host memory that each pod gives to the store: global_segment_size of the settings for each worker process of the
    engine, and local_buffer_size. Absent: no memory is reserved."""


Tier = Annotated[CpuTier | FileSystemTier | P2pTier | LmcacheTier | MooncakeStoreTier, Field(discriminator="type")]
"""A place for cache blocks outside the memory of the devices."""


class KvCache(Spec):
    """Settings of the KV cache. All roles and the picker have the same settings."""

    block_size: BlockSize | None = Field(default=None, examples=[128])
    """Tokens in one block. Absent: 64 if several roles, or a role and the picker, need the same number; otherwise the
    engine's default. engine: the engine's default in any case; refused if the picker counts blocks, or with events."""
    connector: DnsLabel | None = Field(default=None, examples=["mooncake"])
    """Protocol by which the routing sidecar lets prefill pods hand their cache to decode pods: nixlv2, mooncake,
    sglang, shared-storage or offloading, if the release channel has it. Absent: nixlv2 for vLLM, sglang for SGLang. A
    custom engine needs this key, and its arguments for the transfer are the user's own."""
    events: bool = False
    """Publish events about the content of each pod's cache (`--kv-events-config`), for routers that read them."""
    cpu_offload: Bytes | None = Field(default=None, examples=["32Gi"])
    """Host memory of each pod for cache blocks that no longer fit the memory of the pod's devices: the short form of a
    single tier of type cpu. Also for SGLang without prefill (`--hicache-size`)."""
    tiers: Items[Tier] = Field(
        default=(), examples=[[{"type": "cpu", "size": "32Gi"}, {"type": "file-system", "volume": "kv-cache"}]]
    )
    """Places for cache blocks outside the memory of the devices (`--kv-transfer-config`), for vLLM. An engine searches
    them in this order. Absent: none besides cpuOffload."""

    @property
    def tokens_per_block(self) -> int | None:
        """Return the number of tokens in a block that the user wrote; None if the engine, or this program, chooses."""
        if self.block_size == "engine":
            return None
        return self.block_size

    @property
    def all_tiers(self) -> tuple[Tier, ...]:
        """Return the tiers, with `cpu_offload` as the tier that it is short for."""
        if self.cpu_offload is None:
            return self.tiers
        return (CpuTier(type="cpu", size=self.cpu_offload), *self.tiers)

    @property
    def host_memory(self) -> str | None:
        """Return the host memory of a pod for cache blocks; None if it needs none."""
        hosts = (tier for tier in self.all_tiers if isinstance(tier, CpuTier | LmcacheTier | MooncakeStoreTier))
        sizes = [tier.size for tier in hosts if tier.size is not None]
        if len(sizes) > 1:
            total = sum((amount(size) for size in sizes), Decimal(0))
            return f"{(total / 2**30).normalize():f}Gi"
        return next(iter(sizes), None)
