"""An endpoint picker's configuration as a graph: plugins, profiles, and the references between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from models import trees
from models.paths import Path
from planning.ground import yaml_text
from planning.ground.labels import LLM_D_ROLE
from planning.picker import value_shapes
from planning.picker.value_shapes import PluginReference
from planning.releases.picker_facts import PickerFacts
from planning.releases.plugins import Additions, Plugin

H2C = "kubernetes.io/h2c"
"""appProtocol of HTTP/2 without TLS."""
FLOW_CONTROL = "flowControl"
"""Name of the feature gate for flow control. The section that this gate enables has the same name."""
KIND = "EndpointPickerConfig"
HEADER = ("apiVersion", "kind")
"""Keys with the version and the kind of a configuration file. In a stack, this program sets them, whatever a user
wrote."""
_PARSER_WORD = f"{value_shapes.PLUGIN}parser"
"""Word for a leaf that holds the name of a parser, in the shapes of `planning.picker.value_shapes`."""

UNKNOWN = Plugin(groups=[])
"""Facts about a plugin whose type the release does not have: it belongs to no group, and no rule is about it."""


@dataclass(frozen=True, slots=True)
class DeclaredPlugin:
    """A plugin that the configuration declares."""

    at: Path
    name: str
    type: str
    parameters: Mapping[str, Any]
    """Parameters, with keys spelt as in the release facts. Empty if the configuration has no mapping here."""
    written: object
    """Value of `parameters` in the configuration, unchanged and of any type."""
    facts: Plugin
    """Facts about the type; `UNKNOWN` if the release has no such type."""
    named: bool
    """Whether the configuration gives the plugin a name. Otherwise the type is also the name."""
    shape: Mapping[str, Any] | None
    """Shape that the parameters must have. None if the parameters are not checked."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of the plugin's type. They determine where the plugin can be used."""
        return tuple(self.facts.groups)

    def place(self, dotted: str) -> Path:
        """Return the path of the parameter that the release facts call `dotted`."""
        return Path(*self.at, "parameters", *dotted.split("."))

    def parameter(self, dotted: str) -> object:
        """Return the value of the parameter that the release facts call `dotted`. None if it is absent."""
        return trees.at(self.parameters, *dotted.split("."))


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """A plugin's place in a scheduling profile."""

    at: Path
    plugin: DeclaredPlugin | None
    """The plugin that the entry names. None if no declared plugin has this name."""
    weight: object

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of the entry's plugin. Empty if there is no such plugin."""
        if self.plugin is None:
            return ()
        return self.plugin.groups


