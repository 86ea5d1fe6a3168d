"""Documents of headings, tables and lists, written as Markdown or as text for a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "|<>`*_#"})
"""Escapes of the characters that Markdown, or HTML inside Markdown, would interpret."""
_STRONG = "**"
"""Markdown's sign before and after words in bold face."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a row of titles."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Items:
    """A list. Each item is a sign, such as `~`, and a text."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph."""

    text: str


Block = Heading | Table | Items | Line


def markdown(blocks: Iterable[Block]) -> str:
    """Return a document as Markdown that both GitHub and GitLab can show."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text):
            return f"### {_escape(text)}"
        case Table(titles, rows):
            lines = [titles, ["---"] * len(titles), *rows]
            return "\n".join("| " + " | ".join(map(_escape, line)) + " |" for line in lines)
        case Items(items):
            return "\n".join(f"- `{sign}` {_escape(text)}" for sign, text in items)
        case Line(text):
            return _escape(text)


def _escape(text: str) -> str:
    """Return a text in one line, escaped so that Markdown shows it unchanged. Words in bold face stay in bold face."""
    parts = " ".join(text.split()).split(_STRONG)
    return _STRONG.join(part.translate(_SPECIAL) for part in parts)


def text(blocks: Iterable[Block]) -> str:
    """Return a document as text for a terminal."""
    return "\n\n".join(_text(block) for block in blocks) + "\n"


def _text(block: Block) -> str:
    match block:
        case Heading(text):
            return text
        case Table(titles, rows):
            widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(len(titles))]
            lines = (
                "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in [titles, *rows]
            )
            return "\n".join(line.rstrip() for line in lines)
        case Items(items):
            return "\n".join(f"{sign} {_plain(text)}" for sign, text in items)
        case Line(text):
            return _plain(text)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace(_STRONG, "")
