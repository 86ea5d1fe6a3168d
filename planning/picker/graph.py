"""An endpoint picker's configuration as a graph: plugins, profiles, and the references between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from models.paths import Path
from planning.ground.labels import LLM_D_ROLE
from planning.picker import shapes
from planning.picker.shapes import Reference
from planning.releases import PickerFacts, Plugin

H2C = "kubernetes.io/h2c"
"""appProtocol of HTTP/2 without TLS."""
FLOW_CONTROL = "flowControl"
"""Name of the feature gate for flow control, and of the section of the configuration that the gate enables."""
_PARSER_WORD = f"{shapes.PLUGIN}parser"
"""Shapes of configurations (in the release facts) have this text at a field that holds the name of a parser."""


@dataclass(frozen=True, slots=True)
class DeclaredPlugin:
    """A plugin that the configuration declares."""

    at: Path
    name: str
    type: str
    parameters: Mapping[str, Any]
    facts: Plugin | None
    """Facts about the type. None if the release has no such type."""
    named: bool
    """Whether the configuration gives it a name. Otherwise its type is also its name."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of the plugin's type. They determine where the plugin can be used."""
        return () if self.facts is None else tuple(self.facts.groups)

    def place(self, dotted: str) -> Path:
        """Return the path of a parameter, by the dotted name that the release facts use."""
        return Path(*self.at, "parameters", *dotted.split("."))

    def parameter(self, dotted: str) -> object:
        """Return the value of a parameter, by the dotted name that the release facts use. None if it is absent."""
        value: object = self.parameters
        for part in dotted.split("."):
            value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """A plugin's place in a scheduling profile."""

    at: Path
    plugin: DeclaredPlugin | None
    """The plugin that the entry names. None if no declared plugin has this name."""
    weight: object

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of the entry's plugin. Empty if there is no such plugin."""
        return () if self.plugin is None else self.plugin.groups


@dataclass(frozen=True, slots=True)
class Profile:
    """A scheduling profile."""

    at: Path
    name: str
    entries: tuple[Entry, ...]

    def is_for(self, role: str) -> bool:
        """Tell whether a filter of the profile selects the pods of a role, by its type or by the role's label."""
        filters = (entry.plugin for entry in self.entries if "filter" in entry.groups)
        return any(
            plugin is not None
            and plugin.facts is not None
            and (plugin.facts.role == role or {LLM_D_ROLE, role} <= set(_texts(plugin.parameters)))
            for plugin in filters
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """Plugins and profiles of a configuration, and the references to its plugins."""

    path: Path
    config: Mapping[str, Any]
    plugins: tuple[DeclaredPlugin, ...]
    profiles: tuple[Profile, ...]
    references: tuple[Reference, ...]

    def find(self, name: str) -> DeclaredPlugin | None:
        """Return the declared plugin called `name`. None if there is none."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    @property
    def handlers(self) -> tuple[DeclaredPlugin, ...]:
        """Return the declared profile handlers."""
        return tuple(plugin for plugin in self.plugins if "profile-handler" in plugin.groups)


def parse(path: Path, config: Mapping[str, Any], facts: PickerFacts, external: Sequence[Reference] = ()) -> Graph:
    """Return the graph of a configuration.

    The references in `external` come from outside the configuration. They are added unchanged. Items of the list of
    plugins that are not plugins are skipped.
    """
    plugins = tuple(_plugins(path, config, facts))
    by_name = {plugin.name: plugin for plugin in reversed(plugins)}
    references = [*shapes.references(path, config, facts.config.shape), *external]
    for plugin in plugins:
        if plugin.facts is not None and plugin.facts.parameters is not None:
            references += shapes.references(plugin.at / "parameters", plugin.parameters, plugin.facts.parameters)
    return Graph(path, config, plugins, tuple(_profiles(path, config, by_name)), tuple(references))


def is_experimental(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Tell whether a configuration declares alpha plugins, which the picker loads only with a flag."""
    return any(plugin.stability == "alpha" for plugin in _declared_types(config, facts))


def predicts_latency(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Tell whether a configuration declares plugins that ask a latency predictor."""
    return any(plugin.predicts_latency for plugin in _declared_types(config, facts))


def reads_tls_metrics(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Tell whether a configuration declares a data source that asks pods over TLS."""
    return any(
        "source" in plugin.groups and plugin.parameter("scheme") == "https"
        for plugin in _plugins(Path(), config, facts)
    )


def app_protocol(config: Mapping[str, Any], facts: PickerFacts) -> str | None:
    """Return the pool's appProtocol that the parsers of a configuration need. None if the default is enough."""
    if not any(_PARSER_WORD in str(facts.config.shape.get(key)) for key in config):
        return None
    parsers = used_parsers(parse(Path(), config, facts), facts)
    return H2C if any(plugin.protocols == [H2C] for _, plugin in parsers) else None


def feature_gates(config: Mapping[str, Any]) -> dict[str, bool]:
    """Return the feature gates that a configuration names. The value is True if the gate is on."""
    entries = config.get("featureGates")
    gates = cast("list[object]", entries) if isinstance(entries, list) else []
    parts = [gate.partition("=") for gate in gates if isinstance(gate, str)]
    return {name: value.strip().lower() != "false" for name, _, value in parts}


def used_parsers(graph: Graph, facts: PickerFacts) -> Iterator[tuple[Reference, Plugin]]:
    """Yield every reference to a parser, with the facts of its type."""
    for reference in graph.references:
        if reference.groups == ("parser",):
            declared = graph.find(reference.name)
            plugin = declared.facts if declared is not None else facts.plugins.table.get(reference.name)
            if plugin is not None and "parser" in plugin.groups:
                yield reference, plugin


def _declared_types(config: Mapping[str, Any], facts: PickerFacts) -> Iterator[Plugin]:
    """Yield the facts of the type of each declared plugin, if the release has the type."""
    for _, item in _mappings(config.get("plugins")):
        plugin = facts.plugins.table.get(str(item.get("type")))
        if plugin is not None:
            yield plugin


def _plugins(path: Path, config: Mapping[str, Any], facts: PickerFacts) -> Iterator[DeclaredPlugin]:
    for index, item in _mappings(config.get("plugins")):
        type_name, name, parameters = item.get("type"), item.get("name"), item.get("parameters")
        if isinstance(type_name, str):
            yield DeclaredPlugin(
                at=path / "plugins" / index,
                name=name if isinstance(name, str) and name else type_name,
                type=type_name,
                parameters=cast("dict[str, Any]", parameters) if isinstance(parameters, dict) else {},
                facts=facts.plugins.table.get(type_name),
                named=bool(name),
            )


def _profiles(path: Path, config: Mapping[str, Any], by_name: Mapping[str, DeclaredPlugin]) -> Iterator[Profile]:
    for index, item in _mappings(config.get("schedulingProfiles")):
        at = path / "schedulingProfiles" / index
        entries = tuple(
            Entry(at / "plugins" / place, by_name.get(str(entry.get("pluginRef"))), entry.get("weight"))
            for place, entry in _mappings(item.get("plugins"))
        )
        yield Profile(at, str(item.get("name", "")), entries)


def _mappings(value: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, item in enumerate(cast("list[object]", value) if isinstance(value, list) else []):
        if isinstance(item, dict):
            yield index, cast("dict[str, Any]", item)


def _texts(value: object) -> Iterator[str]:
    """Yield every text inside a value, including keys of mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)