@dataclass(frozen=True, slots=True)
class SchedulingProfile:
    """A scheduling profile."""

    at: Path
    name: str
    entries: tuple[ProfileEntry, ...]

    def is_for(self, role: str) -> bool:
        """Tell whether a filter of the profile selects the pods of a role.

        Such a filter has a type that selects these pods, or parameters that contain the label of the role.
        """
        filters = (entry.plugin for entry in self.entries if "filter" in entry.groups)
        return any(
            plugin is not None
            and (plugin.facts.role == role or {LLM_D_ROLE, role} <= set(yaml_text.texts(plugin.parameters)))
            for plugin in filters
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """Plugins and profiles of a configuration, and the references to its plugins."""

    path: Path
    config: Mapping[str, Any]
    plugins: tuple[DeclaredPlugin, ...]
    profiles: tuple[SchedulingProfile, ...]
    references: tuple[PluginReference, ...]
    parsers: tuple[tuple[PluginReference, Plugin], ...]
    """References to parsers that get requests, each with the facts of the parser's type. A parser that takes every path
    leaves no requests to the parsers after it."""
    defaults: Mapping[str, str]
    """Names of plugins that the picker uses without a reference to them, each with the required group."""
    added: frozenset[str]
    """Names of the plugins that the picker adds itself."""

    def find(self, name: str) -> DeclaredPlugin | None:
        """Return the declared plugin called `name`. None if there is none."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    def facts_of(self, name: str, facts: PickerFacts) -> Plugin:
        """Return the facts about the declared plugin called `name`, or else about the type of this name."""
        return _facts_of(name, self.find(name), facts)

    @property
    def handlers(self) -> tuple[DeclaredPlugin, ...]:
        """Return the declared profile handlers."""
        return tuple(plugin for plugin in self.plugins if "profile-handler" in plugin.groups)


def parse(path: Path, config: Mapping[str, Any], facts: PickerFacts, external: Sequence[PluginReference] = ()) -> Graph:
    """Return the graph of a configuration.

    The references in `external` come from outside the configuration. They are added unchanged. Items of `plugins` that
    declare no plugin are skipped.
    """
    plugins = tuple(_plugins(path, config, facts))
    by_name = {plugin.name: plugin for plugin in reversed(plugins)}
    references = [*value_shapes.references(path, _without_superseded(config, facts), facts.config.shape), *external]
    for plugin in plugins:
        if plugin.shape is not None:
            references += value_shapes.references(plugin.at / "parameters", _in_effect(plugin), plugin.shape)
    defaults = _default_references(config, facts)
    added = frozenset((*defaults, *_additions(config, plugins, facts)))
    return Graph(
        path,
        config,
        plugins,
        tuple(_profiles(path, config, by_name)),
        tuple(references),
        tuple(_used_parsers(references, by_name, facts)),
        defaults,
        added,
    )


def _facts_of(name: str, declared: DeclaredPlugin | None, facts: PickerFacts) -> Plugin:
    """Return the facts about a declared plugin, or about the type called `name` if no plugin is declared."""
    if declared is None:
        return facts.plugins.table.get(name, UNKNOWN)
    return declared.facts


def _in_effect(plugin: DeclaredPlugin) -> Mapping[str, Any]:
    """Return a plugin's parameters, except those that the picker ignores because another parameter replaces them."""
    superseded = plugin.facts.superseded
    return {key: value for key, value in plugin.parameters.items() if not plugin.parameter(superseded.get(key, ""))}


def _default_references(config: Mapping[str, Any], facts: PickerFacts) -> dict[str, str]:
    """Return the names of plugins that the picker uses without a reference to them, each with the required group."""
    adds = facts.config.adds
    if adds is None:
        return {}
    used = dict[str, str]()
    if not _names_of_parsers(config):
        used = dict.fromkeys(adds.parsers, "parser")
    if feature_gates(config).get(FLOW_CONTROL, False):
        used |= dict(zip(adds.policies, ("ordering", "fairness", "usage-limit"), strict=True))
    if _name_of_detector(config) in ("", adds.detector):
        used[adds.detector] = "detector"
    if _injects_source(config, adds):
        used |= {adds.source: "source", adds.extractor: "extractor"}
    return used


def _additions(config: Mapping[str, Any], plugins: Sequence[DeclaredPlugin], facts: PickerFacts) -> Iterator[str]:
    """Yield the names of the plugins that the picker adds to a configuration."""
    adds = facts.config.adds
    if adds is None:
        yield from (name for name, plugin in facts.plugins.table.items() if plugin.implicit)
        return
    groups = {group for plugin in plugins for group in plugin.groups}
    yield from adds.policies
    yield from (name for name in _names_of_parsers(config) if name in facts.plugins.table)
    if "picker" not in groups:
        yield adds.picker
    if "profile-handler" not in groups:
        yield adds.handler


def _without_superseded(config: Mapping[str, Any], facts: PickerFacts) -> Mapping[str, Any]:
    """Return a configuration without deprecated keys that the picker ignores because the new key is set."""
    superseded = {
        key for key, dotted in facts.config.deprecated.items() if trees.at(config, *dotted.split(".")) not in (None, [])
    }
    return {key: value for key, value in config.items() if key not in superseded}


def _names_of_parsers(config: Mapping[str, Any]) -> list[str]:
    """Return the names of parsers under the current key of a configuration, or else under the deprecated key."""
    parsers = trees.at(config, "requestHandler", "parsers")
    names = [str(item.get("pluginRef")) for _, item in mappings(parsers)]
    return names or [name for name in [_text(config, "parser", "pluginRef")] if name]


def _name_of_detector(config: Mapping[str, Any]) -> str:
    """Return the name of the saturation detector, from the current key or the deprecated one; "" if none is set."""
    section = trees.mapping(config.get(FLOW_CONTROL))
    if section.get("saturationDetector") is None:
        section = config
    return _text(section, "saturationDetector", "pluginRef")


def _injects_source(config: Mapping[str, Any], adds: Additions) -> bool:
    """Tell whether the picker adds its data source to a configuration."""
    if adds.replaces_section:
        return config.get("dataLayer") is None
    section = trees.mapping(config.get("dataLayer"))
    listed = [item.get("pluginRef") for _, item in mappings(section.get("sources"))]
    return section.get("injectDefaults") is not False and adds.source not in listed


def _text(config: Mapping[str, Any], *keys: str) -> str:
    """Return the text at a path; "" if there is none."""
    value = trees.at(config, *keys)
    if isinstance(value, str):
        return value
    return ""


def is_experimental(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Tell whether a configuration declares alpha plugins, which the picker loads only with a flag."""
    return any(plugin.stability == "alpha" for plugin in _declared_types(config, facts))


def predicts_latency(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Tell whether a configuration declares plugins that ask a latency predictor."""
    return any(plugin.predicts_latency for plugin in _declared_types(config, facts))


def reads_tls_metrics(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Tell whether a configuration declares a data source that reads from pods over TLS."""
    return any(
        "source" in plugin.groups and plugin.parameter("scheme") == "https"
        for plugin in _plugins(Path(), config, facts)
    )


def app_protocol(config: Mapping[str, Any], facts: PickerFacts) -> str | None:
    """Return the appProtocol that the pool needs for the parsers of a configuration. None if the default is enough."""
    if not any(_PARSER_WORD in str(facts.config.shape.get(key)) for key in config):
        return None
    if any(plugin.protocols == [H2C] for _, plugin in parse(Path(), config, facts).parsers):
        return H2C
    return None


def feature_gates(config: Mapping[str, Any]) -> dict[str, bool]:
    """Return the feature gates that a configuration names. The value is True if the gate is on."""
    gates = trees.sequence(config.get("featureGates"))
    parts = [gate.partition("=") for gate in gates if isinstance(gate, str)]
    return {name: value.partition("=")[0].strip().lower() not in {"false", "f", "0"} for name, _, value in parts}


def _used_parsers(
    references: Iterable[PluginReference], by_name: Mapping[str, DeclaredPlugin], facts: PickerFacts
) -> Iterator[tuple[PluginReference, Plugin]]:
    """Yield every reference to a parser that gets requests, with the facts of the parser's type."""
    for reference in references:
        if reference.groups == ("parser",):
            plugin = _facts_of(reference.name, by_name.get(reference.name), facts)
            if "parser" in plugin.groups:
                yield reference, plugin
                if plugin.takes_every_path:
                    return


def _declared_types(config: Mapping[str, Any], facts: PickerFacts) -> Iterator[Plugin]:
    """Yield the release facts about the type of each declared plugin. Types that the release lacks are skipped."""
    for _, item in mappings(config.get("plugins")):
        plugin = facts.plugins.table.get(str(item.get("type")))
        if plugin is not None:
            yield plugin


def _plugins(path: Path, config: Mapping[str, Any], facts: PickerFacts) -> Iterator[DeclaredPlugin]:
    for index, item in mappings(config.get("plugins")):
        type_name = item.get("type")
        parameters = item.get("parameters")
        if isinstance(type_name, str):
            known = facts.plugins.table.get(type_name, UNKNOWN)
            name = _text(item, "name")
            canonical = _canonical(parameters, known)
            yield DeclaredPlugin(
                at=path / "plugins" / index,
                name=name or type_name,
                type=type_name,
                parameters=canonical,
                written=parameters,
                facts=known,
                named=bool(item.get("name")),
                shape=_shape(known, canonical),
            )


def _canonical(parameters: object, facts: Plugin) -> dict[str, Any]:
    """Return parameters with keys spelt as in the release facts. The picker ignores the case of letters in keys."""
    if not isinstance(parameters, dict):
        return {}
    shape = {**(facts.parameters or {}), **(facts.former_parameters or {})}
    return cast("dict[str, Any]", value_shapes.canonical(cast("dict[str, Any]", parameters), shape))


def _shape(facts: Plugin, parameters: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the shape that parameters must have.

    It is the former shape if some key is only in the former shape, and no key is only in the current shape.
    """
    current = facts.parameters
    former = facts.former_parameters
    if current is None or former is None:
        return current
    keys = {value_shapes.known_key(key, {**current, **former}) for key in parameters}
    if keys & (former.keys() - current.keys()) and not keys & (current.keys() - former.keys()):
        return former
    return current


def _profiles(
    path: Path, config: Mapping[str, Any], by_name: Mapping[str, DeclaredPlugin]
) -> Iterator[SchedulingProfile]:
    for index, item in mappings(config.get("schedulingProfiles")):
        at = path / "schedulingProfiles" / index
        entries = tuple(
            ProfileEntry(at / "plugins" / place, by_name.get(str(entry.get("pluginRef"))), entry.get("weight"))
            for place, entry in mappings(item.get("plugins"))
        )
        yield SchedulingProfile(at, str(item.get("name", "")), entries)


def mappings(value: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the items of a list that are mappings, each with its index."""
    for index, item in enumerate(trees.sequence(value)):
        if isinstance(item, dict):
            yield index, cast("dict[str, Any]", item)
