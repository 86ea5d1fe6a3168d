"""Validation of endpoint picker configurations, in a stack or without a stack: errors and warnings."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.paths import Path
from models.problems import Problem, errors, warning, warnings
from models.trees import mapping
from planning.picker import accepted_mistakes, departing, start_mistakes, value_shapes
from planning.picker.graph import H2C, DeclaredPlugin, Graph, parse
from planning.picker.plugin_words import PRODUCER, SCHEDULING
from planning.picker.start_mistakes import LoaderSetting
from planning.picker.value_shapes import PluginReference, Reading
from planning.releases import Release
from planning.releases.picker_facts import PickerFacts

_ACTIVE = frozenset({"eviction", PRODUCER, "profile-handler", "request"})
"""Groups whose plugins work as soon as they are declared. Other plugins work only if a reference names them."""


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
    encodes: bool = False
    """Whether the variant has separate encode pods."""

    @property
    def picker(self) -> PickerFacts:
        """Return the facts of the release about its picker."""
        return self.release.picker


@dataclass(frozen=True, slots=True)
class ConfigFinding:
    """An error in a configuration that is judged without a stack, or a warning about it."""

    problem: Problem
    reason: str | None = None
    """Key of `REASONS` of an error despite which the picker serves. None for other errors, and for warnings."""


def judge(
    path: Path, config: Mapping[str, Any], variant_facts: VariantFacts, external: Sequence[PluginReference] = ()
) -> Iterator[Problem]:
    """Yield the errors and warnings about a variant's configuration. Plugins and keys without effect are errors, too.

    `external` are references from other keys, such as `endpointPicker.flowControl`, to plugins of the configuration.
    """
    graph = parse(path, config, variant_facts.picker, external)
    setting = LoaderSetting(variant_facts.release, flow_control=True)
    leaving = list(departing.problems(graph, variant_facts.release))
    mistakes = [
        *_refusals(graph, setting, leaving),
        *(problem for _, problem in accepted_mistakes.problems(graph, setting)),
    ]
    for check in (_unusable, _roles, _encode, _block_sizes, _parsers):
        mistakes += check(graph, variant_facts)
    labels = list(departing.roles(graph, variant_facts.release))
    yield from dict.fromkeys([*mistakes, *errors(labels)])
    yield from _warnings(graph, variant_facts.picker, warnings(leaving))
    yield from warnings(labels)


def findings(config: Mapping[str, Any], setting: LoaderSetting) -> Iterator[ConfigFinding]:
    """Yield the errors and warnings about a configuration that is judged without a stack."""
    graph = parse(Path(), config, setting.facts)
    leaving = list(departing.problems(graph, setting.release))
    refusals = _refusals(graph, setting, leaving)
    paths = {problem.path for problem in refusals}
    yield from (ConfigFinding(problem) for problem in refusals)
    for reason, problem in accepted_mistakes.problems(graph, setting):
        if problem.path not in paths:
            named_reason = None
            if problem.severity == "error":
                named_reason = reason
            yield ConfigFinding(problem, named_reason)
    yield from map(ConfigFinding, _warnings(graph, setting.facts, warnings(leaving)))
    labels = departing.roles(graph, setting.release)
    yield from (ConfigFinding(warning(label.path, label.what, label.remedy)) for label in labels)


def _refusals(graph: Graph, setting: LoaderSetting, leaving: Sequence[Problem]) -> list[Problem]:
    """Return the mistakes with which the picker does not serve.

    What its router no longer has is reported with the replacement, and not a second time as unknown.
    """
    gone = errors(leaving)
    paths = {problem.path for problem in gone}
    return [*gone, *(problem for problem in start_mistakes.problems(graph, setting) if problem.path not in paths)]


def _warnings(graph: Graph, facts: PickerFacts, leaving: Sequence[Problem]) -> Iterator[Problem]:
    """Yield warnings about plugins and keys that work, but are experimental, deprecated or misleading.

    `leaving` are the warnings about names that a later router lacks.
    """
    places = {problem.path for problem in leaving}
    yield from leaving
    for plugin in graph.plugins:
        yield from _plugin_warnings(facts, plugin, places)
    yield from _unused_plugins(graph)
    yield from _lonely(graph)
    yield from _skipped_parsers(graph, facts)
    yield from _spellings(graph)
    yield from _producers_in_profiles(graph)
    yield from _deprecated_keys(graph, facts, places)
    for profile in graph.profiles:
        for entry in profile.entries[:-1]:
            if entry.plugin is not None and "picker" in entry.plugin.groups:
                what = f"stands before other plugins, but a picker always runs last ({entry.plugin.name})"
                yield warning(entry.at, what, "put it last")


def _unused_plugins(graph: Graph) -> Iterator[Problem]:
    """Yield plugins to which nothing refers, and which do nothing on their own. The picker never asks them."""
    default_deciders = {plugin.facts.handler.default_decider for plugin in graph.handlers if plugin.facts.handler}
    used_names = {reference.name for reference in graph.references} | default_deciders
    # If a profile lists no plugin of the group `picker`, the endpoint picker takes a declared plugin of that group.
    # This plugin is then in use, although no reference names it.
    every_profile_has_picker = all(
        any("picker" in entry.groups for entry in profile.entries) for profile in graph.profiles
    )
    for plugin in graph.plugins:
        groups = set(plugin.groups)
        in_every_profile = not graph.profiles and bool(groups & SCHEDULING)
        is_implicit = plugin.facts.implicit and plugin.name == plugin.type
        if not groups or groups & _ACTIVE or plugin.name in used_names or in_every_profile or is_implicit:
            continue
        if "picker" in groups and not every_profile_has_picker:
            continue
        place = "refer to it where it is needed"
        if groups & SCHEDULING:
            place = "add it to a profile"
        yield warning(plugin.at, f"is used nowhere ({plugin.name})", f"{place}, or remove it")


def _deprecated_keys(graph: Graph, facts: PickerFacts, leaving: Collection[Path]) -> Iterator[Problem]:
    version = graph.config.get("apiVersion")
    if version in facts.config.deprecated_api_versions:
        yield warning(graph.path / "apiVersion", f"is deprecated ({version})", f"use {facts.config.api_version}")
    for key, instead in facts.config.deprecated.items():
        if graph.config.get(key) is not None and graph.path / key not in leaving:
            yield warning(graph.path / key, f"is deprecated ({key})", f"use {instead}")


def _plugin_warnings(facts: PickerFacts, declared: DeclaredPlugin, leaving: Collection[Path]) -> Iterator[Problem]:
    """Yield warnings about a plugin. `leaving` are the places of names that a later router lacks."""
    plugin = declared.facts
    if plugin.stability == "alpha" and facts.flags.experimental is not None:
        what = f"is experimental ({declared.type}): the picker is started with {facts.flags.experimental}"
        yield warning(declared.at / "type", what, "it may change or disappear without notice")
    if plugin.deprecated is not None and declared.at / "type" not in leaving:
        yield warning(declared.at / "type", f"is deprecated ({declared.type})", f"use {plugin.deprecated.by}")
    yield from _parameter_warnings(declared, leaving)
    if plugin.ignores_parameters:
        reading = Reading(declared.at / "parameters", f"parameter of {declared.type}")
        for problem in value_shapes.problems(reading, declared.written, plugin.parameters):
            yield warning(problem.path, f"has no effect, because {declared.type} reads no parameters", "remove it")


def _lonely(graph: Graph) -> Iterator[Problem]:
    """Yield warnings about plugins that have no effect because a plugin of a required type is not declared."""
    types = {plugin.type for plugin in graph.plugins}
    for plugin in graph.plugins:
        for kind in plugin.facts.wants:
            if kind not in types:
                what = f"has no effect without {kind}, which is not declared ({plugin.type})"
                yield warning(plugin.at / "type", what, "declare it under plugins")


def _producers_in_profiles(graph: Graph) -> Iterator[Problem]:
    """Yield warnings about entries of profiles that name producers, which work as soon as they are declared."""
    for profile in graph.profiles:
        for entry in profile.entries:
            if PRODUCER in entry.groups and not set(entry.groups) & SCHEDULING and entry.plugin is not None:
                what = f"has no effect in a profile, because it is a producer ({entry.plugin.name})"
                yield warning(entry.at, what, "remove the entry; a declared producer works without one")


def _skipped_parsers(graph: Graph, facts: PickerFacts) -> Iterator[Problem]:
    used = {reference.path for reference, _ in graph.parsers}
    for reference in graph.references:
        plugin = facts.plugins.table.get(reference.name)
        if reference.groups == ("parser",) and reference.path not in used and plugin and "parser" in plugin.groups:
            what = f"is never asked, because an earlier parser takes every request ({reference.name})"
            yield warning(reference.path, what, "put it first, or remove it")


def _spellings(graph: Graph) -> Iterator[Problem]:
    """Yield warnings about keys of parameters in the wrong case. The picker reads these keys without regard to case."""
    for plugin in graph.plugins:
        for key, known in zip(mapping(plugin.written), plugin.parameters, strict=False):
            if key != known:
                what = f"is read as {known} ({key})"
                yield warning(plugin.at / "parameters" / key, what, f"write {known}")


def _parameter_warnings(declared: DeclaredPlugin, leaving: Collection[Path]) -> Iterator[Problem]:
    """Yield warnings about parameters that are deprecated, and about values that the picker replaces."""
    facts = declared.facts
    is_former = declared.shape is not None and declared.shape is facts.former_parameters
    if is_former and not any(path.is_within(declared.at / "parameters") for path in leaving):
        what = f"is the deprecated form of the parameters of {declared.type}"
        yield warning(declared.at / "parameters", what, f"use {', '.join(facts.parameters or {})}")
    for dotted, description in facts.corrected.items():
        for problem in value_shapes.problems(Reading(declared.place(dotted)), declared.parameter(dotted), description):
            yield warning(problem.path, f"{problem.what}, so the picker uses another value", problem.remedy)
    for dotted, reason in facts.unread.items():
        if declared.parameter(dotted) is not None:
            yield warning(declared.place(dotted), f"is deprecated and has no effect ({dotted})", f"remove it: {reason}")


def _unusable(graph: Graph, _: VariantFacts) -> Iterator[Problem]:
    """Reject plugins and parameters that do not work with the objects that a stack deploys."""
    for plugin in graph.plugins:
        if plugin.facts.unusable_reason is not None:
            what = f"cannot be used ({plugin.type})"
            yield Problem(plugin.at / "type", what, f"remove it: {plugin.facts.unusable_reason}")
        for key, reason in plugin.facts.must_be_zero.items():
            if plugin.parameter(key):
                yield Problem(plugin.place(key), f"cannot be used ({key})", f"remove it: {reason}")


def _roles(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check that profiles select prefill pods if and only if the variant has prefill pods."""
    prefill = [profile for profile in graph.profiles if profile.is_for("prefill")]
    if not variant_facts.disaggregated:
        for profile in prefill:
            yield Problem(profile.at, "is for prefill pods, but the variant has none", "add prefill, or remove it")
        return
    if not prefill:
        what = "sends nothing to prefill pods (no profile uses prefill-filter)"
        yield Problem(graph.path, what, "add a profile with prefill-filter, or use a preset")
    elif not any(profile.is_for("decode") for profile in graph.profiles):
        what = "sends whole requests to prefill pods, too (no profile uses decode-filter)"
        yield Problem(graph.path, what, "add a profile with decode-filter, or use a preset")
    for declared in graph.handlers[:1]:
        if declared.facts.handler is not None and prefill and not declared.facts.handler.decider_parameters:
            what = f"never asks prefill pods ({declared.type})"
            yield Problem(declared.at / "type", what, "use a preset, or another handler")


