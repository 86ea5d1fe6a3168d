"""What keeps a picker's configuration from working, what does nothing in it, and what its author should know."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, cast

from models.paths import Path
from models.problems import Problem, warning
from planning.picker import shapes
from planning.picker.graph import FLOW_CONTROL, H2C, Declared, Entry, Graph, gate_names, graph, used_parsers
from planning.picker.shapes import Reading, Reference
from planning.releases import ConfigFacts, Need, PickerFacts, Plugin, Release, channel, channels

_SCHEDULING = frozenset({"filter", "scorer", "picker"})
_ACTIVE = frozenset({"eviction", "producer", "profile-handler", "request"})
"""Groups whose plugins work by being declared; others have to be named where they are meant."""
_CALLED = {
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


@dataclass(frozen=True, slots=True)
class Context:
    """What a configuration has to fit."""

    release: Release
    apart: bool
    """Whether prefill has pods of its own."""
    block_size: int | None
    """Tokens in one block of the engine's cache; absent: the engine's own choice."""
    vllm: bool
    """Whether vLLM serves, which speaks HTTP/1.1 only."""

    @property
    def facts(self) -> PickerFacts:
        """Return what the release's picker understands."""
        return self.release.picker


def problems(
    path: Path, config: Mapping[str, Any], context: Context, elsewhere: Sequence[Reference] = ()
) -> list[Problem]:
    """Return everything that keeps a configuration from working, or that does nothing in it."""
    shape = {**context.facts.config.shape, **dict.fromkeys(context.facts.config.deprecated, "any")}
    found = [*_own(path, config), *shapes.problems(Reading(path), _without_ours(config), shape)]
    read = graph(path, config, context.facts, elsewhere)
    checks = (_types, _parameters, _named, _unused, _handlers, _roles, _needed, _block_sizes, _gates, _parsers)
    found += chain.from_iterable(check(read, context) for check in checks)
    return [*found, *_names(read), *_in_profiles(read)]


def warnings(path: Path, config: Mapping[str, Any], facts: PickerFacts) -> list[Problem]:
    """Return what works, and what whoever wrote it should know."""
    read = graph(path, config, facts)
    found = list(chain.from_iterable(map(partial(_warned, facts), read.plugins)))
    for key, instead in facts.config.deprecated.items():
        if key in config:
            found.append(warning(path / key, f"is deprecated ({key})", f"use {instead}"))
    for profile in read.profiles:
        for entry in profile.entries[:-1]:
            if entry.plugin is not None and "picker" in entry.plugin.groups:
                what = f"reads as if it came before what follows ({entry.plugin.name})"
                found.append(warning(entry.at, what, "put it last; a picker runs last wherever it stands"))
    return found


def unknown(at: Path, name: str, release: Release) -> Problem:
    """Return the problem of a plugin type that a release has not."""
    others = [one for one in channels() if name in channel(one).picker.plugins.table]
    likely = shapes.suggestion(name, release.picker.plugins.table)
    elsewhere = f"remove it, or choose a release that has it: {', '.join(others)}" if others else None
    return Problem(at, f"is not in {release.name} ({name})", elsewhere or likely or "remove it")


def misplaced(reference: Reference, plugin: Plugin, table: Mapping[str, Plugin]) -> Problem:
    """Return the problem of a plugin that is of another group than where it is named."""
    wanted = _called(reference.groups[0]) if len(reference.groups) == 1 else "a filter, scorer or picker"
    if set(reference.groups) >= _SCHEDULING:
        remedy = "remove it; it needs no place in a profile"
    else:
        remedy = f"name {wanted}{_such_as(table, reference.groups)}"
    return Problem(reference.path, f"is {_called(plugin.groups[0])} and not {wanted} ({reference.name})", remedy)


