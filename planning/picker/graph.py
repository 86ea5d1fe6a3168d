"""A picker's configuration as a graph of plugins: what is declared, and what names what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from models.paths import Path
from planning.ground.labels import LLM_D_ROLE
from planning.picker import shapes
from planning.picker.shapes import Reference
from planning.releases import PickerFacts, Plugin

H2C = "kubernetes.io/h2c"
FLOW_CONTROL = "flowControl"
"""Both the gate and the section."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared plugin."""

    at: Path
    name: str
    type: str
    parameters: Mapping[str, Any]
    facts: Plugin | None
    """Absent: the release knows no such type."""
    named: bool

    @property
    def groups(self) -> tuple[str, ...]:
        """Return what it can be used as."""
        return () if self.facts is None else tuple(self.facts.groups)

    def place(self, dotted: str) -> Path:
        """Return where a parameter stands, by the name that the release has for it."""
        return Path(*self.at, "parameters", *dotted.split("."))

    def parameter(self, dotted: str) -> object:
        """Return a parameter by the name that the release has for it; nothing where it is not written."""
        value: object = self.parameters
        for part in dotted.split("."):
            value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True, slots=True)
class Entry:
    """One plugin in a profile."""

    at: Path
    plugin: Declared | None
    """Absent: its name means nothing."""
    weight: object

    @property
    def groups(self) -> tuple[str, ...]:
        """Return what its plugin can be used as."""
        return () if self.plugin is None else self.plugin.groups


@dataclass(frozen=True, slots=True)
class Profile:
    """One scheduling profile."""

    at: Path
    name: str
    entries: tuple[Entry, ...]

    def is_for(self, role: str) -> bool:
        """Say whether it leaves the pods of one role: by that role's filter, or by the role's label."""
        filters = (one.plugin for one in self.entries if "filter" in one.groups)
        return any(
            plugin is not None
            and plugin.facts is not None
            and (plugin.facts.role == role or {LLM_D_ROLE, role} <= set(_texts(plugin.parameters)))
            for plugin in filters
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """What a configuration declares, and what names what."""

    path: Path
    config: Mapping[str, Any]
    plugins: tuple[Declared, ...]
    profiles: tuple[Profile, ...]
    references: tuple[Reference, ...]

    def find(self, name: str) -> Declared | None:
        """Return a plugin by name."""
        return next((one for one in self.plugins if one.name == name), None)

    @property
    def handlers(self) -> tuple[Declared, ...]:
        """Return the profile handlers."""
        return tuple(one for one in self.plugins if "profile-handler" in one.groups)


def graph(path: Path, config: Mapping[str, Any], facts: PickerFacts, elsewhere: Sequence[Reference] = ()) -> Graph:
    """Read a configuration, and what names its plugins from elsewhere. What has no plugin's form is passed over."""
    declared = tuple(_declared(path, config, facts))
    by_name = {one.name: one for one in reversed(declared)}
    named = [*shapes.references(path, config, facts.config.shape), *elsewhere]
    for one in declared:
        if one.facts is not None and one.facts.parameters is not None:
            named += shapes.references(one.at / "parameters", one.parameters, one.facts.parameters)
    return Graph(path, config, declared, tuple(_profiles(path, config, by_name)), tuple(named))


def is_experimental(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Say whether the picker has to be told to load alpha plugins."""
    found = _declared(Path(), config, facts)
    return any(one.facts is not None and one.facts.stability == "alpha" for one in found)


def predicts_latency(config: Mapping[str, Any], facts: PickerFacts) -> bool:
    """Say whether a configuration asks a latency predictor."""
    found = _declared(Path(), config, facts)
    return any(one.facts is not None and one.facts.predicts_latency for one in found)


def app_protocol(config: Mapping[str, Any], facts: PickerFacts) -> str | None:
    """Return what the pool's appProtocol has to be for the parsers of a configuration; nothing where any will do."""
    if not any(one.groups == ("parser",) for one in shapes.references(Path(), config, facts.config.shape)):
        return None
    used = used_parsers(graph(Path(), config, facts), facts)
    return H2C if any(plugin.protocols == [H2C] for _, plugin in used) else None


def gate_names(config: Mapping[str, Any]) -> dict[str, bool]:
    """Return the feature gates that a configuration sets."""
    written = config.get("featureGates")
    gates = cast("list[object]", written) if isinstance(written, list) else []
    parts = [gate.partition("=") for gate in gates if isinstance(gate, str)]
    return {name: value.strip().lower() != "false" for name, _, value in parts}


def used_parsers(read: Graph, facts: PickerFacts) -> Iterator[tuple[Reference, Plugin]]:
    """Yield every parser that is named, and what it is."""
    for one in read.references:
        if one.groups == ("parser",):
            target = read.find(one.name)
            plugin = target.facts if target is not None else facts.plugins.table.get(one.name)
            if plugin is not None and "parser" in plugin.groups:
                yield one, plugin


def _declared(path: Path, config: Mapping[str, Any], facts: PickerFacts) -> Iterator[Declared]:
    for index, item in _mappings(config.get("plugins")):
        kind, name, parameters = item.get("type"), item.get("name"), item.get("parameters")
        if isinstance(kind, str):
            yield Declared(
                at=path / "plugins" / index,
                name=name if isinstance(name, str) and name else kind,
                type=kind,
                parameters=cast("dict[str, Any]", parameters) if isinstance(parameters, dict) else {},
                facts=facts.plugins.table.get(kind),
                named=bool(name),
            )


def _profiles(path: Path, config: Mapping[str, Any], by_name: Mapping[str, Declared]) -> Iterator[Profile]:
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
    """Yield every text in a value, keys of mappings included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)
