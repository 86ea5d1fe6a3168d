"""Mistakes in a configuration with which an endpoint picker does not start, or does not become ready.

The checks follow llm-d-router: `LoadRawConfig` and `InstantiateAndConfigure` in pkg/epp/config/loader, then `setup` and
the health server in cmd/epp/runner. Facts that depend on the release are in the release's table.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from models.paths import Path
from models.problems import Problem
from models.trees import sequence
from planning.picker import value_combinations, value_shapes
from planning.picker.data_layer import data, sources
from planning.picker.graph import (
    FLOW_CONTROL,
    HEADER,
    KIND,
    UNKNOWN,
    DeclaredPlugin,
    Graph,
    feature_gates,
)
from planning.picker.plugin_words import SCHEDULING, example, with_article
from planning.picker.value_combinations import DemandScope
from planning.picker.value_shapes import PluginReference, Reading
from planning.releases import Release, channel, channels, departures
from planning.releases.picker_facts import ConfigFacts, PickerFacts
from planning.releases.plugins import Plugin

_GATE_VALUES = frozenset({"0", "1", "f", "false", "t", "true"})


@dataclass(frozen=True, slots=True)
class LoaderSetting:
    """Facts that a picker's configuration does not contain: the release, and settings of the picker and its pool."""

    release: Release
    flow_control: bool = False
    """Whether the section `flowControl` turns on the feature gate of that name, as it does in a stack."""
    allows_experimental: bool = True
    """Whether the picker loads alpha plugins."""
    app_protocol: str | None = None
    """appProtocol of the pool. None if it is unknown."""

    @property
    def facts(self) -> PickerFacts:
        """Return the facts of the release about its picker."""
        return self.release.picker


def problems(graph: Graph, setting: LoaderSetting) -> list[Problem]:
    """Return every mistake because of which a picker with this configuration would not serve."""
    return list(chain.from_iterable(check(graph, setting) for check in _CHECKS))


def unknown(at: Path, name: str, release: Release) -> Problem:
    """Return the problem of a plugin type that the release does not have."""
    others = [other for other in channels() if name in channel(other).picker.plugins.table]
    likely = value_shapes.suggestion(name, release.picker.plugins.table)
    change_release = None
    if others:
        change_release = f"remove it, or choose a release that has it: {', '.join(others)}"
    return Problem(at, f"is not in {release.name} ({name})", change_release or likely or "remove it")


def wrong_group(reference: PluginReference, plugin: Plugin, table: Mapping[str, Plugin]) -> Problem:
    """Return the problem of a reference to a plugin of the wrong group."""
    expected = "a filter, scorer or picker"
    if len(reference.groups) == 1:
        expected = with_article(reference.groups[0])
    if set(reference.groups) >= SCHEDULING:
        remedy = "remove the entry; the plugin works without a place in a profile"
    else:
        remedy = f"name {expected}{example(table, reference.groups)}"
    return Problem(reference.path, f"is {with_article(plugin.groups[0])} and not {expected} ({reference.name})", remedy)


def gate_is_on(graph: Graph, setting: LoaderSetting, gate: str) -> bool:
    """Tell whether a feature gate is on.

    If `featureGates` has no entry for the gate `flowControl`, the section `flowControl` turns the gate on, provided
    that `setting.flow_control` is true.
    """
    follows = setting.flow_control and gate == FLOW_CONTROL and graph.config.get(gate) is not None
    return feature_gates(graph.config).get(gate, follows)


def is_ignored(graph: Graph, setting: LoaderSetting, path: Path) -> bool:
    """Tell whether the picker ignores a path of its configuration.

    If the gate `flowControl` is off, the picker reads only `saturationDetector` in the section `flowControl`.
    """
    below = path
    if path.is_within(graph.path):
        below = path.below(graph.path)
    return (
        below[:1] == (FLOW_CONTROL,)
        and below[1:2] != ("saturationDetector",)
        and not gate_is_on(graph, setting, FLOW_CONTROL)
    )


