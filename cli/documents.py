"""Documents of headings, tables and lists, written as Markdown or as text for a terminal.

Texts are shown as they are: nothing in them is Markdown or HTML, a link, a command of the terminal, or invisible.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cli.literal import literal
from models.printable import printable

_STRONG = "**"
"""Markdown's sign before and after words in bold face."""
_SPACES = re.compile(r"\s+")
_LONGEST_TEXT = 4_000
"""Maximum number of characters of a text. Of a longer one, the beginning is shown, and how much is left out."""
_NOTICE = 100
"""Bytes that are reserved for the line at the end of a document that is cut."""


@dataclass(frozen=True, slots=True)
class Strong:
    """Words in bold face."""

    text: str


Text = str | Sequence[str | Strong]
"""A text, or its parts in their order."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a row of titles."""

    titles: Sequence[str]
    rows: Sequence[Sequence[Text]]


@dataclass(frozen=True, slots=True)
class Items:
    """A list. Each item is a sign, such as `~`, and a text."""

    items: Sequence[tuple[str, Text]]


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph."""

    text: Text


Block = Heading | Table | Items | Line


def with_emphasis(words: str) -> Sequence[str | Strong]:
    """Return the parts of words that this program has written, and in which `**` stands around words in bold face."""
    parts = words.split(_STRONG)
    return tuple(Strong(part) if index % 2 else part for index, part in enumerate(parts) if part)


def size(document: str) -> int:
    """Return the size of a document in bytes, which is never less than the number of its characters.

    Forges limit characters, and not all of them say what they count as one.
    """
    return len(document.encode())


def cut(document: str, longest: int) -> str:
    """Return a document of at most `longest` bytes: whole lines, and a last line that says how many are left out."""
    if size(document) <= longest:
        return document
    lines, room, count = document.rstrip("\n").split("\n"), longest - _NOTICE, 0
    for line in lines:
        room -= size(line) + 1
        if room < 0:
            break
        count += 1
    notice = f"The report is cut here: {len(lines) - count} more lines.\n"
    return "\n".join((*lines[:count], "", notice)) if count else notice


def markdown(blocks: Iterable[Block]) -> str:
    """Return a document as Markdown that both GitHub and GitLab can show."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"### {_inline(text)}"
        case Table(titles, rows):
            lines = [[_inline(cell, in_table=True) for cell in line] for line in (titles, *rows)]
            lines.insert(1, ["---"] * len(titles))
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Items(items):
            return "\n".join(f"- `{sign}` {_inline(text)}" for sign, text in items)
        case Line(text):
            return _inline(text, begins_line=True)


def _inline(text: Text, *, in_table: bool = False, begins_line: bool = False) -> str:
    """Return a text as Markdown, in one line."""
    written = list[str]()
    for part in _parts(text):
        if isinstance(part, Strong):
            written.append(f"{_STRONG}{literal(part.text, in_table=in_table)}{_STRONG}")
        else:
            written.append(literal(part, in_table=in_table, begins_line=begins_line and not written))
    return "".join(written)


def _parts(text: Text) -> Sequence[str | Strong]:
    """Return the parts of a text, all of them in one line, without characters that a terminal obeys."""
    if isinstance(text, str):
        return (_one_line(text.strip()),)
    return tuple(Strong(_one_line(part.text)) if isinstance(part, Strong) else _one_line(part) for part in text)


def _one_line(text: str) -> str:
    """Return a text in one line, and only its beginning if it is too long."""
    line = printable(_SPACES.sub(" ", text[:_LONGEST_TEXT]))
    return line if len(text) <= _LONGEST_TEXT else f"{line}… ({len(text) - _LONGEST_TEXT} more characters)"


def text(blocks: Iterable[Block]) -> str:
    """Return a document as text for a terminal."""
    return "\n\n".join(_text(block) for block in blocks) + "\n"


def _text(block: Block) -> str:
    match block:
        case Heading(text):
            return _plain(text)
        case Table(titles, rows):
            lines = [[_plain(cell) for cell in line] for line in (titles, *rows)]
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            padded = ("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines)
            return "\n".join(line.rstrip() for line in padded)
        case Items(items):
            return "\n".join(f"{sign} {_plain(text)}" for sign, text in items)
        case Line(text):
            return _plain(text)


def _plain(text: Text) -> str:
    """Return a text for a terminal, in one line."""
    return "".join(part.text if isinstance(part, Strong) else part for part in _parts(text))
