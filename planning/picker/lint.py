"""Validation of endpoint picker configurations: errors, unused plugins and warnings."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, cast

from models.paths import Path
from models.problems import Problem, warning
from planning.picker import shapes
from planning.picker.graph import FLOW_CONTROL, H2C, DeclaredPlugin, Entry, Graph, feature_gates, parse, used_parsers
from planning.picker.shapes import Reading, Reference
from planning.releases import ConfigFacts, Need, PickerFacts, Plugin, Release, channel, channels

_SCHEDULING = frozenset({"filter", "scorer", "picker"})
"""Groups whose plugins belong in scheduling profiles."""
_ACTIVE = frozenset({"eviction", "producer", "profile-handler", "request"})
"""Groups whose plugins work as soon as they are declared. Plugins of other groups work only if they are named."""
_GROUP_NOUNS = {
    "detector": "saturation detector",
    "discovery": "discovery plugin",
    "eviction": "eviction policy",
    "fairness": "fairness policy",
    "ordering": "ordering policy",
    "profile-handler": "profile handler",
    "request": "request plugin",
    "source": "data source",
    "usage-limit": "usage limit policy",
}
"""Names of groups in messages, where they differ from the keys of the groups."""


@dataclass(frozen=True, slots=True)
class VariantFacts:
    """Facts about a variant and its release with which a picker configuration must agree."""

    release: Release
    disaggregated: bool
    """Whether the variant has separate prefill pods."""
    block_size: int | None
    """Tokens in one block of the engine's KV cache; None for the engine's default."""
    vllm: bool
    """Whether every role runs vLLM, which serves HTTP/1.1 only."""

    @property
    def picker(self) -> PickerFacts:
        """Return the facts of the release about its picker."""
        return self.release.picker


def problems(
    path: Path, config: Mapping[str, Any], variant_facts: VariantFacts, external: Sequence[Reference] = ()
) -> list[Problem]:
    """Return the errors of a configuration, including its parts that have no effect.

    `external` are references to plugins of the configuration from other keys, such as `endpointPicker.flowControl`.
    """
    shape = {**variant_facts.picker.config.shape, **dict.fromkeys(variant_facts.picker.config.deprecated, "any")}
    found = [*_reserved_keys(path, config), *shapes.problems(Reading(path), _without_reserved_keys(config), shape)]
    graph = parse(path, config, variant_facts.picker, external)
    checks = (
        _types,
        _parameters,
        _references,
        _unused_plugins,
        _handlers,
        _roles,
        _requirements,
        _block_sizes,
        _gates,
        _parsers,
    )
    found += chain.from_iterable(check(graph, variant_facts) for check in checks)
    return [*found, *_duplicate_names(graph), *_profile_entries(graph)]


def warnings(path: Path, config: Mapping[str, Any], facts: PickerFacts) -> list[Problem]:
    """Return warnings about parts of a configuration that work, but are experimental, deprecated or misleading."""
    graph = parse(path, config, facts)
    found = list(chain.from_iterable(map(partial(_plugin_warnings, facts), graph.plugins)))
    for key, instead in facts.config.deprecated.items():
        if key in config:
            found.append(warning(path / key, f"is deprecated ({key})", f"use {instead}"))
    for profile in graph.profiles:
        for entry in profile.entries[:-1]:
            if entry.plugin is not None and "picker" in entry.plugin.groups:
                what = f"reads as if it came before what follows ({entry.plugin.name})"
                found.append(warning(entry.at, what, "put it last; a picker runs last wherever it stands"))
    return found


def unknown(at: Path, name: str, release: Release) -> Problem:
    """Return the problem of a plugin type that the release does not have."""
    others = [other for other in channels() if name in channel(other).picker.plugins.table]
    likely = shapes.suggestion(name, release.picker.plugins.table)
    change_release = f"remove it, or choose a release that has it: {', '.join(others)}" if others else None
    return Problem(at, f"is not in {release.name} ({name})", change_release or likely or "remove it")


def wrong_group(reference: Reference, plugin: Plugin, table: Mapping[str, Plugin]) -> Problem:
    """Return the problem of a reference to a plugin of the wrong group."""
    expected = _with_article(reference.groups[0]) if len(reference.groups) == 1 else "a filter, scorer or picker"
    if set(reference.groups) >= _SCHEDULING:
        remedy = "remove it; it needs no place in a profile"
    else:
        remedy = f"name {expected}{_example(table, reference.groups)}"
    return Problem(
        reference.path, f"is {_with_article(plugin.groups[0])} and not {expected} ({reference.name})", remedy
    )


def _reserved_keys(path: Path, config: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("apiVersion", "kind"):
        if key in config:
            yield Problem(path / key, f"follows from the release ({key})", "remove it")


def _without_reserved_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in {"apiVersion", "kind"}}


def _types(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    for plugin in graph.plugins:
        if plugin.facts is None:
            yield unknown(plugin.at / "type", plugin.type, variant_facts.release)
        elif plugin.facts.unusable_reason is not None:
            yield Problem(
                plugin.at / "type", f"cannot be used ({plugin.type})", f"remove it: {plugin.facts.unusable_reason}"
            )
    if not graph.plugins and not isinstance(graph.config.get("plugins"), list):
        yield Problem(graph.path / "plugins", "is missing", "declare plugins: a list of {type: …}")


def _duplicate_names(graph: Graph) -> Iterator[Problem]:
    seen = set[str]()
    for plugin in graph.plugins:
        if plugin.name in seen:
            at = plugin.at / ("name" if plugin.named else "type")
            yield Problem(at, f"is the name of an earlier plugin ({plugin.name})", "give one of them another name")
        seen.add(plugin.name)


def _parameters(graph: Graph, _: VariantFacts) -> Iterator[Problem]:
    for plugin in graph.plugins:
        if plugin.facts is not None and plugin.facts.parameters is not None:
            reading = Reading(plugin.at / "parameters", f"parameter of {plugin.type}")
            yield from shapes.problems(reading, plugin.parameters, plugin.facts.parameters)
            for key, reason in plugin.facts.must_be_zero.items():
                if plugin.parameter(key):
                    yield Problem(plugin.place(key), f"cannot be used ({key})", f"remove it: {reason}")


def _references(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check that every reference names a plugin of a group that is allowed there."""
    table = variant_facts.picker.plugins.table
    for reference in graph.references:
        declared = graph.find(reference.name)
        implied = table.get(reference.name)
        if declared is None and (implied is None or not implied.implicit):
            implicit = {name for name, plugin in table.items() if plugin.implicit}
            likely = shapes.suggestion(reference.name, {plugin.name for plugin in graph.plugins} | implicit)
            remedy = "declare it under plugins" if implied is not None else likely or "declare it under plugins"
            yield Problem(reference.path, f"names no plugin ({reference.name})", remedy)
            continue
        plugin = declared.facts if declared is not None else implied
        if plugin is not None and not set(plugin.groups) & set(reference.groups):
            yield wrong_group(reference, plugin, table)
        if declared is not None and variant_facts.picker.config.ordered:
            yield from _declaration_order(graph, reference, declared)


