"""Mistakes that an endpoint picker accepts in its configuration.

`REASONS` names every reason for which this program refuses such a configuration; docs/picker-lint.md explains them.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import cast

from models.paths import Path
from models.problems import Problem
from planning.picker import value_combinations, value_shapes
from planning.picker.graph import FLOW_CONTROL, DeclaredPlugin, Graph, ProfileEntry, SchedulingProfile, feature_gates
from planning.picker.plugin_words import PRODUCER, SCHEDULING, example, with_article
from planning.picker.start_mistakes import LoaderSetting, gate_is_on, wrong_group
from planning.picker.value_combinations import DemandScope
from planning.picker.value_shapes import Reading
from planning.releases.plugins import Handler, Need, Plugin


def _empty(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    if not graph.plugins and not isinstance(graph.config.get("plugins"), list):
        yield Problem(graph.path / "plugins", "is missing", "declare plugins: a list of {type: …}")


def _misplaced_entries(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Yield profile entries whose plugins have no place in profiles, and weights of plugins that are no scorers.

    Entries of producers are no mistake: pickers pass them over, and llm-d's guides have such entries. `lint` warns of
    them.
    """
    table = setting.facts.plugins.table
    for reference in graph.references:
        declared = graph.find(reference.name)
        if declared is None or not declared.groups or PRODUCER in declared.groups:
            continue
        facts = declared.facts
        if set(reference.groups) >= SCHEDULING and not set(facts.groups) & SCHEDULING:
            yield wrong_group(reference, facts, table)
    for entry, declared in _entries(graph):
        if value_shapes.fits(entry.weight, "number") and declared.groups and "scorer" not in declared.groups:
            what = f"has an effect on scorers only ({declared.name} is {with_article(declared.groups[0])})"
            yield Problem(entry.at / "weight", what, "remove it")


