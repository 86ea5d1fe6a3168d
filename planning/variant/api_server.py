"""HTTP servers of an inference engine: their number, whether running requests finish, and whether a key is required."""

from models import flags
from models.role import Role
from planning.hardware.devices import Layout
from planning.releases.engine_versions import EngineVersion

SHUTDOWN_TIMEOUT = "--shutdown-timeout"
_COUNT = frozenset({"--api-server-count", "--asc"})
_KEY = "--api-key"
_KEY_VARIABLE = "VLLM_API_KEY"
_GUARDED = "/v1"
_OPEN = "/health"
_READY = "/v1/models"


def drains(role: Role, layout: Layout, version: EngineVersion | None) -> bool:
    """Tell whether the engine itself lets running requests finish after SIGTERM.

    If an engine has several HTTP servers, each server closes its connections immediately after SIGTERM. A single server
    manages the engine's processes itself, and waits until these processes have ended (vllm 0.21.0 and 0.33.0,
    `MPClient.shutdown` in vllm/v1/engine/core_client.py).

    If every pod of a replica gets requests, no engine may end while another one has requests: the engines compute each
    step together (vllm 0.33.0, `DPEngineCoreProc` in vllm/v1/engine/core.py).
    """
    if layout.every_pod_serves:
        return False
    return version is not None and version.knows_flag(SHUTDOWN_TIMEOUT) and has_one_server(role, layout)


def has_one_server(role: Role, layout: Layout) -> bool:
    """Tell whether an engine has one HTTP server."""
    return _count(role, layout) == "1"


def _count(role: Role, layout: Layout) -> str | None:
    """Return the number of HTTP servers of an engine as text: the user's number, else one for each copy of the model.

    If `parallelism.loadBalancing` is `external`, each copy of the model is an engine with one server.
    """
    if layout.ports > 1:
        return "1"
    explicit = [flag.value for flag in flags.parse(role.engine.args) if flag.name in _COUNT]
    if explicit:
        return explicit[-1]
    return str(layout.data)


def requires_key(role: Role) -> bool:
    """Tell whether requests for paths below /v1 need an API key. Without the key, the engine answers 401."""
    return _KEY_VARIABLE in role.engine.env or any(flag.name == _KEY for flag in flags.parse(role.engine.args))


def ready_path(role: Role, layout: Layout) -> str:
    """Return the path of the startup and readiness probes: the user's path, or else /v1/models or /health.

    If each copy of the model has a port, the probes go to the supervisor of the copies, which answers /health
    (vllm 0.22.0, vllm/entrypoints/openai/dp_supervisor.py).

    Probes send no key. If requests need a key, the probes request /health, which needs no key (vllm 0.21.0,
    `AuthenticationMiddleware` in vllm/entrypoints/openai/server_utils.py). The engine does not answer /health too
    early, because its port is closed until the model is loaded.
    """
    return role.health.path or (_OPEN if layout.ports > 1 or requires_key(role) else _READY)


def is_guarded(path: str) -> bool:
    """Tell whether an engine that requires a key answers requests for a path only if the requests have the key."""
    return path.startswith(_GUARDED)