def _with_article(group: str) -> str:
    word = _GROUP_NOUNS.get(group, group)
    return f"{'an' if word[0] in 'aeio' else 'a'} {word}"


def _example(table: Mapping[str, Plugin], groups: Collection[str]) -> str:
    for name, plugin in table.items():
        if plugin.groups[0] in groups and plugin.stability == "beta" and plugin.deprecated is None:
            return f", such as {name}"
    return ""


def _declaration_order(graph: Graph, reference: Reference, declared: DeclaredPlugin) -> Iterator[Problem]:
    """Reject a reference from a plugin's parameters to a later plugin. The picker creates plugins in their order."""
    referrers = [index for index, plugin in enumerate(graph.plugins) if reference.path.is_within(plugin.at)]
    if referrers and graph.plugins.index(declared) > referrers[0]:
        yield Problem(reference.path, f"names a plugin that stands behind it ({declared.name})", "put that one first")


def _unused_plugins(graph: Graph, _: VariantFacts) -> Iterator[Problem]:
    default_deciders = {
        plugin.facts.handler.default_decider for plugin in graph.handlers if plugin.facts and plugin.facts.handler
    }
    used_names = {reference.name for reference in graph.references} | default_deciders
    # A profile may list no plugin of the group `picker`. The endpoint picker then takes a declared plugin of the group,
    # to which no reference leads.
    every_profile_has_picker = all(
        any("picker" in entry.groups for entry in profile.entries) for profile in graph.profiles
    )
    for plugin in graph.plugins:
        groups = set(plugin.groups)
        in_every_profile = not graph.profiles and bool(groups & _SCHEDULING)
        is_implicit = plugin.facts is not None and plugin.facts.implicit and plugin.name == plugin.type
        if not groups or groups & _ACTIVE or plugin.name in used_names or in_every_profile or is_implicit:
            continue
        if "picker" in groups and not every_profile_has_picker:
            continue
        place = "add it to a profile" if groups & _SCHEDULING else "name it where it is meant"
        yield Problem(plugin.at, f"is used nowhere ({plugin.name})", f"{place}, or remove it")


