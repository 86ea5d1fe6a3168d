"""Texts of other programs, such as messages of controllers, in the words of a state."""

from models import credentials

_LENGTH = 300
"""Length beyond which a text is cut, so that a state stays a few lines on a terminal."""


def excerpt(text: object) -> str:
    """Return a text on one line, without credentials and cut to a readable length; empty if it is no text."""
    if not isinstance(text, str):
        return ""
    line = " ".join(credentials.hide(text).split())
    if len(line) <= _LENGTH:
        return line
    return f"{line[:_LENGTH].rstrip()}…"
