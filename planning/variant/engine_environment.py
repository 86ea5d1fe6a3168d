"""Generated environment variables of engines."""

from models.role import Role
from models.service import Variant
from planning.ground import labels, lifecycle
from planning.ground.environment import EnvValue
from planning.ground.mounts import ENGINE_HOME
from planning.hardware.devices import Layout
from planning.variant import images
from planning.variant.kv_cache import KvCache

_KEEP_ALIVE_SECONDS = 120
"""Time for which prefill engines keep an idle connection; more than the idle timeout of the routing sidecar (90 s)."""


def plan(spec: Variant, name: str, role: Role, layout: Layout, cache: KvCache) -> dict[str, EnvValue]:
    """Return the generated variables of the engine of the role `name`, without those of tracing."""
    env = dict[str, EnvValue]({"HOME": ENGINE_HOME})
    if images.is_custom(spec, role):
        return env
    # torch asks for the name of the user. Without USER it would look for the user id in the image's passwd file, which
    # does not have it.
    env |= {"USER": "engine", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    env["VLLM_ENGINE_READY_TIMEOUT_S"] = str(lifecycle.startup_seconds(role.health, spec.model.size))
    if spec.prefill is not None or cache.events is not None or layout.pods_per_replica > 1:
        env["POD_IP"] = {"fieldRef": {"fieldPath": "status.podIP"}}
    if spec.prefill is not None and "nixl" in spec.kv_cache.connector:
        env["VLLM_NIXL_SIDE_CHANNEL_HOST"] = "$(POD_IP)"
    if name == labels.PREFILL:
        env["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"] = str(_KEEP_ALIVE_SECONDS)
    return env