def _weightless(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    for entry, declared in _entries(graph):
        weight = entry.weight
        is_scorer = not declared.groups or "scorer" in declared.groups
        if is_scorer and value_shapes.fits(weight, "number") and not 0 < cast("float", weight) < math.inf:
            remedy = "write a number above 0, or remove the scorer"
            yield Problem(entry.at / "weight", f"is not above 0 ({weight})", remedy)


def _duplicates(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    for profile in graph.profiles:
        seen = set[str]()
        for entry in profile.entries:
            if entry.plugin is None or "picker" in entry.groups:
                continue
            if entry.plugin.name in seen:
                what = f"is listed twice in one profile ({entry.plugin.name})"
                yield Problem(entry.at, what, "remove one of them")
            seen.add(entry.plugin.name)


def _ignored_section(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Yield the section `flowControl` if the configuration switches the feature gate `flowControl` off."""
    is_off = feature_gates(graph.config).get(FLOW_CONTROL) is False
    if is_off and ignored_keys(graph, setting):
        what = "has no effect while its feature gate is off (flowControl=false)"
        follows = ""
        if setting.flow_control:
            follows = " (then the section turns the gate on)"
        remedy = f"remove the gate from featureGates{follows}, or remove the section"
        yield Problem(graph.path / FLOW_CONTROL, what, remedy)


def _ineffective_settings(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    yield from _ignored_section(graph, setting)
    if setting.facts.plugins.ignores_unknown:
        yield from _unknown_parameters(graph)


def _unknown_parameters(graph: Graph) -> Iterator[Problem]:
    """Yield parameters that plugins do not have."""
    for plugin in graph.plugins:
        if plugin.shape is None or plugin.facts.ignores_parameters:
            continue
        reading = Reading(plugin.at / "parameters", f"parameter of {plugin.type}", folds=True)
        refused = set(value_shapes.problems(reading, plugin.written, value_shapes.with_other_keys(plugin.shape)))
        problems = value_shapes.problems(reading, plugin.written, plugin.shape)
        yield from (problem for problem in problems if problem not in refused)


def ignored_keys(graph: Graph, setting: LoaderSetting) -> list[str]:
    """Return the keys of the section `flowControl` that the picker ignores because the feature gate is off."""
    section = graph.config.get(FLOW_CONTROL)
    if not isinstance(section, dict) or FLOW_CONTROL not in setting.facts.config.gates:
        return []
    keys = [key for key in cast("dict[str, object]", section) if key != "saturationDetector"]
    if gate_is_on(graph, setting, FLOW_CONTROL):
        return []
    return keys


def _ineffective(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Yield plugins whose required plugin, parameter or feature gate is missing, and names that no plugin has."""
    enabled_gates = {name for name, value in feature_gates(graph.config).items() if value}
    for plugin in graph.plugins:
        for kind, need in plugin.facts.requires.items():
            if need.unless is None or not plugin.parameter(need.unless):
                yield from _required_plugin(graph, plugin, kind, need)
        for gate in sorted(set(plugin.facts.gates) - enabled_gates):
            what = f"has no {gate}, which {plugin.type} needs"
            yield Problem(graph.path / "featureGates", what, "add it")
    for reference in graph.references:
        is_known = graph.find(reference.name) is not None or reference.name in setting.facts.plugins.table
        if not (reference.is_checked or is_known or _is_reported(graph, reference.path)):
            yield Problem(
                reference.path, f"names no plugin ({reference.name})", "declare it under plugins, or remove it"
            )


def _is_reported(graph: Graph, path: Path) -> bool:
    """Tell whether a path holds the name of a producer whose data a plugin needs. `data_layer` checks such names."""
    for plugin in graph.plugins:
        if path.is_within(plugin.at):
            scope = DemandScope(plugin.at / "parameters", plugin.parameters, plugin.facts.defaults)
            return any(
                consumed.producer is not None
                and plugin.place(consumed.producer) == path
                and all(value_combinations.holds(condition, scope, otherwise=False) for condition in consumed.when)
                for consumed in plugin.facts.consumes
            )
    return False


def _required_plugin(graph: Graph, plugin: DeclaredPlugin, required: str, need: Need) -> Iterator[Problem]:
    """Yield a plugin that is required and missing, and parameters that it lacks.

    A producer without such a plugin produces nothing, and the picker works without its data. Values files of llm-d's
    guides have such producers, so this is a warning.
    """
    declared = [other for other in graph.plugins if other.type == required]
    if not declared:
        what = f"needs {required}, which is not declared ({plugin.type})"
        problem = Problem(plugin.at / "type", what, "declare it under plugins")
        if PRODUCER in plugin.groups:
            problem = replace(problem, severity="warning")
        yield problem
    for key in need.parameters:
        if declared and not any(other.parameter(key) for other in declared):
            yield Problem(declared[0].place(key), f"is missing, and {plugin.type} needs it", "add it")


def _one_profile(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    for declared in graph.handlers[:1]:
        handler = declared.facts.handler
        if handler is not None and handler.takes_one and len(graph.profiles) > 1:
            what = f"takes only one of {len(graph.profiles)} profiles ({declared.type})"
            yield Problem(declared.at / "type", what, "keep one profile")


def _without_prefill(graph: Graph, setting: LoaderSetting) -> Iterator[Problem]:
    """Yield profile handlers that look for a profile that is missing, or never use the profile for prefill pods."""
    for declared in graph.handlers[:1]:
        handler = declared.facts.handler
        if handler is not None and handler.decider_parameters:
            has_prefill = any(profile.is_for("prefill") for profile in graph.profiles)
            yield from _decider(graph, declared, handler, setting.facts.plugins.table, has_prefill=has_prefill)
            yield from _profiles_of_roles(graph, declared, handler)


def _decider(
    graph: Graph, declared: DeclaredPlugin, handler: Handler, table: Mapping[str, Plugin], *, has_prefill: bool
) -> Iterator[Problem]:
    if not has_prefill or _needs_no_decider(declared, handler):
        return
    keys = [key for key in handler.decider_parameters if declared.parameter(key)]
    if not keys and any(declared.parameter(key) for key in handler.other_deciders):
        return
    if not keys and handler.default_decider is None:
        what = f"never asks prefill pods (no {handler.decider_parameters[0]})"
        yield Problem(declared.at / "parameters", what, f"name a decider{example(table, ['decider'])}")
        return
    name = handler.default_decider or ""
    if keys:
        name = str(declared.parameter(keys[0]))
    decider = graph.find(name)
    if decider is None and not keys:
        what = f"names no decider, and the default decider is not declared ({name})"
        yield Problem(declared.at / "parameters", what, "declare it under plugins")
    elif decider is not None:
        scope = DemandScope(decider.at / "parameters", decider.parameters, decider.facts.defaults)
        for condition in decider.facts.never_prefills:
            if value_combinations.holds(condition, scope, otherwise=False):
                what = f"never lets a request use prefill ({decider.name})"
                yield Problem(decider.place(condition.at), what, "write a number above 0")


def _needs_no_decider(declared: DeclaredPlugin, handler: Handler) -> bool:
    values = ((declared.parameter(key), value) for key, value in handler.without_decider.items())
    return any(
        isinstance(written, str) and written and value_shapes.fold(value).startswith(value_shapes.fold(written))
        for written, value in values
    )


def _profiles_of_roles(graph: Graph, declared: DeclaredPlugin, handler: Handler) -> Iterator[Problem]:
    names = {profile.name for profile in graph.profiles}
    asks_prefill = _needs_no_decider(declared, handler) or handler.default_decider is not None
    asks_prefill |= any(declared.parameter(key) for key in handler.decider_parameters)
    for role, keys in handler.profiles.items():
        name = next((value for key in keys if (value := declared.parameter(key))), role)
        if graph.profiles and name not in names and (role == "decode" or asks_prefill):
            what = f"has no profile called {name}, which {declared.type} looks for"
            remedy = f"add it, or name another profile in the parameters of {declared.type}"
            yield Problem(graph.path / "schedulingProfiles", what, remedy)


def _other_roles(graph: Graph, _: LoaderSetting) -> Iterator[Problem]:
    """Yield filters that select pods of another role than the role of their profile."""
    for declared in graph.handlers[:1]:
        if declared.facts.handler is None:
            continue
        for role, keys in declared.facts.handler.profiles.items():
            name = next((value for key in keys if (value := declared.parameter(key))), role)
            for profile in graph.profiles:
                if profile.name == name:
                    yield from _filters_of_other_roles(profile, role)


def _filters_of_other_roles(profile: SchedulingProfile, role: str) -> Iterator[Problem]:
    for entry in profile.entries:
        plugin = entry.plugin
        if plugin is not None and plugin.facts.role not in (None, role):
            what = f"selects {plugin.facts.role} pods in the profile of {role} pods ({plugin.name})"
            yield Problem(entry.at, what, f"use {role}-filter")


def _entries(graph: Graph) -> Iterator[tuple[ProfileEntry, DeclaredPlugin]]:
    """Yield each entry of a profile that has a weight and names a declared plugin, together with this plugin."""
    for profile in graph.profiles:
        for entry in profile.entries:
            if entry.plugin is not None and entry.weight is not None:
                yield entry, entry.plugin


REASONS: dict[str, Callable[[Graph, LoaderSetting], Iterator[Problem]]] = {
    "declares no plugins": _empty,
    "no place there": _misplaced_entries,
    "no weight": _weightless,
    "stands twice": _duplicates,
    "read and not used": _ineffective_settings,
    "does nothing alone": _ineffective,
    "takes one profile": _one_profile,
    "never asks prefill pods": _without_prefill,
    "selects pods of another role": _other_roles,
}
"""Checks by reason. Each check refuses configurations that the picker accepts."""


def problems(graph: Graph, setting: LoaderSetting) -> Iterator[tuple[str, Problem]]:
    """Yield the mistakes that the picker accepts in a configuration, each with its reason. Some are warnings."""
    for reason, check in REASONS.items():
        for problem in check(graph, setting):
            yield reason, problem
