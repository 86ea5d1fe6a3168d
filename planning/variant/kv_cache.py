"""The KV cache of a variant, as far as engine, routing sidecar, picker and network policies have to agree about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from models.service import Variant
from models.source import served_name
from planning.releases import Release

BLOCK_SIZE = 64
"""Tokens in one block where several parts have to agree, as llm-d's guides have it."""
_EVENT_READERS = frozenset({"precise-prefix-cache-producer", "precise-prefix-cache-scorer"})
"""Types of picker plugins that read what engines publish."""


@dataclass(frozen=True, slots=True)
class KvCache:
    """What is decided about the cache of a variant's engines."""

    block_size: int | None
    """Tokens in one block where roles or picker have to agree; absent: the engine's own choice."""
    events_port: int
    """Port that engines of the release publish cache events on."""
    events: Mapping[str, bool | str] | None
    """How the engine publishes cache events (`--kv-events-config`); absent: it publishes none."""
    transfer: Mapping[str, str] | None
    """How roles exchange the cache (`--kv-transfer-config`); absent: there is one role, or the connector is unknown."""


def plan(spec: Variant, release: Release) -> KvCache:
    """Decide the cache of a variant's engines."""
    endpoint = str(release.engine.kv_events["endpoint"])
    publishes = spec.kv_cache.events or needs_events(spec)
    return KvCache(
        block_size=block_size(spec),
        events_port=int(endpoint.rpartition(":")[2]),
        events=_events(spec, release) if publishes else None,
        transfer=None if spec.prefill is None else release.engine.kv_transfer.get(spec.kv_cache.connector),
    )


def block_size(spec: Variant) -> int | None:
    """Return the tokens in one block where roles or picker have to agree about it; nothing where they need not."""
    agreed = spec.prefill is not None or needs_events(spec)
    return spec.kv_cache.block_size or (BLOCK_SIZE if agreed else None)


def needs_events(spec: Variant) -> bool:
    """Say whether the picker reads what engines publish about their cache, so that they have to."""
    picker = spec.endpoint_picker
    if picker.preset != "custom":
        return picker.preset == "precise-prefix-cache"
    plugins = (picker.config or {}).get("plugins")
    declared = cast("list[object]", plugins) if isinstance(plugins, list) else []
    return any(_type(plugin) in _EVENT_READERS for plugin in declared)


def _type(plugin: object) -> str | None:
    """Return the type of a declared plugin; nothing where it has none."""
    kind = cast("dict[str, Any]", plugin).get("type") if isinstance(plugin, dict) else None
    return kind if isinstance(kind, str) else None


def _events(spec: Variant, release: Release) -> dict[str, bool | str]:
    """Return how the engine publishes; the topic names the pod as the picker knows it."""
    values = {"port": spec.engine.port, "model": served_name(spec.model.name, spec.model.source)}
    return {
        key: value.format_map(values) if isinstance(value, str) else value
        for key, value in release.engine.kv_events.items()
    }
