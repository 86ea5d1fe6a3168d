"""Edits of numbers in YAML files. Every other character of the file stays: comments, quotes, layout, ends of lines."""

from collections.abc import Iterator
from typing import cast

import yaml

from models import engine_yaml
from models.paths import Path
from models.trees import at as value_at

_MERGE = "<<"


class UneditableError(ValueError):
    """A value cannot be edited in its place. The text is the predicate of a sentence about the value."""


def with_number(text: str, path: Path, number: int) -> str:
    """Return a text with another number at a path of its tree. A number that is right already stays as it is.

    The text has been read by `engine_yaml.parse` without errors. Raises `UneditableError` if the value comes from an
    alias, a merge or an anchor, because an edit would change other values, or if it is no plain number.
    """
    names = tuple(map(str, path))
    if value_at(_tree(text), *names) == number:
        return text
    node = node_at(engine_yaml.nodes(text), names)
    start = cast("int", node.start_mark.index)
    end = cast("int", node.end_mark.index)
    if not isinstance(node, yaml.ScalarNode) or not text[start:end].isdecimal():
        raise UneditableError("is not written as a plain number")
    edited = f"{text[:start]}{number}{text[end:]}"
    if not _differs_only_at(names, number, text, edited):
        raise UneditableError("cannot be changed without changing other values")
    return edited


def _tree(text: str) -> object:
    return engine_yaml.parse(text, "").tree


def node_at(root: yaml.Node | None, names: tuple[str, ...]) -> yaml.Node:
    """Return the node of a value. Raises `UneditableError` if the value is not written at its place alone."""
    repeated = aliased_nodes(root)
    node = root
    for name in names:
        values = [value for key, value in pairs(node) if key.value == name]
        if not values:
            raise UneditableError(f"comes from another place of the file, by a merge ({_MERGE})")
        node = values[-1]
        if node in repeated:
            raise UneditableError("is repeated by an alias, so that an edit would change other values")
    if node is None:
        raise UneditableError("is not written in the file")
    return node


def pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    """Yield the keys and values of a mapping; none of anything else."""
    if isinstance(node, yaml.MappingNode):
        yield from cast("list[tuple[yaml.Node, yaml.Node]]", node.value)


def aliased_nodes(root: yaml.Node | None) -> set[yaml.Node]:
    """Return the nodes that stand at several places: those with an anchor to which aliases lead."""
    seen = set[yaml.Node]()
    repeated = set[yaml.Node]()
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if node is None:
            continue
        if node in seen:
            repeated.add(node)
            continue
        seen.add(node)
        if isinstance(node, yaml.MappingNode):
            ahead += [inner for pair in pairs(node) for inner in pair]
        elif isinstance(node, yaml.SequenceNode):
            ahead += cast("list[yaml.Node]", node.value)
    return repeated


def _differs_only_at(names: tuple[str, ...], number: int, text: str, edited: str) -> bool:
    """Tell whether two texts have the same tree but for a number."""
    tree = _tree(text)
    holder = value_at(tree, *names[:-1])
    if not isinstance(holder, dict):
        return False
    cast("dict[str, object]", holder)[names[-1]] = number
    return _tree(edited) == tree
