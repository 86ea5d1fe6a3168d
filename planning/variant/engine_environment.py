"""Generated environment variables of engines."""

from models.role import Role
from models.service import DynamicLora, Variant
from models.vocabulary import amount
from planning.ground import lifecycle, loading, resources, stages
from planning.ground.environment import EnvValue
from planning.hardware.devices import Layout
from planning.releases import engine_kinds
from planning.releases.engine_kinds import EngineKind
from planning.variant import cache_tiers, connections, roles
from planning.variant.kv_cache import KvCacheSettings
from planning.variant.roles import RoleSpecAt

_GI = 2**30


def plan(spec: Variant, role: RoleSpecAt, layout: Layout, cache: KvCacheSettings) -> dict[str, EnvValue]:
    """Return the generated variables of vLLM, except those for tracing, connections and the memory of CPUs."""
    spans_pods = layout.pods_per_replica > 1
    # torch looks up the name of the user: first in USER, then in the image's passwd file, which lacks the user id.
    env = dict[str, EnvValue]({"USER": "engine", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"})
    startup = lifecycle.loading_seconds(
        role.spec.health, spec.model.size, spans_pods=spans_pods, loading=loading.of(spec)
    )
    env["VLLM_ENGINE_READY_TIMEOUT_S"] = str(startup)
    transfers = spec.prefill is not None and role.stage.exchanges_kv_cache
    publishes = cache.events is not None and role.stage.exchanges_kv_cache
    asks_peers = any(tier.type == "p2p" for tier in cache_tiers.of_role(spec, role))
    if transfers or publishes or asks_peers or spans_pods or role.stage is stages.ENCODE:
        env["POD_IP"] = {"fieldRef": {"fieldPath": "status.podIP"}}
    if transfers and engine_kinds.connector(spec) == "nixlv2":
        env["VLLM_NIXL_SIDE_CHANNEL_HOST"] = "$(POD_IP)"
    if spec.model.lora is not None and spec.model.lora.dynamic is not None:
        env |= _dynamic_adapters(spec.model.lora.dynamic, role.spec)
    return env


def _dynamic_adapters(dynamic: DynamicLora, role: Role) -> dict[str, EnvValue]:
    """Return the variables with which an engine loads adapters while it runs.

    The plugin of vLLM that reads a folder is on by default (vllm 0.30.0, vllm/plugins/lora_resolvers and
    vllm/plugins/__init__.py). `lora_rules` has rejected a volume that has no path.
    """
    env = dict[str, EnvValue]({"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"})
    volume = role.pod.volumes.get(dynamic.directory or "")
    if volume is not None and volume.mount_path is not None:
        env["VLLM_LORA_RESOLVER_CACHE_DIR"] = volume.mount_path
    return env


def of_kind(kind: EngineKind, cache: KvCacheSettings) -> dict[str, EnvValue]:
    """Return the generated variables of an engine other than vLLM. The topic of cache events has the pod's IP."""
    env = dict[str, EnvValue](kind.environment)
    if kind.is_generated and cache.events is not None:
        env["POD_IP"] = {"fieldRef": {"fieldPath": "status.podIP"}}
    return env


def encoder_outputs(role: RoleSpecAt) -> dict[str, EnvValue]:
    """Return the variable with the address at which other pods ask an encode pod for outputs of encoders.

    Every engine that may run in such a pod knows the variable, even if its version is unknown.
    """
    if role.stage is not stages.ENCODE:
        return {}
    return {"VLLM_EC_SIDE_CHANNEL_HOST": "$(POD_IP)"}


def connection(spec: Variant, provider: str | None) -> dict[str, EnvValue]:
    """Return the variable for idle connections, which vLLM closes after 5 s by default.

    `provider` is the gateway's provider; None if no gateway sends requests. If the variant has further roles, the
    client of all engines is the routing sidecar of decode pods.
    """
    client = provider
    if roles.further(spec):
        client = connections.SIDECAR
    return {"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": str(connections.keep_alive_seconds(client))}


def cpu_memory(spec: Variant, role: RoleSpecAt, layout: Layout) -> dict[str, EnvValue]:
    """Return the variable for the KV cache of an engine on CPUs, in GiB for each of its workers.

    By default vLLM takes half of the host's memory, whatever the container's limit is. From the limit, this function
    subtracts weights, shared memory and offloaded cache. The workers share half of the rest for the KV cache.
    """
    offload = spec.kv_cache.host_memory if role.stage.exchanges_kv_cache else None
    _, limits = resources.engine(role.spec.resources, layout.devices_per_pod, offload)
    shared = resources.shared_memory(role.spec.pod.shared_memory, layout.devices_per_pod)
    weights = amount(spec.model.size or "0") * layout.data_local
    free = amount(limits["memory"]) - amount(shared) - amount(offload or "0") - weights
    workers = layout.tensor * layout.stages_per_pod * layout.data_local
    return {"VLLM_CPU_KVCACHE_SPACE": str(max(1, int(free / (2 * workers * _GI))))}