def _profile_entries(graph: Graph) -> Iterator[Problem]:
    """Check the names of profiles, and their entries: weights, picker plugins and duplicates."""
    names = set[str]()
    for profile in graph.profiles:
        if profile.name in names:
            yield Problem(profile.at / "name", f"is an earlier profile's ({profile.name})", "give it another name")
        names.add(profile.name)
        seen, pickers = set[str](), 0
        for entry in profile.entries:
            if entry.plugin is None:
                continue
            yield from _weight(entry, entry.plugin)
            pickers += "picker" in entry.plugin.groups
            if entry.plugin.name in seen:
                yield Problem(entry.at, f"stands twice in one profile ({entry.plugin.name})", "remove one of them")
            elif "picker" in entry.plugin.groups and pickers > 1:
                yield Problem(entry.at, f"is a second picker in one profile ({entry.plugin.name})", "keep one of them")
            seen.add(entry.plugin.name)


def _weight(entry: Entry, declared: DeclaredPlugin) -> Iterator[Problem]:
    weight = entry.weight
    if weight is None or not shapes.fits(weight, "number"):
        return
    if declared.groups and "scorer" not in declared.groups:
        what = f"has an effect on scorers only ({declared.name} is {_with_article(declared.groups[0])})"
        yield Problem(entry.at / "weight", what, "remove it")
    elif not 0 < cast("float", weight) < math.inf:
        yield Problem(entry.at / "weight", f"is not above 0 ({weight})", "write a number above 0, or remove the scorer")


