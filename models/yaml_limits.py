"""Limits of what a text of YAML or JSON may become: nested levels, and values that aliases repeat.

Without limits, 300 bytes of aliases to lists of aliases fill the memory. go-yaml counts values while it decodes them,
and stops if nearly all of them come from aliases. The same count with the same numbers stops the readers of this
program, so that a file that Pulumi's engine or an endpoint picker reads is read here, too.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import yaml

from models.paths import Path
from models.problems import ConfigError, Problem
from models.trees import mapping, sequence

MAX_LEVELS = 100
"""Maximum number of nested mappings and lists. Every function that walks through values survives this number."""
_FEW_ALIASED = 100
_FEW_DECODED = 1_000
"""Numbers of values up to which any share may come from aliases (gopkg.in/yaml.v3 v3.0.1, decode.go, `unmarshal`;
gopkg.in/yaml.v2 v2.4.0 has the same numbers)."""
_SMALL = 400_000
_LARGE = 4_000_000
"""Numbers of decoded values from which the permitted share falls, and up to which it falls (`allowedAliasRatio`)."""
_SHARE_OF_SMALL = 0.99
_SHARE_OF_LARGE = 0.10
_MERGE = "<<"
TOO_DEEP = "is nested too deeply"
PLAIN = "plain"
"""End of the tag that the readers give to an unquoted scalar without a tag."""
_Place = tuple[yaml.Node, int]
"""A mapping or a list, and the position of a key, a value or an item in it."""


class TooManyAliasesError(yaml.YAMLError):
    """The aliases of a text repeat more values than go-yaml decodes."""


class TooManyLevelsError(yaml.YAMLError):
    """A text has more than `MAX_LEVELS` nested levels."""


class BoundedScanner:
    """Mixin of PyYAML's loaders in Python. It stops at nested levels before it reads all of them.

    The time that PyYAML takes for a text grows with the square of the levels.
    """

    flow_level: int
    indents: list[int]

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:  # noqa: ANN401, N803, the signature is YAML's
        """Read a bracket or a brace that opens a list or a mapping."""
        self._check_levels(self.flow_level)
        cast("Any", super()).fetch_flow_collection_start(TokenClass)

    def add_indent(self, column: int) -> bool:
        """Note that an indented list or mapping begins at a column, and return whether it does."""
        self._check_levels(len(self.indents))
        return cast("Any", super()).add_indent(column)

    def _check_levels(self, levels: int) -> None:
        if levels >= MAX_LEVELS:
            raise TooManyLevelsError


def check_levels(text: str, loader: type[Any]) -> None:
    """Raise `TooManyLevelsError` if a text has too many levels. `loader` is a loader by libyaml.

    libyaml composes nodes by recursion without a limit, and finds events, such as the start of a list, without it.
    """
    levels = 0
    for event in yaml.parse(text, Loader=loader):
        levels += isinstance(event, yaml.CollectionStartEvent)
        levels -= isinstance(event, yaml.CollectionEndEvent)
        if levels > MAX_LEVELS:
            raise TooManyLevelsError


def check(root: yaml.Node) -> None:
    """Raise `TooManyLevelsError` or `TooManyAliasesError` if the nodes of a text exceed a limit."""
    places = _alias_places(root)
    if places:
        _Decoding(places).decode(root)


def is_too_deep(value: object) -> bool:
    """Return whether plain values have more than `MAX_LEVELS` nested levels."""
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [inner for item in level for inner in _items(item) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def refuse_too_deep(tree: object, earlier: Iterable[Problem] = ()) -> None:
    """Raise `ConfigError` if a value of a configuration has too many nested levels. The error also has `earlier`."""
    remedy = f"write at most {MAX_LEVELS} levels"
    problems = [Problem(Path(str(key)), TOO_DEEP, remedy) for key, value in mapping(tree).items() if is_too_deep(value)]
    if problems:
        raise ConfigError([*earlier, *problems])


def _items(value: object) -> Sequence[object]:
    return (*mapping(value).values(), *sequence(value))


def _alias_places(root: yaml.Node) -> frozenset[_Place]:
    """Return the places of all aliases. A node stands first where it is written, and then wherever an alias repeats it.

    Raises `TooManyLevelsError` for a text with too many levels.
    """
    seen = set[yaml.Node]()
    places = set[_Place]()
    # Nodes that are not yet visited, in reverse order of the text, each with its place and its level.
    ahead = list[tuple[yaml.Node, _Place, int]]([(root, (root, 0), 0)])
    while ahead:
        node, place, level = ahead.pop()
        if node in seen:
            places.add(place)
            continue
        seen.add(node)
        if isinstance(node, yaml.ScalarNode):
            continue
        if level >= MAX_LEVELS:
            raise TooManyLevelsError
        below = [(inner, (node, position), level + 1) for position, inner in enumerate(_children(node))]
        ahead += reversed(below)
    return frozenset(places)


def _children(node: yaml.Node) -> list[yaml.Node]:
    """Return the items of a list, or the keys and values of a mapping in turn."""
    if isinstance(node, yaml.MappingNode):
        return [inner for pair in cast("list[tuple[yaml.Node, yaml.Node]]", node.value) for inner in pair]
    return cast("list[yaml.Node]", node.value)


class _Decoding:
    """The course of a decoding by go-yaml: how many values it decodes, and how many of them inside of aliases."""

    def __init__(self, places: frozenset[_Place]) -> None:
        self._places = places
        self._decoded = 1  # the document itself
        self._aliased = self._alias_depth = 0
        self._ancestors = set[yaml.Node]()

    def decode(self, node: yaml.Node, place: _Place | None = None, merged: set[str] | None = None) -> None:
        """Count a node and all that is below it. `merged` has the keys that a merge (`<<`) has set so far."""
        self._count()
        if place not in self._places:
            self._decode_content(node, merged)
            return
        self._alias_depth += 1
        self._count()
        self._decode_content(node, merged)
        self._alias_depth -= 1

    def _count(self) -> None:
        self._decoded += 1
        self._aliased += self._alias_depth > 0
        is_small = self._aliased <= _FEW_ALIASED or self._decoded <= _FEW_DECODED
        if not is_small and self._aliased > self._decoded * _permitted_share(self._decoded):
            raise TooManyAliasesError

    def _decode_content(self, node: yaml.Node, merged: set[str] | None) -> None:
        # The readers refuse an alias to a value around it, with the place of the alias.
        if isinstance(node, yaml.ScalarNode) or node in self._ancestors:
            return
        if len(self._ancestors) >= MAX_LEVELS:
            raise TooManyLevelsError
        self._ancestors.add(node)
        if isinstance(node, yaml.MappingNode):
            self._decode_mapping(node, merged)
        else:
            for position, item in enumerate(_children(node)):
                self.decode(item, (node, position))
        self._ancestors.remove(node)

    def _decode_mapping(self, node: yaml.MappingNode, merged: set[str] | None) -> None:
        """Count keys and values, and then what a merge adds. Values of keys that are set already are not decoded."""
        children = _children(node)
        merge = None
        for position in range(0, len(children), 2):
            key = children[position]
            if _is_merge(key):
                merge = position + 1
                continue
            self.decode(key, (node, position))
            if merged is not None and isinstance(key, yaml.ScalarNode):
                if key.value in merged:
                    continue
                merged.add(cast("str", key.value))
            self.decode(children[position + 1], (node, position + 1))
        if merge is not None:
            self._decode_merge(node, merge, merged)

    def _decode_merge(self, node: yaml.MappingNode, position: int, merged: set[str] | None) -> None:
        children = _children(node)
        source = children[position]
        if merged is None:
            for key in range(0, len(children), 2):
                self.decode(children[key], (node, key))
            merged = {cast("str", key.value) for key in children[::2] if isinstance(key, yaml.ScalarNode)}
        if isinstance(source, yaml.SequenceNode):
            for index, mapping in enumerate(_children(source)):
                self.decode(mapping, (source, index), merged)
        else:
            self.decode(source, (node, position), merged)


def _is_merge(key: yaml.Node) -> bool:
    return key.value == _MERGE and key.tag.endswith(PLAIN)


def _permitted_share(decoded: int) -> float:
    """Return the share of decoded values that may come from aliases."""
    progress = min(max((decoded - _SMALL) / (_LARGE - _SMALL), 0.0), 1.0)
    return _SHARE_OF_SMALL - (_SHARE_OF_SMALL - _SHARE_OF_LARGE) * progress
