"""Text without characters that a terminal obeys, that reorder what stands around them, or that nobody sees."""

import re

_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
"""Characters that have no width although `str.isprintable` is true for some of them.

Source: Unicode 16.0, DerivedCoreProperties.txt, Default_Ignorable_Code_Point, without characters of category Cf."""


def printable(text: str) -> str:
    """Return a text with `?` in place of characters that a terminal obeys or that nobody sees.

    These are control characters, line breaks included, format characters, private ones, surrogates, and characters
    without width.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else "?" for char in text)
    return _INVISIBLE.sub("?", text)