def _header(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Check the keys in `HEADER` that are present. In a stack, this program adds these keys to the configuration."""
    facts = setting.facts.config
    version, kind = (graph.config.get(key) for key in HEADER)
    known = [facts.api_version, *facts.deprecated_api_versions]
    if version not in (None, "", *known):
        what = f"is not read by {departures.picker_name(setting.release)} ({version})"
        yield Problem(graph.path / "apiVersion", what, f"write {facts.api_version}")
    if kind not in (None, "", KIND):
        yield Problem(graph.path / "kind", f"is not {KIND}", f"write {KIND}")


def _shape(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    facts = setting.facts.config
    shape = {**dict.fromkeys(facts.deprecated, "any"), **facts.shape}
    if FLOW_CONTROL in shape and not gate_is_on(graph, setting, FLOW_CONTROL):
        shape[FLOW_CONTROL] = value_shapes.without_constraints(shape[FLOW_CONTROL])
    written = {key: value for key, value in graph.config.items() if key not in HEADER}
    yield from value_shapes.problems(Reading(graph.path), written, shape)


def _types(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    for plugin in graph.plugins:
        if plugin.facts is UNKNOWN and plugin.type:
            yield unknown(plugin.at / "type", plugin.type, setting.release)


def _names(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    """Check that names of plugins differ, and that a plugin whose name the picker looks up is in the expected group."""
    seen = set[str]()
    types = set[str]()
    expected = graph.defaults
    for plugin in graph.plugins:
        at = plugin.at / "type"
        if plugin.named:
            at = plugin.at / "name"
        if plugin.name in seen:
            yield Problem(at, f"is the name of an earlier plugin ({plugin.name})", "give one of them another name")
        elif plugin.groups and expected.get(plugin.name, plugin.groups[0]) not in plugin.groups:
            what = f"is the name by which the picker looks for {with_article(expected[plugin.name])} ({plugin.name})"
            yield Problem(at, what, "give it another name")
        if plugin.facts.once and plugin.type in types:
            yield Problem(plugin.at / "type", f"can be declared only once ({plugin.type})", "keep one of them")
        seen.add(plugin.name)
        types.add(plugin.type)


def _conflicts(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    types = {plugin.type for plugin in graph.plugins}
    for plugin in graph.plugins:
        for other in sorted(types.intersection(plugin.facts.conflicts)):
            yield Problem(plugin.at / "type", f"cannot be declared beside {other} ({plugin.type})", "keep one of them")


def _parameters(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    names = {plugin.name for plugin in graph.plugins}
    for plugin in graph.plugins:
        if plugin.shape is None or plugin.facts.ignores_parameters:
            continue
        reading = Reading(plugin.at / "parameters", f"parameter of {plugin.type}", folds=True)
        written = plugin.written
        if written is None:
            written = dict[str, object]()
        shape = value_shapes.with_other_keys(plugin.shape) if setting.facts.plugins.ignores_unknown else plugin.shape
        problems = list(value_shapes.problems(reading, written, shape))
        scope = DemandScope(plugin.at / "parameters", plugin.parameters, plugin.facts.defaults, names)
        seen = {problem.path for problem in problems}
        yield from problems
        if all(path != reading.path for path in seen):
            combinations = value_combinations.problems(scope, plugin.facts.rules)
            yield from (problem for problem in combinations if problem.path not in seen)


def _references(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Check that every reference names a plugin whose group is allowed at the place of the reference."""
    table = setting.facts.plugins.table
    for reference in graph.references:
        if not reference.is_checked or is_ignored(graph, setting, reference.path):
            continue
        declared = graph.find(reference.name)
        plugin = graph.facts_of(reference.name, setting.facts)
        if declared is None and reference.name not in graph.added:
            yield _missing_plugin(graph, reference, table)
            continue
        is_allowed = set(reference.groups) >= SCHEDULING or "any" in reference.groups
        if plugin.groups and not is_allowed and not set(plugin.groups) & set(reference.groups):
            yield wrong_group(reference, plugin, table)
        if declared is not None and setting.facts.config.ordered:
            yield from _declaration_order(graph, reference, declared)


def _missing_plugin(graph: Graph, reference: PluginReference, table: Mapping[str, Plugin]) -> Problem:
    is_known = reference.name in table
    likely = value_shapes.suggestion(reference.name, {plugin.name for plugin in graph.plugins} | graph.added)
    remedy = "declare it under plugins"
    if not is_known:
        remedy = likely or "declare it under plugins"
    return Problem(reference.path, f"names no plugin ({reference.name})", remedy)


def _declaration_order(graph: Graph, reference: PluginReference, declared: DeclaredPlugin) -> Iterator[Problem]:
    """Reject a reference from a plugin's parameters to a later plugin. The picker creates plugins in declared order."""
    referrers = [index for index, plugin in enumerate(graph.plugins) if reference.path.is_within(plugin.at)]
    if referrers and graph.plugins.index(declared) > referrers[0]:
        yield Problem(reference.path, f"names a plugin that is declared later ({declared.name})", "declare it first")


def _profiles(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    """Check that names of profiles differ, and that no profile has several pickers."""
    names = set[str]()
    for profile in graph.profiles:
        if profile.name in names:
            yield Problem(profile.at / "name", f"is an earlier profile's name ({profile.name})", "give it another name")
        names.add(profile.name)
        pickers = [entry for entry in profile.entries if "picker" in entry.groups]
        for entry in pickers[1:]:
            name = cast("DeclaredPlugin", entry.plugin).name
            yield Problem(entry.at, f"is a second picker in one profile ({name})", "keep one of them")
    if not graph.profiles:
        for plugin in [plugin for plugin in graph.plugins if "picker" in plugin.groups][1:]:
            what = f"is a second picker, and a configuration without profiles uses all pickers ({plugin.name})"
            yield Problem(plugin.at, what, "keep one of them, or write schedulingProfiles")


def _handlers(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    count = len(graph.profiles)
    handlers = graph.handlers
    several = next((name for name, plugin in setting.facts.plugins.table.items() if _takes_several(plugin)), None)
    if not handlers and count > 1:
        remedy = "keep one profile"
        if several:
            remedy = f"add a profile handler, such as {several}"
        yield Problem(graph.path / "plugins", f"has no profile handler for {count} profiles", remedy)
    for handler in handlers[1:]:
        what = f"is a second profile handler beside {handlers[0].name} ({handler.name})"
        yield Problem(handler.at / "type", what, "keep one of them")
    for handler in handlers[:1]:
        if handler.facts.handler is not None and handler.facts.handler.single and count > 1:
            remedy = "keep one profile"
            if several:
                remedy = f"keep one profile, or use {several}"
            yield Problem(handler.at / "type", f"takes only one of {count} profiles ({handler.type})", remedy)


def _takes_several(plugin: Plugin) -> bool:
    handler = plugin.handler
    return handler is not None and bool(handler.decider_parameters) and plugin.deprecated is None


def _gates(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    facts: ConfigFacts = setting.facts.config
    for index, gate in enumerate(sequence(graph.config.get("featureGates"))):
        if gate is not None and not isinstance(gate, str):
            continue
        name = gate or ""
        separator = value = ""
        if facts.gates_take_values:
            name, separator, value = name.partition("=")
        at = graph.path / "featureGates" / index
        if name not in facts.gates:
            remedy = value_shapes.suggestion(name, facts.gates) or f"known: {', '.join(facts.gates)}"
            yield Problem(at, f"is no feature gate of {setting.release.name} ({name})", remedy)
        elif separator and value.partition("=")[0].strip().lower() not in _GATE_VALUES:
            yield Problem(at, f"is neither on nor off ({name})", f"write {name} or {name}=false")
    for section, gate in facts.gated.items():
        if section in graph.config and not feature_gates(graph.config).get(gate):
            yield Problem(graph.path / section, f"is refused while {gate} is off", f"add {gate} to featureGates")


def _gated_rules(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    scope = DemandScope(graph.path, graph.config, {})
    for gate, rules in setting.facts.config.gated_rules.items():
        if gate_is_on(graph, setting, gate):
            yield from value_combinations.problems(scope, rules)


def _data(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    yield from data(graph, setting.facts)
    yield from sources(graph, setting.facts)


def _protocols(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Reject a parser that does not take the protocol of the pool. With it, the picker never becomes healthy.

    If the configuration makes the picker discover pods without a pool, there is no protocol to check.
    """
    section = graph.config.get("dataLayer")
    is_discovered = isinstance(section, dict) and cast("dict[str, Any]", section).get("discovery") is not None
    if setting.app_protocol is None or is_discovered:
        return
    for reference, plugin in graph.parsers:
        if plugin.protocols and setting.app_protocol not in plugin.protocols:
            what = f"does not take {setting.app_protocol}, the pool's protocol ({reference.name})"
            remedy = f"use another parser, or a pool with appProtocol {' or '.join(plugin.protocols)}"
            yield Problem(reference.path, what, remedy)


def _stability(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    flag = setting.facts.flags.experimental
    if setting.allows_experimental or flag is None:
        return
    for plugin in graph.plugins:
        if plugin.facts.stability == "alpha":
            yield Problem(plugin.at / "type", f"is experimental ({plugin.type})", f"start the picker with {flag}")


_CHECKS: Collection[Callable[[Graph, LoaderSetting], Iterator[Problem]]] = (
    _header,
    _shape,
    _types,
    _conflicts,
    _parameters,
    _references,
    _handlers,
    _gates,
    _gated_rules,
    _data,
    _protocols,
    _stability,
    _names,
    _profiles,
)
