"""Moves of the keys of a mapping into the mapping that holds it, in the text of a YAML file.

Only values that are written in one line are moved, because a longer one would need another indentation.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import yaml

from models import engine_yaml
from models.paths import Path
from models.problems import ConfigError
from models.trees import at, mapping
from models.yaml_edits import UneditableError, aliased_nodes, node_at, pairs

_BLOCK_STYLES = frozenset({"|", ">"})


def fold(text: str, path: Path, key: str, left_out: Collection[str]) -> str:
    """Return a text in which the mapping at a path has the entries of its own entry `key` in place of that entry.

    Entries whose names are in `left_out` go. Everything that is not moved stays as it is, and every other value of the
    file as well. The text has been read by `engine_yaml.parse` without errors. Raises `UneditableError` if an entry
    cannot be moved.
    """
    names = tuple(map(str, path))
    root = engine_yaml.nodes(text)
    outer = node_at(root, names)
    inner = node_at(root, (*names, key))
    move = _Move(text, aliased_nodes(root))
    entries = [(name, value) for name, value in pairs(inner) if name.value not in left_out]
    move.merge(entries, outer, key)
    move.remove(outer, key)
    edited = move.result()
    if _edited_tree(edited) != _tree_after_fold(engine_yaml.parse(text, "").tree, names, key, left_out):
        raise UneditableError("cannot be moved without changing other values")
    return edited


def _edited_tree(text: str) -> object:
    """Return the values of an edited text. Raises `UneditableError` if it is no YAML any more."""
    try:
        return engine_yaml.parse(text, "").tree
    except ConfigError:
        raise UneditableError("cannot be moved without breaking the file") from None


def _tree_after_fold(tree: object, names: Sequence[str], key: str, left_out: Collection[str]) -> object:
    """Return a tree in which the mapping at `names` has the entries of its entry `key` in place of that entry."""
    if names:
        return {**mapping(tree), names[0]: _tree_after_fold(at(tree, names[0]), names[1:], key, left_out)}
    outer = {name: value for name, value in mapping(tree).items() if name != key}
    inner = {name: value for name, value in mapping(at(tree, key)).items() if name not in left_out}
    return _merge_trees(outer, inner)


def _merge_trees(target: Mapping[str, object], entries: Mapping[str, object]) -> Mapping[str, object]:
    """Return a mapping with the entries of another one over its own."""
    result = dict(target)
    for name, value in entries.items():
        former = target.get(name)
        result[name] = value
        if all(isinstance(part, Mapping) for part in (former, value)):
            result[name] = _merge_trees(mapping(former), mapping(value))
    return result


@dataclass(slots=True)
class _Move:
    """Edits of a text."""

    text: str
    aliased: Collection[yaml.Node]
    """Nodes to which aliases lead."""
    edits: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    """Start and end of each part that is replaced, and the text in its place."""

    def merge(self, entries: Collection[tuple[yaml.Node, yaml.Node]], target: yaml.Node, left_out: str = "") -> None:
        """Put entries into a mapping: over the values that it has, or as new entries before its first one."""
        present = {name.value: value for name, value in pairs(target) if name.value != left_out}
        for name, value in entries:
            former = present.get(name.value)
            if former is None:
                self._insert(name, value, target)
            elif isinstance(former, yaml.MappingNode) and isinstance(value, yaml.MappingNode):
                self.merge([*pairs(value)], former)
            else:
                start, end = self._span(former)
                self.edits.append((start, end, self._line(value)))

    def remove(self, target: yaml.Node, key: str) -> None:
        """Remove an entry of a mapping, in block style with its lines."""
        name, value = next((name, value) for name, value in pairs(target) if name.value == key)
        if any(node in self.aliased for node in _nodes(value)):
            raise UneditableError("has values with aliases")
        start = _start(name)
        end = max(map(self._last, _leaves(value)))
        if _is_flow(target):
            following = _blanks(self.text, end, 1)
            if self.text[following : following + 1] == ",":
                end = _blanks(self.text, following + 1, 1)
            else:
                start = self._before_comma(start)
        else:
            start = self._line_start(start)
            end = (self.text.find("\n", end) + 1) or len(self.text)
        self.edits.append((start, end, ""))

    def result(self) -> str:
        """Return the edited text. Insertions at one place come in their order."""
        text = self.text
        ordered = sorted(enumerate(self.edits), key=lambda entry: (*entry[1][:2], entry[0]), reverse=True)
        for _, (start, end, replacement) in ordered:
            text = f"{text[:start]}{replacement}{text[end:]}"
        return text

    def _insert(self, name: yaml.Node, value: yaml.Node, target: yaml.Node) -> None:
        entry = f"{self._line(name)}: {self._line(value)}"
        if _is_flow(target):
            place = _start(target) + 1
            self.edits.append((place, place, f"{entry}, "))
            return
        first = next(first for first, _ in pairs(target))
        place = self._line_start(_start(first))
        ending = "\n"
        if self.text[:place].endswith("\r\n"):
            ending = "\r\n"
        self.edits.append((place, place, f"{self.text[place : _start(first)]}{entry}{ending}"))

    def _last(self, leaf: yaml.Node) -> int:
        """Return the end of a value. The mark of a text in block style is the start of a line after its last one."""
        end = _end(leaf)
        if isinstance(leaf, yaml.ScalarNode) and leaf.style in _BLOCK_STYLES:
            return len(self.text[:end].rstrip(" \r\n"))
        return end

    def _line_start(self, index: int) -> int:
        """Return the start of the line of an entry. Raises `UneditableError` if something is before the entry."""
        start = self.text.rfind("\n", 0, index) + 1
        if self.text[start:index].strip():
            raise UneditableError("is not at the beginning of a line")
        return start

    def _before_comma(self, index: int) -> int:
        place = _blanks(self.text, index - 1, -1)
        if self.text[place] == ",":
            return place
        return place + 1

    def _line(self, node: yaml.Node) -> str:
        """Return the text of a value that is written in one line."""
        start, end = self._span(node)
        if "\n" in self.text[start:end] or any(leaf in self.aliased for leaf in _nodes(node)):
            raise UneditableError("has values of several lines or with aliases")
        return self.text[start:end]

    def _span(self, node: yaml.Node) -> tuple[int, int]:
        """Return start and end of a value whose marks are exact: not of one in block style."""
        is_block = isinstance(node, yaml.CollectionNode) and not _is_flow(node)
        if is_block or (isinstance(node, yaml.ScalarNode) and node.style in _BLOCK_STYLES) or node in self.aliased:
            raise UneditableError("has values of several lines or with aliases")
        return _start(node), _end(node)


def _start(node: yaml.Node) -> int:
    return cast("int", node.start_mark.index)


def _end(node: yaml.Node) -> int:
    return cast("int", node.end_mark.index)


def _is_flow(node: yaml.Node) -> bool:
    """Tell whether a node is a list or a mapping in brackets or braces."""
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _blanks(text: str, index: int, step: int) -> int:
    """Return the first index from another one on, in the direction of `step`, that has no blank."""
    while 0 <= index < len(text) and text[index].isspace():
        index += step
    return index


def _nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield a node and all below it."""
    yield node
    if isinstance(node, yaml.MappingNode):
        for pair in pairs(node):
            yield from _nodes(pair[0])
            yield from _nodes(pair[1])
    elif isinstance(node, yaml.SequenceNode):
        for item in cast("list[yaml.Node]", node.value):
            yield from _nodes(item)


def _leaves(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the nodes at or below a node that end where their text does: scalars, and collections in flow style."""
    for inner in _nodes(node):
        if not isinstance(inner, yaml.CollectionNode) or _is_flow(inner):
            yield inner