def _handlers(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    count, handlers = len(graph.profiles), graph.handlers
    multi_profile_handler = next(
        (name for name, plugin in variant_facts.picker.plugins.table.items() if _takes_several_profiles(plugin)), None
    )
    if not handlers and count > 1:
        remedy = f"add one, such as {multi_profile_handler}" if multi_profile_handler else "keep one profile"
        yield Problem(graph.path / "plugins", f"has no profile handler for {count} profiles", remedy)
    for handler in handlers[1:]:
        what = f"is a second profile handler beside {handlers[0].name} ({handler.name})"
        yield Problem(handler.at / "type", what, "keep one of them")
    for handler in handlers[:1]:
        if (
            handler.facts is not None
            and handler.facts.handler is not None
            and handler.facts.handler.single
            and count > 1
        ):
            remedy = (
                f"keep one of them, or use {multi_profile_handler}" if multi_profile_handler else "keep one of them"
            )
            yield Problem(handler.at / "type", f"takes one profile of {count} ({handler.type})", remedy)


def _takes_several_profiles(plugin: Plugin) -> bool:
    handler = plugin.handler
    return handler is not None and bool(handler.decider_parameters) and plugin.deprecated is None


def _roles(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check that profiles select prefill pods if and only if the variant has prefill pods."""
    prefill = [profile for profile in graph.profiles if profile.is_for("prefill")]
    if not variant_facts.disaggregated:
        for profile in prefill:
            yield Problem(profile.at, "is for prefill pods, of which there are none", "add prefill, or remove it")
        return
    if not prefill:
        what = "sends nothing to prefill pods (no profile uses prefill-filter)"
        yield Problem(graph.path, what, "add one, or use a preset")
    elif not any(profile.is_for("decode") for profile in graph.profiles):
        what = "sends whole requests to prefill pods, too (no profile uses decode-filter)"
        yield Problem(graph.path, what, "add one, or use a preset")
    elif graph.handlers:
        yield from _check_prefill_use(graph, graph.handlers[0], variant_facts.picker)


def _check_prefill_use(graph: Graph, declared: DeclaredPlugin, facts: PickerFacts) -> Iterator[Problem]:
    """Check that a profile handler can make requests use prefill pods, and that the profiles it needs exist."""
    handler = None if declared.facts is None else declared.facts.handler
    if handler is None:
        return
    if not handler.decider_parameters:
        yield Problem(
            declared.at / "type", f"never asks prefill pods ({declared.type})", "use a preset, or another handler"
        )
        return
    needs_no_decider = any(declared.parameter(key) == value for key, value in handler.without_decider.items())
    if not needs_no_decider and not any(declared.parameter(key) for key in handler.decider_parameters):
        if handler.default_decider is None:
            what = f"never asks prefill pods (no {handler.decider_parameters[0]})"
            remedy = f"name a decider{_example(facts.plugins.table, ['decider'])}"
            yield Problem(declared.at / "parameters", what, remedy)
        elif graph.find(handler.default_decider) is None:
            what = f"names no decider, and its own is not declared ({handler.default_decider})"
            yield Problem(declared.at / "parameters", what, "declare it under plugins")
    for role, keys in handler.profiles.items():
        name = next((value for key in keys if (value := declared.parameter(key))), role)
        if name not in {profile.name for profile in graph.profiles}:
            what = f"has no profile called {name}, which {declared.type} looks for"
            yield Problem(graph.path / "schedulingProfiles", what, "add it, or name another in its parameters")


def _requirements(graph: Graph, _: VariantFacts) -> Iterator[Problem]:
    """Check that the plugins and feature gates that a plugin requires are present."""
    enabled_gates = {name for name, value in feature_gates(graph.config).items() if value}
    for plugin in graph.plugins:
        if plugin.facts is None:
            continue
        for kind, need in plugin.facts.requires.items():
            if need.unless is None or not plugin.parameter(need.unless):
                yield from _required_plugin(graph, plugin, kind, need)
        for gate in sorted(set(plugin.facts.gates) - enabled_gates):
            what = f"has no {gate}, without which {plugin.type} does nothing"
            yield Problem(graph.path / "featureGates", what, "add it")


def _required_plugin(graph: Graph, plugin: DeclaredPlugin, required: str, need: Need) -> Iterator[Problem]:
    declared = [other for other in graph.plugins if other.type == required]
    if not declared:
        yield Problem(plugin.at / "type", f"needs {required} beside it ({plugin.type})", "declare it under plugins")
    for key in need.parameters:
        if declared and not any(other.parameter(key) for other in declared):
            yield Problem(declared[0].place(key), f"is missing, and {plugin.type} needs it", "add it")


def _block_sizes(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check that the picker hashes blocks of the engine's block size. Hashes of other sizes never match."""
    if variant_facts.block_size is None:
        return
    for plugin in graph.plugins:
        keys = [] if plugin.facts is None else plugin.facts.block_size
        settings = [(key, value) for key in keys if (value := plugin.parameter(key)) is not None]
        if keys and not settings:
            what = f"is missing, and the engine's is {variant_facts.block_size}"
            yield Problem(plugin.place(keys[0]), what, f"write {variant_facts.block_size}")
        for key, value in settings:
            if value != variant_facts.block_size and shapes.fits(value, "integer"):
                what = f"differs from the engine's ({value}, {variant_facts.block_size})"
                remedy = f"write {variant_facts.block_size}, or set kvCache.blockSize: {value}"
                yield Problem(plugin.place(key), what, remedy)


def _gates(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    facts: ConfigFacts = variant_facts.picker.config
    gates = graph.config.get("featureGates")
    for index, gate in enumerate(cast("list[object]", gates) if isinstance(gates, list) else []):
        name, separator, value = str(gate).partition("=") if facts.gates_take_values else (str(gate), "", "")
        at = graph.path / "featureGates" / index
        if isinstance(gate, str) and name not in facts.gates:
            remedy = shapes.suggestion(name, facts.gates) or f"known: {', '.join(facts.gates)}"
            yield Problem(at, f"is no feature gate of {variant_facts.release.name} ({name})", remedy)
        elif separator and value.strip().lower() not in {"true", "false"}:
            yield Problem(at, f"is neither on nor off ({name})", f"write {name} or {name}=false")
    for section, gate in facts.gated.items():
        if section in graph.config and not feature_gates(graph.config).get(gate):
            yield Problem(graph.path / section, f"is refused while {gate} is off", f"add {gate} to featureGates")
    if FLOW_CONTROL in graph.config and feature_gates(graph.config).get(FLOW_CONTROL) is False:
        what = "has no effect while its feature gate is off (flowControl=false)"
        yield Problem(graph.path / FLOW_CONTROL, what, "remove one of them; the gate follows from the section")


def _parsers(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Reject a parser for a protocol that the engine does not serve. The picker would never become healthy."""
    for reference, plugin in used_parsers(graph, variant_facts.picker):
        if plugin.protocols == [H2C] and variant_facts.vllm:
            what = f"takes {H2C} only, which vllm does not serve ({reference.name})"
            yield Problem(
                reference.path, what, "use another parser, or engine.type: custom with an image that serves it"
            )


def _plugin_warnings(facts: PickerFacts, declared: DeclaredPlugin) -> Iterator[Problem]:
    plugin = declared.facts
    if plugin is None:
        return
    if plugin.stability == "alpha" and facts.flags.experimental is not None:
        what = f"is experimental ({declared.type}): the picker is started with {facts.flags.experimental}"
        yield warning(declared.at / "type", what, "expect it to change or to go without notice")
    if plugin.deprecated is not None:
        until = f" before {plugin.deprecated.removed}, which removes it" if plugin.deprecated.removed else ""
        yield warning(declared.at / "type", f"is deprecated ({declared.type})", f"use {plugin.deprecated.by}{until}")