def _own(path: Path, config: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("apiVersion", "kind"):
        if key in config:
            yield Problem(path / key, f"follows from the release ({key})", "remove it")


def _without_ours(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in {"apiVersion", "kind"}}


def _types(read: Graph, context: Context) -> Iterator[Problem]:
    for one in read.plugins:
        if one.facts is None:
            yield unknown(one.at / "type", one.type, context.release)
        elif one.facts.rejected is not None:
            yield Problem(one.at / "type", f"cannot be used ({one.type})", f"remove it: {one.facts.rejected}")
    if not read.plugins and not isinstance(read.config.get("plugins"), list):
        yield Problem(read.path / "plugins", "is missing", "declare plugins: a list of {type: …}")


def _names(read: Graph) -> Iterator[Problem]:
    seen = set[str]()
    for one in read.plugins:
        if one.name in seen:
            at = one.at / ("name" if one.named else "type")
            yield Problem(at, f"is the name of an earlier plugin ({one.name})", "give one of them another name")
        seen.add(one.name)


def _parameters(read: Graph, _: Context) -> Iterator[Problem]:
    for one in read.plugins:
        if one.facts is not None and one.facts.parameters is not None:
            reading = Reading(one.at / "parameters", f"parameter of {one.type}")
            yield from shapes.problems(reading, one.parameters, one.facts.parameters)
            for key, reason in one.facts.zeros.items():
                if one.parameter(key):
                    yield Problem(one.place(key), f"cannot be used ({key})", f"remove it: {reason}")


def _named(read: Graph, context: Context) -> Iterator[Problem]:
    """Check that every name means a plugin that can be what it is named for."""
    table = context.facts.plugins.table
    for one in read.references:
        target = read.find(one.name)
        by_itself = table.get(one.name)
        if target is None and (by_itself is None or not by_itself.implicit):
            implicit = {name for name, plugin in table.items() if plugin.implicit}
            likely = shapes.suggestion(one.name, {plugin.name for plugin in read.plugins} | implicit)
            remedy = "declare it under plugins" if by_itself is not None else likely or "declare it under plugins"
            yield Problem(one.path, f"names no plugin ({one.name})", remedy)
            continue
        plugin = target.facts if target is not None else by_itself
        if plugin is not None and not set(plugin.groups) & set(one.groups):
            yield misplaced(one, plugin, table)
        if target is not None and context.facts.config.ordered:
            yield from _behind(read, one, target)


def _called(group: str) -> str:
    word = _CALLED.get(group, group)
    return f"{'an' if word[0] in 'aeio' else 'a'} {word}"


def _such_as(table: Mapping[str, Plugin], groups: Collection[str]) -> str:
    for name, plugin in table.items():
        if plugin.groups[0] in groups and plugin.stability == "beta" and plugin.deprecated is None:
            return f", such as {name}"
    return ""


def _behind(read: Graph, reference: Reference, target: Declared) -> Iterator[Problem]:
    """Report a plugin that parameters name and that the picker makes later than they are read."""
    holders = [index for index, one in enumerate(read.plugins) if reference.path.is_within(one.at)]
    if holders and read.plugins.index(target) > holders[0]:
        yield Problem(reference.path, f"names a plugin that stands behind it ({target.name})", "put that one first")


def _unused(read: Graph, _: Context) -> Iterator[Problem]:
    defaults = {one.facts.handler.decider for one in read.handlers if one.facts and one.facts.handler}
    used = {one.name for one in read.references} | defaults
    # A profile without a picker gets one of those that are declared.
    picks = all(any("picker" in entry.groups for entry in profile.entries) for profile in read.profiles)
    for one in read.plugins:
        groups = set(one.groups)
        every_profile = not read.profiles and bool(groups & _SCHEDULING)
        added = one.facts is not None and one.facts.implicit and one.name == one.type
        if not groups or groups & _ACTIVE or one.name in used or every_profile or added:
            continue
        if "picker" in groups and not picks:
            continue
        place = "add it to a profile" if groups & _SCHEDULING else "name it where it is meant"
        yield Problem(one.at, f"is used nowhere ({one.name})", f"{place}, or remove it")


def _in_profiles(read: Graph) -> Iterator[Problem]:
    """Check the profiles' own names, weights and pickers."""
    names = set[str]()
    for profile in read.profiles:
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


def _weight(entry: Entry, plugin: Declared) -> Iterator[Problem]:
    weight = entry.weight
    if weight is None or not shapes.fits(weight, "number"):
        return
    if plugin.groups and "scorer" not in plugin.groups:
        what = f"has an effect on scorers only ({plugin.name} is {_called(plugin.groups[0])})"
        yield Problem(entry.at / "weight", what, "remove it")
    elif not 0 < cast("float", weight) < math.inf:
        yield Problem(entry.at / "weight", f"is not above 0 ({weight})", "write a number above 0, or remove the scorer")


def _handlers(read: Graph, context: Context) -> Iterator[Problem]:
    count, handlers = len(read.profiles), read.handlers
    several = next((name for name, one in context.facts.plugins.table.items() if _takes_several(one)), None)
    if not handlers and count > 1:
        remedy = f"add one, such as {several}" if several else "keep one profile"
        yield Problem(read.path / "plugins", f"has no profile handler for {count} profiles", remedy)
    for one in handlers[1:]:
        what = f"is a second profile handler beside {handlers[0].name} ({one.name})"
        yield Problem(one.at / "type", what, "keep one of them")
    for one in handlers[:1]:
        if one.facts is not None and one.facts.handler is not None and one.facts.handler.single and count > 1:
            remedy = f"keep one of them, or use {several}" if several else "keep one of them"
            yield Problem(one.at / "type", f"takes one profile of {count} ({one.type})", remedy)


def _takes_several(plugin: Plugin) -> bool:
    handler = plugin.handler
    return handler is not None and bool(handler.deciders) and plugin.deprecated is None


def _roles(read: Graph, context: Context) -> Iterator[Problem]:
    """Check that prefill pods are asked where there are some, and only there."""
    prefill = [one for one in read.profiles if one.is_for("prefill")]
    if not context.apart:
        for one in prefill:
            yield Problem(one.at, "is for prefill pods, of which there are none", "add prefill, or remove it")
        return
    if not prefill:
        what = "sends nothing to prefill pods (no profile uses prefill-filter)"
        yield Problem(read.path, what, "add one, or use a preset")
    elif not any(one.is_for("decode") for one in read.profiles):
        what = "sends whole requests to prefill pods, too (no profile uses decode-filter)"
        yield Problem(read.path, what, "add one, or use a preset")
    elif read.handlers:
        yield from _decided(read, read.handlers[0], context.facts)


def _decided(read: Graph, one: Declared, facts: PickerFacts) -> Iterator[Problem]:
    """Check that a profile handler comes to ask prefill, by profiles that exist."""
    handler = None if one.facts is None else one.facts.handler
    if handler is None:
        return
    if not handler.deciders:
        yield Problem(one.at / "type", f"never asks prefill pods ({one.type})", "use a preset, or another handler")
        return
    undecided = any(one.parameter(key) == value for key, value in handler.undecided.items())
    if not undecided and not any(one.parameter(key) for key in handler.deciders):
        if handler.decider is None:
            what = f"never asks prefill pods (no {handler.deciders[0]})"
            remedy = f"name a decider{_such_as(facts.plugins.table, ['decider'])}"
            yield Problem(one.at / "parameters", what, remedy)
        elif read.find(handler.decider) is None:
            what = f"names no decider, and its own is not declared ({handler.decider})"
            yield Problem(one.at / "parameters", what, "declare it under plugins")
    for role, keys in handler.profiles.items():
        name = next((value for key in keys if (value := one.parameter(key))), role)
        if name not in {profile.name for profile in read.profiles}:
            what = f"has no profile called {name}, which {one.type} looks for"
            yield Problem(read.path / "schedulingProfiles", what, "add it, or name another in its parameters")


def _needed(read: Graph, _: Context) -> Iterator[Problem]:
    """Check that what a plugin reads is produced, and that the gates are open that it waits for."""
    on = {name for name, value in gate_names(read.config).items() if value}
    for one in read.plugins:
        if one.facts is None:
            continue
        for kind, need in one.facts.requires.items():
            if need.unless is None or not one.parameter(need.unless):
                yield from _beside(read, one, kind, need)
        for gate in sorted(set(one.facts.gates) - on):
            what = f"has no {gate}, without which {one.type} does nothing"
            yield Problem(read.path / "featureGates", what, "add it")


def _beside(read: Graph, one: Declared, kind: str, need: Need) -> Iterator[Problem]:
    found = [other for other in read.plugins if other.type == kind]
    if not found:
        yield Problem(one.at / "type", f"needs {kind} beside it ({one.type})", "declare it under plugins")
    for key in need.parameters:
        if found and not any(other.parameter(key) for other in found):
            yield Problem(found[0].place(key), f"is missing, and {one.type} needs it", "add it")


def _block_sizes(read: Graph, context: Context) -> Iterator[Problem]:
    """Check that hashes are made over as many tokens here as in the engine; otherwise nothing ever matches."""
    if context.block_size is None:
        return
    for one in read.plugins:
        keys = [] if one.facts is None else one.facts.block_size
        written = [(key, value) for key in keys if (value := one.parameter(key)) is not None]
        if keys and not written:
            what = f"is missing, and the engine's is {context.block_size}"
            yield Problem(one.place(keys[0]), what, f"write {context.block_size}")
        for key, value in written:
            if value != context.block_size and shapes.fits(value, "integer"):
                what = f"differs from the engine's ({value}, {context.block_size})"
                remedy = f"write {context.block_size}, or set kvCache.blockSize: {value}"
                yield Problem(one.place(key), what, remedy)


def _gates(read: Graph, context: Context) -> Iterator[Problem]:
    facts: ConfigFacts = context.facts.config
    written = read.config.get("featureGates")
    for index, gate in enumerate(cast("list[object]", written) if isinstance(written, list) else []):
        name, separator, value = str(gate).partition("=") if facts.gate_values else (str(gate), "", "")
        at = read.path / "featureGates" / index
        if isinstance(gate, str) and name not in facts.gates:
            remedy = shapes.suggestion(name, facts.gates) or f"known: {', '.join(facts.gates)}"
            yield Problem(at, f"is no feature gate of {context.release.name} ({name})", remedy)
        elif separator and value.strip().lower() not in {"true", "false"}:
            yield Problem(at, f"is neither on nor off ({name})", f"write {name} or {name}=false")
    for section, gate in facts.gated.items():
        if section in read.config and not gate_names(read.config).get(gate):
            yield Problem(read.path / section, f"is refused while {gate} is off", f"add {gate} to featureGates")
    if FLOW_CONTROL in read.config and gate_names(read.config).get(FLOW_CONTROL) is False:
        what = "has no effect while its feature gate is off (flowControl=false)"
        yield Problem(read.path / FLOW_CONTROL, what, "remove one of them; the gate follows from the section")


def _parsers(read: Graph, context: Context) -> Iterator[Problem]:
    """Refuse a parser whose protocol the engine does not speak: the picker would never become healthy."""
    for one, plugin in used_parsers(read, context.facts):
        if plugin.protocols == [H2C] and context.vllm:
            what = f"takes {H2C} only, which vllm does not serve ({one.name})"
            yield Problem(one.path, what, "use another parser, or engine.type: custom with an image that serves it")


def _warned(facts: PickerFacts, one: Declared) -> Iterator[Problem]:
    plugin = one.facts
    if plugin is None:
        return
    if plugin.stability == "alpha" and facts.flags.experimental is not None:
        what = f"is experimental ({one.type}): the picker is started with {facts.flags.experimental}"
        yield warning(one.at / "type", what, "expect it to change or to go without notice")
    if plugin.deprecated is not None:
        until = f" before {plugin.deprecated.removed}, which removes it" if plugin.deprecated.removed else ""
        yield warning(one.at / "type", f"is deprecated ({one.type})", f"use {plugin.deprecated.by}{until}")
