"""Documents of headings, tables and lists, written as Markdown or as text for a terminal.

Texts are shown as they are: nothing in them is Markdown or HTML, a link, a command of the terminal, or invisible.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
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

    def __str__(self) -> str:
        return self.text


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
    parts: list[str | Strong] = [*words.split(_STRONG)]
    parts[1::2] = [Strong(str(part)) for part in parts[1::2]]
    return tuple(part for part in parts if str(part))


def size(document: str) -> int:
    """Return the size of a document in bytes, which is never less than the number of its characters.

    Forges limit characters, and not all of them say what they count as one.
    """
    return len(document.encode())


def cut(document: str, longest: int) -> str:
    """Return a document of at most `longest` bytes: whole lines, and a last line that says how many are left out."""
    if size(document) <= longest:
        return document
    lines = document.rstrip("\n").split("\n")
    room = longest - _NOTICE
    count = 0
    for line in lines:
        room -= size(line) + 1
        if room < 0:
            break
        count += 1
    notice = f"The report is cut here: {len(lines) - count} more lines.\n"
    if not count:
        return notice
    return "\n".join((*lines[:count], "", notice))


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


def _parts(text: Text) -> Iterator[str | Strong]:
    """Yield the parts of a text, all of them in one line, without characters that a terminal obeys."""
    if isinstance(text, str):
        text = (text.strip(),)
    for part in text:
        line = _one_line(str(part))
        if isinstance(part, Strong):
            yield Strong(line)
        else:
            yield line


def _one_line(text: str) -> str:
    """Return a text in one line, and only its beginning if it is too long."""
    line = printable(_SPACES.sub(" ", text[:_LONGEST_TEXT]))
    if len(text) > _LONGEST_TEXT:
        line += f"… ({len(text) - _LONGEST_TEXT} more characters)"
    return line


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
    return "".join(map(str, _parts(text)))
