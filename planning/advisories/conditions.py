"""Conditions of advisories: what a role of a service does, as far as its configuration tells."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from models import flags
from models.flags import Flag
from models.source import content, scheme, served_name
from planning.advisories import table
from planning.advisories.table import Advisory
from planning.fit import families, served
from planning.ground.cluster_facts import Unknown
from planning.releases import tier_facts
from planning.variant import api_server
from planning.variant.context import RoleContext

_POOLING = {
    "--runner": frozenset({"pooling"}),
    "--task": frozenset({"classify", "embed", "embedding", "reward", "score"}),
    "--convert": frozenset({"classify", "embed", "reward"}),
}
"""Values of flags with which vLLM serves a model for pooling (vllm 0.21.0, vllm/config/model.py)."""
_MEDIA = frozenset({"--allowed-local-media-path", "--allowed-media-domains", "--media-io-kwargs"})
"""Flags that have a meaning only if the model accepts media."""
_OFF = frozenset({"0", ""})
"""Values of a variable that is off."""


def holds(role: RoleContext, advisory: Advisory) -> bool:
    """Tell whether a role meets the condition of an advisory."""
    return PREDICATES[advisory.condition](role, advisory)


def _answers_requests(role: RoleContext, _: Advisory) -> bool:
    return role.kind.vllm_tables


def _generates_text(role: RoleContext, advisory: Advisory) -> bool:
    return role.kind.vllm_tables and not _pools(role, advisory)


def _pools(role: RoleContext, _: Advisory) -> bool:
    written = _flags(role)
    if any(_value(written, name) in values for name, values in _POOLING.items()):
        return True
    family = _family(role)
    return family is not None and families.knows(family) and families.shape(family) == families.ENCODER


def _accepts_media(role: RoleContext, _: Advisory) -> bool:
    written = _flags(role)
    limit = written.get("--limit-mm-per-prompt")
    limits = {} if limit is None else flags.json_object(limit) or {}
    if "--language-model-only" in written or (limits and not any(map(_items, limits.values()))):
        return False
    models = table.read().media
    return bool(_MEDIA & written.keys() or limits) or _family(role) in models.families or _is_named(role, models.images)


def _items(limit: object) -> object:
    """Return the number in a limit of media: the limit itself, or the key `count` of an object.

    Without the key, the limit is vLLM's default, which is above 0 (vllm 0.21.0, vllm/config/multimodal.py).
    """
    if isinstance(limit, Mapping):
        return cast("Mapping[str, object]", limit).get("count", 1)
    return limit


def _accepts_audio(role: RoleContext, _: Advisory) -> bool:
    return _is_named(role, table.read().media.audio)


def _trusts_remote_code(role: RoleContext, _: Advisory) -> bool:
    return _is_on(role, "--trust-remote-code")


def _loads_changing_repository(role: RoleContext, _: Advisory) -> bool:
    source = role.variant.spec.model.pinned_source
    return scheme(source) == "hf" and content(source) is None


def _loads_gguf(role: RoleContext, _: Advisory) -> bool:
    written = _flags(role)
    values = (_value(written, "--quantization"), _value(written, "--load-format"))
    return "gguf" in values or _is_named(role, ["gguf"])


def _takes_prompt_embeddings(role: RoleContext, _: Advisory) -> bool:
    return _is_on(role, "--enable-prompt-embeds")


def _requires_key(role: RoleContext, _: Advisory) -> bool:
    return api_server.requires_key(role.role)


def _transfers_cache(role: RoleContext, advisory: Advisory) -> bool:
    transfer = role.variant.kv_cache.transfer
    written = _flags(role).get("--kv-transfer-config")
    connectors = {None if transfer is None else transfer["kv_connector"]}
    connectors |= {tier_facts.of_type(tier.type).connector for tier in role.cache.tiers}
    connectors |= {None if written is None else (flags.json_object(written) or {}).get("kv_connector")}
    return not connectors.isdisjoint(advisory.words)


def _spans_pods(role: RoleContext, _: Advisory) -> bool:
    return role.layout.pods_per_replica > 1


def _serves_model(role: RoleContext, advisory: Advisory) -> bool:
    return _is_named(role, advisory.words)


def _parses_pythonic_tools(role: RoleContext, _: Advisory) -> bool:
    return _value(_flags(role), "--tool-call-parser") == "pythonic"


def _parses_qwen3_coder_tools(role: RoleContext, _: Advisory) -> bool:
    return _value(_flags(role), "--tool-call-parser") == "qwen3_coder"


def _calls_tools(role: RoleContext, _: Advisory) -> bool:
    return "--tool-server" in _flags(role)


def _extracts_hidden_states(role: RoleContext, _: Advisory) -> bool:
    return _mentions(role, "--speculative-config", "extract_hidden_states")


def _enforces_formats_by_lm_format_enforcer(role: RoleContext, _: Advisory) -> bool:
    names = ("--structured-outputs-config", "--guided-decoding-backend")
    return any(_mentions(role, name, "lm-format-enforcer") for name in names)


def _optimises_python(role: RoleContext, _: Advisory) -> bool:
    return _is_set(role, "PYTHONOPTIMIZE")


def _uses_rust_frontend(role: RoleContext, _: Advisory) -> bool:
    return _is_set(role, "VLLM_USE_RUST_FRONTEND")


def _flags(role: RoleContext) -> dict[str, Flag]:
    """Return the flags that the user wrote, by switch."""
    return {flag.switch: flag for flag in flags.parse(role.role.engine.args)}


def _value(written: Mapping[str, Flag], name: str) -> str | None:
    flag = written.get(name)
    return None if flag is None else flag.value


def _is_on(role: RoleContext, name: str) -> bool:
    flag = _flags(role).get(name)
    return flag is not None and flag.name == name


def _mentions(role: RoleContext, name: str, word: str) -> bool:
    """Tell whether a flag with a JSON value, written whole or in pieces, mentions a word."""
    written = (flag for flag in flags.parse(role.role.engine.args) if flag.name.partition(".")[0] == name)
    return any(word in (flag.value or "") for flag in written)


def _is_set(role: RoleContext, variable: str) -> bool:
    """Tell whether the user sets a variable to anything but off. A reference to another object counts as set."""
    return role.role.engine.env.get(variable, "") not in _OFF


def _family(role: RoleContext) -> str | None:
    """Return the family of the model; None if it is unknown."""
    source = served.source_of(role.variant.spec.model)
    return None if isinstance(source, Unknown) else source.architecture.family


def _is_named(role: RoleContext, words: Iterable[str]) -> bool:
    """Tell whether one of the words is a whole word in the name of the model."""
    model = role.variant.spec.model
    name = (served_name(model.name, model.source) or "").lower()
    return any(re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z])", name) for word in words)


PREDICATES: Mapping[str, Callable[[RoleContext, Advisory], bool]] = {
    "answers-requests": _answers_requests,
    "generates-text": _generates_text,
    "pools": _pools,
    "accepts-media": _accepts_media,
    "accepts-audio": _accepts_audio,
    "trusts-remote-code": _trusts_remote_code,
    "loads-changing-repository": _loads_changing_repository,
    "loads-gguf": _loads_gguf,
    "takes-prompt-embeddings": _takes_prompt_embeddings,
    "requires-key": _requires_key,
    "transfers-cache": _transfers_cache,
    "spans-pods": _spans_pods,
    "serves-model": _serves_model,
    "parses-pythonic-tools": _parses_pythonic_tools,
    "parses-qwen3-coder-tools": _parses_qwen3_coder_tools,
    "calls-tools": _calls_tools,
    "extracts-hidden-states": _extracts_hidden_states,
    "enforces-formats-by-lm-format-enforcer": _enforces_formats_by_lm_format_enforcer,
    "optimises-python": _optimises_python,
    "uses-rust-frontend": _uses_rust_frontend,
}
"""The predicates by the names of the conditions."""
