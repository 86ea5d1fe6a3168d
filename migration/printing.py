"""Text of a configuration with comments: differences beside their keys, and values that are commented out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from migration.notes import Note
from models.paths import Path
from planning.ground import yaml_text

_TOP = Path("config", "inference-stacks:stack")
_INDENT = "  "
_WIDTH = 116
"""Longest comment line in characters."""


@dataclass(frozen=True, slots=True)
class CommentedOut:
    """A value that the configuration refuses."""

    path: Path
    value: object
    reason: str
    """The reason; empty if it is that of the value before it."""


def text(tree: Mapping[str, Any], notes: Sequence[Note], refused: Sequence[CommentedOut] = ()) -> str:
    """Return a stack file with a configuration.

    A note with a key stands above this key, or above the nearest key around it. A refused value stands, commented out
    with the reason, at the end of the mapping or list that had it.
    """
    comments = dict[Path, list[str]]()
    for note in notes:
        if note.key is not None and note.fate != "carried":
            comments.setdefault(_nearest(tree, note.key), []).append(note.sentence)
    blocks = dict[Path, list[CommentedOut]]()
    for value in refused:
        blocks.setdefault(_nearest(tree, value.path.parent), []).append(value)
    writer = _Writer(comments, blocks)
    lines = ["config:", f"{_INDENT}inference-stacks:stack:", *writer.lines(dict(tree), Path(), 2)]
    if not tree:
        lines[1] += " {}"
    return "\n".join(lines) + "\n"


def _nearest(tree: object, path: Path) -> Path:
    """Return the longest beginning of a path that is there."""
    at = Path()
    for part in path:
        if isinstance(tree, dict) and part in tree:
            tree = cast("dict[Any, Any]", tree)[part]
        elif isinstance(tree, list) and isinstance(part, int) and part < len(cast("list[Any]", tree)):
            tree = cast("list[Any]", tree)[part]
        else:
            break
        at /= part
    return at


class _Writer:
    """Writer of mappings with comments. Lists and plain values are written as YAML in one piece."""

    def __init__(self, comments: Mapping[Path, Sequence[str]], blocks: Mapping[Path, Sequence[CommentedOut]]) -> None:
        self._comments = comments
        self._blocks = blocks

    def lines(self, tree: Mapping[str, Any], at: Path, depth: int) -> Iterator[str]:
        """Yield the lines of a mapping."""
        indent = _INDENT * depth
        if not at:
            yield from self._comment_lines(at, indent)
        for key, value in tree.items():
            path = at / key
            yield from self._comment_lines(path, indent)
            if isinstance(value, dict) and value:
                yield f"{indent}{_key(key)}:"
                yield from self.lines(cast("dict[str, Any]", value), path, depth + 1)
            else:
                yield from _plain_lines(cast("object", {key: value}), indent)
                yield from self._block_lines(path, indent + _INDENT)
                yield from self._inner_comments(path, indent)
        yield from self._block_lines(at, indent)

    def _comment_lines(self, path: Path, indent: str) -> Iterator[str]:
        for sentence in dict.fromkeys(self._comments.get(path, ())):
            yield from comment_lines(sentence, indent)

    def _inner_comments(self, path: Path, indent: str) -> Iterator[str]:
        """Yield the comments about items of a list, after the list."""
        for other, sentences in self._comments.items():
            if other.is_within(path) and other != path:
                for sentence in sentences:
                    yield from comment_lines(sentence, indent)
        for other, blocks in self._blocks.items():
            if other.is_within(path) and other != path:
                for block in blocks:
                    yield from _block(block, other, indent)

    def _block_lines(self, path: Path, indent: str) -> Iterator[str]:
        for block in self._blocks.get(path, ()):
            yield from _block(block, path, indent)


def _block(block: CommentedOut, at: Path, indent: str) -> Iterator[str]:
    """Yield the lines of a refused value below the value at a path, with the keys between both."""
    if block.reason:
        yield from comment_lines(block.reason, indent)
    last = block.path[-1]
    value: object = [block.value]
    if isinstance(last, str):
        value = {last: block.value}
    for part in reversed(block.path[len(at) : -1]):
        value = {part: value} if isinstance(part, str) else [value]
    yield from (f"{indent}# {line[len(indent) :]}" for line in _plain_lines(value, indent))


def _plain_lines(value: object, indent: str) -> Iterator[str]:
    for line in yaml_text.with_blocks(value).rstrip("\n").split("\n"):
        yield f"{indent}{line}".rstrip()


def _key(key: str) -> str:
    return yaml_text.with_blocks({key: 0}).rpartition(":")[0]


def comment_lines(sentence: str, indent: str) -> Iterator[str]:
    """Yield the lines of a comment."""
    line = f"{indent}#"
    for word in sentence.split():
        if len(line) + len(word) >= _WIDTH and not line.endswith("#"):
            yield line
            line = f"{indent}#"
        line = f"{line} {word}"
    yield line
