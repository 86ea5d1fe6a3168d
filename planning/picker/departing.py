"""Names in a configuration that the router of a release no longer has, or that a later router removes."""

from collections.abc import Iterator, Mapping
from typing import Any

from models import trees
from models.paths import Path
from models.problems import Problem
from planning.ground.labels import LLM_D_ROLE
from planning.picker.graph import DeclaredPlugin, Graph
from planning.releases import Release, departures


def problems(graph: Graph, release: Release) -> Iterator[Problem]:
    """Yield an error for each name that the router of the release lacks, a warning for each that a later one lacks.

    Role labels are left out: `roles` has them.
    """
    for key in _keys(graph.config):
        yield from departures.problems(Path(*graph.path, *key), "key", str(key), release)
    for plugin in graph.plugins:
        yield from departures.problems(plugin.at / "type", "plugin", plugin.type, release)
        for at, name in _parameters(plugin):
            yield from departures.problems(at, "parameter", name, release)


def roles(graph: Graph, release: Release) -> Iterator[Problem]:
    """Yield a problem for each value of the role label that filters of the router no longer select.

    The router starts with such a value, because a selector may name any label.
    """
    for plugin in graph.plugins:
        leaves = list(trees.leaves(plugin.written, plugin.at / "parameters"))
        if not any(LLM_D_ROLE in (value, *at) for at, value in leaves):
            continue
        for at, value in leaves:
            yield from departures.problems(at, "role", str(value), release)


def _keys(config: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the paths in `departures` at which a configuration has a value."""
    for name in departures.of_kind("key"):
        if trees.at(config, *name.split(".")) is not None:
            yield Path(*name.split("."))


def _parameters(plugin: DeclaredPlugin) -> Iterator[tuple[Path, str]]:
    """Yield the paths of a plugin's parameters in `departures`, each with its name there. The case of keys is free."""
    written = {key.lower(): key for key in trees.mapping(plugin.written)}
    for name in departures.of_kind("parameter"):
        kind, _, parameter = name.partition(".")
        if kind == plugin.type and parameter.lower() in written:
            yield plugin.at / "parameters" / written[parameter.lower()], name