def _encode(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check that a variant with encode pods has a profile for them, and that no other profile selects them."""
    if not variant_facts.encodes:
        return
    if not any(profile.is_for("encode") for profile in graph.profiles):
        what = "sends nothing to encode pods (no profile uses encode-filter)"
        yield Problem(graph.path, what, "add a profile with encode-filter, or use a preset")
    elif not variant_facts.disaggregated and not any(profile.is_for("decode") for profile in graph.profiles):
        what = "sends whole requests to encode pods, too (no profile uses decode-filter)"
        yield Problem(graph.path, what, "add a profile with decode-filter, or use a preset")


def _block_sizes(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Check that the picker hashes blocks of the engine's block size. Hashes of blocks of another size never match."""
    if variant_facts.block_size is None:
        return
    for plugin in graph.plugins:
        if not plugin.facts.block_size:
            continue
        keys = plugin.facts.block_size
        settings = {key: plugin.parameter(key) for key in keys if plugin.parameter(key) is not None}
        if not settings:
            what = f"is missing, and the engine's block size is {variant_facts.block_size}"
            yield Problem(plugin.place(keys[0]), what, f"write {variant_facts.block_size}")
        for key, value in settings.items():
            if value != variant_facts.block_size and value_shapes.fits(value, "integer"):
                what = f"is {value}, but the engine's block size is {variant_facts.block_size}"
                remedy = f"write {variant_facts.block_size}, or set kvCache.blockSize: {value}"
                yield Problem(plugin.place(key), what, remedy)


def _parsers(graph: Graph, variant_facts: VariantFacts) -> Iterator[Problem]:
    """Reject a parser for a protocol that the engine does not serve. The picker would never become healthy."""
    for reference, plugin in graph.parsers:
        if plugin.protocols == [H2C] and variant_facts.vllm:
            what = f"takes {H2C} only, which vllm does not serve ({reference.name})"
            yield Problem(
                reference.path, what, "use another parser, or engine.type: custom with an image that serves it"
            )
