"""KV cache settings of a variant. Engine, routing sidecar, picker and network policies must agree on these settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from models.service import Variant
from models.source import served_name
from planning.ground import environment
from planning.releases import Release, engine_kinds

BLOCK_SIZE = 64
"""Tokens in a block if the user sets no number, and several components must agree on it. llm-d's guides have the same
number."""
_EVENT_READERS = frozenset({"precise-prefix-cache-producer", "precise-prefix-cache-scorer"})
"""Types of picker plugins that read cache events: events about the KV cache, which engines publish."""


@dataclass(frozen=True, slots=True)
class KvCacheSettings:
    """The KV cache settings of a variant's engines."""

    has_reader: bool
    """Whether the picker reads cache events. If it does, the engines must publish cache events."""
    block_size: int | None
    """Tokens in a block; None for vLLM's default."""
    events_port: int
    """Port on which engines publish cache events, from the release facts."""
    events: Mapping[str, bool | str] | None
    """Value of `--kv-events-config`; None if the engine publishes no cache events."""
    connector: str | None
    """Protocol between sidecar and engines; None if the user has to choose it."""
    transfer: Mapping[str, str] | None
    """Value of `--kv-transfer-config`; None if the variant has no prefill, or the release lacks the connector."""


def plan(spec: Variant, release: Release) -> KvCacheSettings:
    """Return the KV cache settings of a variant's engines."""
    endpoint = str(release.engine.kv_events["endpoint"])
    has_reader = _has_reader(spec)
    publishes = spec.kv_cache.events or has_reader
    return KvCacheSettings(
        has_reader=has_reader,
        block_size=_block_size(spec, has_reader=has_reader),
        events_port=int(endpoint.rpartition(":")[2]),
        events=_events(spec, release) if publishes else None,
        connector=engine_kinds.connector(spec),
        transfer=_transfer(spec, release),
    )


def _transfer(spec: Variant, release: Release) -> Mapping[str, str] | None:
    connector = engine_kinds.connector(spec)
    if spec.prefill is None or connector is None or not engine_kinds.of(spec, spec).vllm_tables:
        return None
    return release.engine.kv_transfer.get(connector)


def _block_size(spec: Variant, *, has_reader: bool) -> int | None:
    """Return the number of tokens in a block: the user's number, else `BLOCK_SIZE` if several components must agree.

    None if the user sets no number, and only the engine needs it. The engine then uses its default.
    """
    agrees = spec.prefill is not None and engine_kinds.of(spec, spec).vllm_tables
    if spec.kv_cache.block_size is None and (agrees or has_reader):
        return BLOCK_SIZE
    return spec.kv_cache.tokens_per_block


def _has_reader(spec: Variant) -> bool:
    picker = spec.endpoint_picker
    if not picker.enabled:
        return False
    if picker.preset != "custom":
        return picker.preset == "precise-prefix-cache"
    plugins = (picker.config or {}).get("plugins")
    declared = cast("list[object]", plugins) if isinstance(plugins, list) else []
    return any(_type(plugin) in _EVENT_READERS for plugin in declared)


def _type(plugin: object) -> str | None:
    """Return the type of a declared plugin, or None if it has none."""
    plugin_type = cast("dict[str, Any]", plugin).get("type") if isinstance(plugin, dict) else None
    if isinstance(plugin_type, str):
        return plugin_type
    return None


def _events(spec: Variant, release: Release) -> dict[str, bool | str]:
    """Return the release's value of `--kv-events-config`, with the port and the model in place of the names in braces.

    Keys that the kind of engine does not know are left out.

    The topic of each event contains the pod's IP, the port and the model. So the picker knows which pod sent an event.
    """
    name = served_name(spec.model.name, spec.model.source)
    known = engine_kinds.of(spec, spec).events
    values = {"port": spec.engine.port, "model": None if name is None else environment.literal(name)}
    return {
        key: value.format_map(values) if isinstance(value, str) else value
        for key, value in release.engine.kv_events.items()
        if known is None or key in known.keys
    }
