"""Validation of an engine's flags, JSON values and variables against its version of vLLM, and against its API servers.

vLLM exits if it does not know a flag. If vLLM does not know a variable, it warns and ignores the variable.
"""

import difflib
from collections.abc import Collection, Iterator

from models import flags
from models.flags import Flag
from models.paths import Path
from models.problems import Problem, warning
from planning.ground.names import PRIMARY
from planning.releases import engine_versions
from planning.releases.engine_versions import EngineVersion
from planning.serving import engine_arguments
from planning.serving.context import EngineContext
from planning.variant import api_server
from planning.variant.context import RoleContext

_FURTHER_FIELDS = {
    "--enable-lora": "model.lora",
    "--kv-events-config": "kvCache.events",
    "--kv-transfer-config": "kvCache.connector",
    "--speculative-config": "model.speculative",
}
"""Fields that decide generated flags, in addition to those that the kind of engine has."""
_ROLE_FIELDS = frozenset({"engine", "parallelism"})
_STACK_FIELDS = frozenset({"observability"})
_CONNECTOR = "--kv-transfer-config.kv_connector"
_ENGINE_PREFIX = "VLLM_"


def judge(engine: EngineContext) -> Iterator[Problem]:
    """Reject flags that the engine's version does not support.

    Also reject a probe path that needs a key, and warn of an unknown version and of unknown variables.
    """
    context = engine.role
    if context.engine_version is None:
        return
    yield from _unknown_generated_flags(engine, context.engine_version)
    if context.engine_version.is_known:
        yield from _unknown_flags(context, context.engine_version)
    if api_server.requires_key(context.role):
        for at, path in context.role.health.written_paths.items():
            if api_server.is_guarded(path):
                what = f"answers 401 to probes, because the engine requires an API key ({path})"
                yield Problem(Path(*context.path, "health", *at), what, "remove it, or write /health")
    yield from _warnings(context, context.engine_version)


def _unknown_generated_flags(engine: EngineContext, version: EngineVersion) -> Iterator[Problem]:
    """Reject each field whose generated flag is unknown to the engine."""
    context = engine.role
    unknown = dict[Path, str]()
    for flag in flags.parse((*engine.arguments, *engine.worker_arguments)):
        if flag.name and not version.knows_flag(flag.name):
            unknown.setdefault(_field(context, flag), flag.name)
    transfer = context.variant.kv_cache.transfer
    if transfer is not None and not version.knows_value(f"{_CONNECTOR}={transfer['kv_connector']}"):
        at = context.variant.path / "kvCache" / "connector"
        unknown.setdefault(at, f"{_CONNECTOR}={transfer['kv_connector']}")
    for at, name in unknown.items():
        what = f"needs {name}, which vLLM {version.number} does not know"
        yield Problem(at, what, _remedy(name))


def _field(context: RoleContext, flag: Flag) -> Path:
    """Return the path of the field that decides a generated flag."""
    verb, _, field = context.kind.decided.get(flag.switch, "").partition(" ")
    if verb != "set":
        field = "parallelism"
    keys = _FURTHER_FIELDS.get(flag.switch, field).split(".")
    if keys[0] in _STACK_FIELDS:
        return Path(*keys)
    if keys[0] in _ROLE_FIELDS:
        return Path(*context.path, *keys)
    return Path(*context.variant.path, *keys)


def _unknown_flags(context: RoleContext, version: EngineVersion) -> Iterator[Problem]:
    """Reject the user's flags that the engine does not know. Messages contain no values of flags."""
    for flag in flags.parse(context.role.engine.args):
        if not flag.name or flag.switch in context.kind.decided or version.knows_flag(flag.name):
            continue
        name = flag.name.partition(".")[0]
        at = context.path / "engine" / "args" / flag.index
        yield Problem(at, f"is no flag of vLLM {version.number} ({name})", _remedy(name, version.flags))


def _remedy(name: str, known: Collection[str] = ()) -> str:
    """Return the remedy for a flag or JSON value that the engine does not know. `known` are flags of the engine."""
    versions = engine_versions.versions_with(name)
    if versions is not None:
        return f"use an image of a version that knows it ({versions}), or remove it"
    close = difflib.get_close_matches(name, [flag for flag in known if flag.startswith("--")], n=1)
    if close:
        return f"did you mean {close[0]}?"
    return "remove it"


def _warnings(context: RoleContext, version: EngineVersion) -> Iterator[Problem]:
    """Warn of an engine of unknown version, and of variables that the engine does not know.

    Settings that a role inherits from the service's own role get no second warning.
    """
    spec = context.role.engine
    inherited = context.variant.service.engine
    is_heir = context.variant.variant_name != PRIMARY or context.name != context.variant.destinations[0].name
    if not version.is_known and not (is_heir and spec.image == inherited.image):
        what = f"has an unknown version of vLLM: it gets the flags of {version.number}, and args are not checked"
        remedy = "use a tag that names the version, such as vllm-openai:v0.21.0"
        yield warning(context.path / "engine" / "image", what, remedy)
    if context.variant.metered_as is not None and not version.knows_flag(engine_arguments.FORCED_USAGE):
        what = f"serves streams of some requests without their usage, so that nobody pays for them ({version.number})"
        yield warning(context.path / "engine" / "image", what, _remedy(engine_arguments.FORCED_USAGE))
    if not version.is_known or (is_heir and spec.env == inherited.env):
        return
    for name in spec.env:
        if name.startswith(_ENGINE_PREFIX) and not version.knows_variable(name):
            versions = engine_versions.versions_with(name)
            remedy = ""
            if versions is not None:
                remedy = f"vLLM knows it {versions}"
            yield warning(context.path / "engine" / "env" / name, f"is unknown to vLLM {version.number}", remedy)
