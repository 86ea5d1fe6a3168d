"""Texts of controllers and programs as findings quote them."""

from models import credentials

_LONGEST = 300
"""Length at which a text is cut, in characters: a message of two or three sentences is shorter."""


def quote(text: object) -> str:
    """Return the beginning of a text without credentials; empty if the value is no text."""
    if not isinstance(text, str):
        return ""
    line = credentials.hide(" ".join(text.split()))
    if len(line) > _LONGEST:
        return f"{line[:_LONGEST]}…"
    return line
