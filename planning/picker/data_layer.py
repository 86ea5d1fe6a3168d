"""Checks of data that plugins of an endpoint picker exchange, and of sources that read metrics and events of pods.

The checks follow llm-d-router: `CreateMissingDataProducers` and `Runtime.Configure` in pkg/epp/datalayer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from planning.picker import value_combinations
from planning.picker.graph import UNKNOWN, DeclaredPlugin, Graph, mappings
from planning.picker.value_combinations import DemandScope
from planning.releases.picker_facts import PickerFacts
from planning.releases.plugins import Consumption, Data, Plugin

_OBJECTS = "objects"
"""Value of `Plugin.emits` for a source that watches objects of the API server."""


def data(graph: Graph, facts: PickerFacts) -> Iterator[Problem]:
    """Yield a problem for each plugin that needs data which no plugin produces.

    Producers that the picker adds to the configuration count, too.
    """
    produced = {(kind, plugin.name) for plugin in graph.plugins for kind in plugin.facts.produces}
    kinds = {kind for kind, _ in produced}
    for plugin in graph.plugins:
        for consumed in _consumptions(plugin.facts, plugin.parameters):
            known = facts.plugins.data[consumed.data]
            name = _name_of_producer(plugin, consumed, known)
            is_produced = (consumed.data, name) in produced
            if known.unnamed:
                is_produced = consumed.data in kinds
            is_added = name == known.producer and (known.created or name in graph.added)
            if not is_produced and not is_added:
                yield _missing(plugin, consumed, known, name)


def sources(graph: Graph, facts: PickerFacts) -> Iterator[Problem]:
    """Yield every problem of `dataLayer.sources`."""
    section = graph.config.get("dataLayer")
    adds = facts.config.adds
    if adds is None or not (section is None or isinstance(section, dict)):
        return
    layer = cast("dict[str, Any]", section or {})
    at = graph.path / "dataLayer" / "sources"
    listed = list(mappings(layer.get("sources")))
    seen = set[str]()
    kinds = set[tuple[object, ...]]()
    for index, item in listed:
        source = _facts(graph, item.get("pluginRef"), facts)
        if source.emits is None:
            continue
        name = str(item.get("pluginRef"))
        if name in seen and not source.repeatable:
            yield Problem(at / index / "pluginRef", f"is listed twice ({name})", "keep one of them")
        seen.add(name)
        yield from _repeated_kind(graph, at / index / "pluginRef", name, kinds)
        yield from _extractors(graph, at / index / "extractors", item, source, facts)
    brings = any(plugin.facts.registers_source for plugin in graph.plugins)
    if listed or brings or adds.source in graph.defaults or _adds_source(graph, facts):
        return
    if adds.replaces_section:
        yield Problem(at, "is missing", "add a data source, or remove dataLayer")
    else:
        yield Problem(at, "is missing, and injectDefaults is false", "add a data source, or remove injectDefaults")


def _consumptions(facts: Plugin, parameters: Mapping[str, Any]) -> Iterator[Consumption]:
    """Yield the kinds of data that a plugin with these parameters consumes."""
    scope = DemandScope(Path(), parameters, facts.defaults)
    for consumed in facts.consumes:
        if all(value_combinations.holds(condition, scope, otherwise=False) for condition in consumed.when):
            yield consumed


def _name_of_producer(plugin: DeclaredPlugin, consumed: Consumption, known: Data) -> str:
    name = plugin.parameter(consumed.producer or "")
    if isinstance(name, str) and name:
        return name
    return known.producer


def _missing(plugin: DeclaredPlugin, consumed: Consumption, known: Data, name: str) -> Problem:
    is_named = consumed.producer is not None and bool(plugin.parameter(consumed.producer))
    if is_named:
        at = plugin.place(cast("str", consumed.producer))
        return Problem(at, f"names no plugin that produces {known.noun} ({name})", "name such a plugin, or remove it")
    what = f"needs {known.noun}, which no plugin called {name} produces ({plugin.type})"
    return Problem(plugin.at / "type", what, f"declare {known.producer} under plugins")


def _repeated_kind(graph: Graph, at: Path, name: str, kinds: set[tuple[object, ...]]) -> Iterator[Problem]:
    """Reject a second source that watches the same kind of objects."""
    declared = graph.find(name)
    if declared is None or declared.facts.emits != _OBJECTS:
        return
    kind = tuple(declared.parameter(key) or "" for key in ("group", "version", "kind"))
    if kind in kinds:
        yield Problem(at, f"watches the same objects as an earlier source ({name})", "keep one of them")
    kinds.add(kind)


def _adds_source(graph: Graph, facts: PickerFacts) -> bool:
    """Tell whether the picker adds a producer that registers a data source."""
    table = facts.plugins.table
    seen = set[str]()
    pending = [(plugin.facts, plugin.parameters) for plugin in graph.plugins]
    while pending:
        for consumed in _consumptions(*pending.pop()):
            known = facts.plugins.data[consumed.data]
            if known.created and known.producer not in seen:
                seen.add(known.producer)
                pending.append((table[known.producer], {}))
    return any(table[name].registers_source for name in seen)


def _facts(graph: Graph, name: object, facts: PickerFacts) -> Plugin:
    """Return the facts about the plugin `name`, declared or added by the picker; `UNKNOWN` for any other plugin."""
    text = str(name)
    if graph.find(text) is None and text not in graph.added:
        return UNKNOWN
    return graph.facts_of(text, facts)


def _extractors(
    graph: Graph, at: Path, item: Mapping[str, Any], source: Plugin, facts: PickerFacts
) -> Iterator[Problem]:
    types = set[str]()
    for index, entry in mappings(item.get("extractors")):
        name = str(entry.get("pluginRef"))
        extractor = _facts(graph, name, facts)
        if "extractor" not in extractor.groups:
            continue
        declared = graph.find(name)
        kind = name
        if declared is not None:
            kind = declared.type
        here = at / index / "pluginRef"
        if source.emits not in extractor.extracts:
            yield Problem(here, f"cannot read from {item.get('pluginRef')} ({name})", "list it under another source")
        elif kind in types and not extractor.repeatable:
            yield Problem(here, f"is a second {kind} at one source ({name})", "keep one of them")
        types.add(kind)
